"""A verdict as a plain dictionary: every number and sentence of the report, ready for JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.metrics.calibration import Reliability
from eigenclean.report.sections import SECTIONS, ReportInput
from eigenclean.report.sections.base import Features
from eigenclean.report.sections.headline import certainty_bands, headline
from eigenclean.tables import TableEncoding
from eigenclean.verdict import Verdict


def summarize(
    verdict: Verdict,
    *,
    features: Features | None = None,
    images: Sequence[Any] | Array | None = None,
    texts: Sequence[Any] | Array | None = None,
    run: Mapping[str, Any] | None = None,
    quality: Mapping[str, Any] | None = None,
    reliability: Reliability | None = None,
    encoding: TableEncoding | None = None,
) -> dict[str, Any]:
    r"""All that the report says about ``verdict``, as a dictionary of plain values.

    Args:
        verdict: the detector's verdict on every label.
        features: one row per label, or a function that fetches the features of some rows; without them there is no
            map.
        images: one image per label, for the gallery.
        texts: one text per label, for the gallery.
        run: facts of the run: ``source``, ``command``, ``seconds``, ``version``, ``data_hash``, ``created``.
        quality: measured quality where the truth is known, as `eigenclean.metrics` gives it.
        reliability: predicted against observed probabilities, where the truth is known.
        encoding: how the columns of a table became features, to say in which of their values suspects gather.

    >>> import numpy as np
    >>> verdict = Verdict(
    ...     ids=np.arange(3), labels=np.array([0, 0, 1]), score=np.array([0.9, 0.2, 0.8]),
    ...     p_clean=np.array([0.99, 0.03, 0.95]), flagged=np.array([False, True, False]),
    ...     suggested=np.array([0, 1, 1]), suggested_confidence=np.array([0.99, 0.9, 0.95]), made_by="me",
    ... )
    >>> summarize(verdict)["headline"]["sentence"].replace("\u202f", " ")
    '1 of 3 labels looks wrong\xa0— about 33 %'
    """
    for what, values in (("images", images), ("texts", texts)):
        if values is not None and len(values) != len(verdict):
            raise InvalidData(f"report: {what} must be one per label, got {len(values)} for {len(verdict)} labels")
    inputs = ReportInput(verdict, features, images, texts, run, quality, reliability, encoding)
    return {
        "headline": headline(inputs),
        "bands": certainty_bands(inputs),
        **{section.name: section.summarize(inputs) for section in SECTIONS},
    }
