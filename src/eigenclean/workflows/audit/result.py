"""`Audit`: the result of `eigenclean.audit`, which is a run folder with its verdict and data at hand."""

import os
import shutil
import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.errors import EigencleanError, InvalidData, InvalidOption
from eigenclean.files import json_text, parse_json, write_text
from eigenclean.patch import Patch
from eigenclean.paths import inside
from eigenclean.publication import finish_publication, is_published, publication, read_together
from eigenclean.report.run_folder import ENCODING, REPORT, results_folder
from eigenclean.review.store import FILE as DECISIONS
from eigenclean.sources import Source, open_source, reopen
from eigenclean.verdict import CSV, FILE, SUMMARY, Verdict, write_verdict
from eigenclean.workflows.audit.display import audit_html
from eigenclean.workflows.audit.plot import plot_audit
from eigenclean.workflows.audit.proposal import propose_patch
from eigenclean.workflows.audit.review_server import ReviewServer, open_review, start_review, write_review
from eigenclean.workflows.audit.suspect_table import SuspectTable, suspect_table

REPORT_DATA = "report.json"


class Audit:
    """A verdict, the data that it is about, and what can be done with both.

    In a notebook it shows itself: the headline, the classes and the worst suspects.

    Attributes:
        folder: where the files of the run are, as `eigenclean detect` writes them.
        verdict: score, P(right), flag and suggestion for every label.
        summary: counts, rates and facts of the run, as in ``summary.json``.
        notes: what was said during the run: the encoder, the columns that became features.

    >>> from eigenclean import audit
    >>> result = audit("wine", method="fine")
    >>> result.verdict.noise_rate < 0.5
    True
    """

    def __init__(
        self,
        folder: Path,
        verdict: Verdict,
        summary: Mapping[str, Any],
        *,
        source: Source | None = None,
        notes: Sequence[str] = (),
        is_temporary: bool = False,
    ) -> None:
        self.folder = folder
        self.verdict = verdict
        self.summary = dict(summary)
        self.notes = tuple(notes)
        self._source = source
        # Removes a temporary folder when nobody needs the audit any more.
        self._cleanup = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True) if is_temporary else None

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, data: Any = None, **options: Any) -> "Audit":
        """Open the folder of a run: what `save` wrote, or `eigenclean detect`.

        Args:
            path: the folder.
            data: the data, if they are not in a file, or no longer where they were.
            options: how they are opened; see `eigenclean.open_source`.
        """
        folder = Path(path)
        finish_publication(folder)
        verdict, summary = read_together(folder, [FILE, SUMMARY], lambda: (Verdict.load(folder), _summary(folder)))
        source = None if data is None else data if isinstance(data, Source) else open_source(data, **options)
        if source is not None and not _is_about(source, verdict):
            raise InvalidData(f"the data have other labels or ids than those that {folder} is about")
        return cls(folder, verdict, summary, source=source)

    @cached_property
    def source(self) -> Source | None:
        """The data; None where they cannot be opened again, or have changed since."""
        if self._source is not None:
            return self._source
        record = self.summary.get("source")
        try:
            source = reopen(record) if isinstance(record, dict) else None
        except EigencleanError:
            return None
        return source if source is not None and _is_about(source, self.verdict) else None

    @property
    def is_saved(self) -> bool:
        """Whether the folder stays when the program ends."""
        return self._cleanup is None

    def __repr__(self) -> str:
        return f"Audit of {self._name} {str(self.verdict).removeprefix('Verdict ')}"

    def _repr_html_(self) -> str:
        """Headline, classes and the worst suspects, for notebooks."""
        return audit_html(self.verdict, self.summary, self._report_data, self.source, self.notes)

    def to_pandas(self) -> Any:
        """The verdict as a pandas data frame, one row per label in the order of the data."""
        return self.verdict.to_pandas()

    def to_polars(self) -> Any:
        """The verdict as a polars data frame, one row per label in the order of the data."""
        return self.verdict.to_polars()

    def suspects(self, most: int | None = None) -> SuspectTable:
        """The flagged labels, worst first, with texts or values of their rows.

        Where fewer than ``most`` are flagged, the labels with the lowest P(right) follow; without ``most``, all
        flagged labels.
        """
        if most is not None and (not isinstance(most, int | np.integer) or most < 1):
            raise InvalidOption(f"suspects: most must be a whole number from 1, got {most!r}")
        return suspect_table(self.verdict, self.source, most)

    def plot(self, kind: str = "classes", *, ax: Any = None) -> Any:
        """Draw with matplotlib, which must be installed; return the axes.

        Args:
            kind: "classes": the estimated noise rate of each class; "probabilities": the histogram of P(right).
            ax: axes to draw on; by default new ones.
        """
        return plot_audit(self.verdict, kind, ax)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report as one HTML file and return its path."""
        target = Path(path)
        if target.suffix.lower() not in (".html", ".htm"):
            raise InvalidOption(f"report: the report is an .html file, got {target}")
        page = inside(self.folder, REPORT, by="report")
        if not page.is_file():
            raise InvalidData(f"{self.folder} has no {REPORT}; run `eigenclean detect` again without --no-report")
        write_text(target, page.read_text(encoding="utf-8"))
        return target

    def review(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        folder: str | os.PathLike[str] | None = None,
        port: int | None = None,
        reviewer: str | None = None,
        most: int = 1000,
        order: str = "mixed",
    ) -> "ReviewServer | Path":
        """Go through the suspects on a page: served in the background, or written as one file.

        Decisions are saved in the folder of the run at once. An audit that was not saved is saved first.

        Args:
            path: write the page to this .html file instead, which needs no server; return the path.
            folder: where to save an audit that was not saved; by default ``eigenclean-HASH`` in the current folder.
            port: where to listen; by default 8765 or the next free port.
            reviewer: who decides; by default your user name.
            most: how many suspects go into a file.
            order: which labels come first, as for `eigenclean review`: "worst", "informative", "random" or "mixed".
        """
        if path is not None:
            return write_review(self.folder, self._source, Path(path), reviewer=reviewer, most=most, order=order)
        if not self.is_saved:
            self.save(folder or f"eigenclean-{str(self.summary['data_hash'])[:8]}")
        return start_review(self.folder, self._source, port=port, reviewer=reviewer, order=order)

    def patch(self, *, accept: float | None = None, reviewer: str | None = None) -> Patch:
        """The decisions so far as a patch.

        Args:
            accept: also accept every suggestion of at least this confidence about which nobody has decided: another
                label, or removal of a sample that belongs to none of the classes.
            reviewer: who accepts them; by default your user name.
        """
        decided = None
        if (self.folder / DECISIONS).is_file():
            with open_review(self.folder, self._source) as review:
                decided = review.patch() if accept is None or review.store.current_columns()["id"] else None
        if accept is None:
            if decided is None:
                raise InvalidData(
                    "patch: nobody has decided about a label yet; decide with review(), or give accept=0.9 to "
                    "accept suggestions of that confidence"
                )
            return decided
        return propose_patch(
            self.verdict, str(self.summary["data_hash"]), accept, decided=decided, reviewer=reviewer
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the run into a folder, as `eigenclean detect` does, and go on there; return the folder.

        Decisions of an earlier review in that folder stay, and those made so far come along.
        """
        with results_folder(path) as folder:
            if folder.resolve() == self.folder.resolve():
                return folder
            with publication(folder, removes=[CSV, REPORT, REPORT_DATA, ENCODING]) as staging:
                write_verdict(self.verdict, staging, json_text(self.summary))
                for name in sorted(os.listdir(self.folder)):
                    if name not in (FILE, SUMMARY) and is_published(self.folder / name):
                        shutil.copyfile(inside(self.folder, name, by="save"), staging / name)
            decisions = inside(self.folder, DECISIONS, by="save")
            if decisions.is_file() and not (folder / DECISIONS).exists():
                shutil.copyfile(decisions, folder / DECISIONS)
        cleanup, self.folder, self._cleanup = self._cleanup, folder, None
        if cleanup is not None:
            cleanup()
        return folder

    @property
    def _name(self) -> str:
        record = self.summary.get("source")
        return str(record.get("name")) if isinstance(record, dict) else str(self.folder)

    @cached_property
    def _report_data(self) -> Mapping[str, Any] | None:
        try:
            path = inside(self.folder, REPORT_DATA, by="report")
            record = parse_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, InvalidData):
            return None
        return record if isinstance(record, dict) else None


def _summary(folder: Path) -> dict[str, Any]:
    try:
        summary = parse_json((folder / SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        summary = None
    if not isinstance(summary, dict) or not isinstance(summary.get("data_hash"), str):
        raise InvalidData(f"{folder / SUMMARY} is missing or damaged; run `eigenclean detect` again")
    return summary


def _is_about(source: Source, verdict: Verdict) -> bool:
    return np.array_equal(source.labels, verdict.labels) and np.array_equal(source.ids, verdict.ids)
