"""What a section of the report is, and what it is computed from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Array, Float64s, Ints
from eigenclean.metrics.calibration import Reliability
from eigenclean.report.class_index import ClassIndex
from eigenclean.report.encoded_rows import EncodedRows
from eigenclean.tables import TableEncoding
from eigenclean.verdict import Verdict, decided_rows

MAX_SUSPECTS = 60  # that are listed
MAX_DOUBTFUL = 20  # that are listed where no label is flagged

Features = ArrayLike | Callable[[Ints], Array]  # all rows, or a function that fetches the features of some rows


@dataclass(frozen=True, eq=False)
class ReportInput:
    """Everything that the sections may use; the arguments of `eigenclean.report.summarize`."""

    verdict: Verdict
    features: Features | None = None
    images: Sequence[Any] | Array | None = None
    texts: Sequence[Any] | Array | None = None
    run: Mapping[str, Any] | None = None
    quality: Mapping[str, Any] | None = None
    reliability: Reliability | None = None
    encoding: TableEncoding | None = None

    @cached_property
    def classes(self) -> ClassIndex:
        """The classes of the verdict by number."""
        return ClassIndex.of(self.verdict)

    @cached_property
    def p_wrong(self) -> Float64s:
        """P(wrong) of every row; an unknown probability counts as one half."""
        return 1.0 - np.nan_to_num(np.asarray(self.verdict.p_clean, dtype=np.float64), nan=0.5)

    @cached_property
    def listed(self) -> Ints:
        """The rows of the worst suspects; where none is flagged, of the most doubtful labels."""
        if len(self.classes.flagged):
            return self.verdict.suspects(MAX_SUSPECTS)
        return self.verdict.most_doubtful(
            MAX_DOUBTFUL, decided=decided_rows(self.verdict, (self.run or {}).get("decisions"))
        )

    @cached_property
    def table(self) -> EncodedRows | None:
        """Rows of a table with columns of several kinds; None for other data."""
        if self.encoding is None or self.encoding.is_as_is or self.features is None or len(self.verdict) == 0:
            return None
        n, flagged = len(self.verdict), self.classes.flagged
        return EncodedRows.fetch(self.features, self.encoding, n, flagged, self.listed)

    @property
    def made_by(self) -> Mapping[str, Any]:
        """What the detector says about itself: parameters, mixture, transition matrix, notes."""
        return self.verdict.made_by if isinstance(self.verdict.made_by, Mapping) else {}


@dataclass(frozen=True)
class Section:
    """One section of the page.

    Attributes:
        name: key in the summary, id on the page, and name of the template ``templates/sections/NAME.html``.
        summarize: computes the section's plain values, ready for JSON.
        is_shown: whether these values leave anything to show.
        link: text in the navigation; without it there is no link.
    """

    name: str
    summarize: Callable[[ReportInput], Any]
    is_shown: Callable[[Any], bool]
    link: str | None = None


def finite(value: Any) -> float | None:
    """The number, or None where there is none that JSON could hold."""
    return float(value) if value is not None and np.isfinite(value) else None
