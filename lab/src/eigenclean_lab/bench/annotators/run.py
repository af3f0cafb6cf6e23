"""Measure the consensus of annotators on every crowd, with features and without."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from eigenclean import Evidence
from eigenclean.arrays import Array, Float64s, Ints
from eigenclean.detect import judge_annotations
from eigenclean.errors import MissingExtra
from eigenclean.evidence import Annotations
from eigenclean.extras import require
from eigenclean.metrics import expected_calibration_error
from eigenclean_lab.bench.annotators.crowds import CROWDS, LabelledCrowd
from eigenclean_lab.formatting import decimals, markdown_table, write_between_marks
from eigenclean_lab.store import MissingData, today

FILE = "bench_annotators.json"
TARGETS = {"people, 3 labels per row": 0.957}  # share of right labels, with features
_BINS = 15
NAME = "bench annotators"
_HEADS = ("Labels", "Majority", "Labels alone", "CROWDLAB", "Consensus", "ECE", "Quality off by", "Target")
_SHARES = ("majority", "labels_alone", "crowdlab", "consensus", "calibration_error", "quality_error")


@dataclass(frozen=True)
class CrowdResult:
    """What was measured on one crowd; shares of right labels unless said otherwise.

    Attributes:
        crowd: its name.
        majority: the label of most annotators.
        labels_alone: the consensus without features.
        crowdlab: CROWDLAB on the same P(y | x); None where cleanlab is not installed.
        consensus: the consensus with features.
        calibration_error: expected calibration error of its confidence.
        quality_error: mean absolute error of the quality of annotators.
        quality_coverage: share of the intervals that hold the actual quality.
        auroc: of the errors of other labels of the same rows, ranked by their posterior.
        target: what the consensus must reach.
        note: why nothing was measured.
    """

    crowd: str
    majority: float | None = None
    labels_alone: float | None = None
    crowdlab: float | None = None
    consensus: float | None = None
    calibration_error: float | None = None
    quality_error: float | None = None
    quality_coverage: float | None = None
    auroc: float | None = None
    target: float | None = None
    note: str | None = None

    @property
    def passed(self) -> bool | None:
        """Whether the consensus reaches the target and is better than CROWDLAB; None if nothing was measured."""
        if self.consensus is None:
            return None
        beats = self.crowdlab is None or self.consensus > self.crowdlab
        return beats and (self.target is None or self.consensus >= self.target)


def run(folder: Path | None, *, seed: int = 0, quick: bool = False) -> list[CrowdResult]:
    """Every crowd for which there are data; with ``quick`` the digits only."""
    return [measure(name, folder, seed) for name in CROWDS if not quick or name.endswith("digits")]


def measure(name: str, folder: Path | None, seed: int) -> CrowdResult:
    """One crowd; missing data are a note."""
    try:
        crowd = CROWDS[name](folder, seed)
    except MissingData as error:
        return CrowdResult(name, note=str(error))
    given, truth = crowd.annotations, crowd.truth
    evidence = Evidence(np.arange(len(truth)), given.majority, features=crowd.features, annotations=given)
    with_features = judge_annotations(evidence)
    without_features = judge_annotations(Evidence(evidence.ids, evidence.labels, annotations=given))
    assert with_features.class_probabilities is not None
    posterior = with_features.model.posterior
    quality = with_features.quality
    right = truth[given.rows] == given.codes
    actual = np.bincount(given.annotators, right) / given.per_annotator
    held = (quality.low <= actual) & (actual <= quality.high)
    return CrowdResult(
        name,
        majority=_share(given.majority_codes, truth),
        labels_alone=_share(without_features.model.posterior.argmax(axis=1), truth),
        crowdlab=_crowdlab(given, with_features.class_probabilities, truth),
        consensus=_share(posterior.argmax(axis=1), truth),
        calibration_error=round(consensus_calibration_error(posterior, truth), 4),
        quality_error=round(float(np.abs(quality.quality - actual).mean()), 4),
        quality_coverage=round(float(held.mean()), 3),
        auroc=_auroc(crowd, with_features.model.log_odds),
        target=TARGETS.get(name),
    )


def facts(measured: list[CrowdResult]) -> dict[str, Any]:
    """What `results/bench_annotators.json` holds."""
    return {"date": today(), "crowds": [{**asdict(each), "passed": each.passed} for each in measured]}


def tables(results: dict[str, Any]) -> str:
    """A row for each crowd that was measured, and how well other labels of people are ranked."""
    rows = []
    for each in results["crowds"]:
        if each["consensus"] is not None:
            above = "above CROWDLAB" if each["target"] is None else f"{each['target']:g}, above CROWDLAB"
            target = f"{above}: {'met' if each['passed'] else '**missed**'}"
            rows.append([each["crowd"], *(decimals(each[key]) for key in _SHARES), target])
    lines = markdown_table(_HEADS, rows)
    ranked = [each["auroc"] for each in results["crowds"] if each["auroc"] is not None]
    if ranked:
        sentence = "AUROC of the errors of the labels `aggre` of the same images, by the posterior"
        lines += ["", f"{sentence}: {decimals(ranked[0])}."]
    return "\n".join(lines)


def write_tables(page: Path, results: dict[str, Any]) -> None:
    """Put the table between the marks of a page."""
    write_between_marks(page, NAME, tables(results))


def consensus_calibration_error(posterior: Float64s, truth: Ints) -> float:
    """Expected calibration error of the confidence in the most probable class.

    >>> consensus_calibration_error(np.array([[0.75, 0.25]] * 4), np.array([0, 0, 0, 1]))
    0.0
    """
    confidence = np.minimum(posterior.max(axis=1), 1.0)  # rounding may have made it larger
    return expected_calibration_error(confidence, posterior.argmax(axis=1) == truth, _BINS)


def _share(codes: Array, truth: Ints) -> float:
    return round(float(np.mean(codes == truth)), 4)


def _auroc(crowd: LabelledCrowd, log_odds: Any) -> float | None:
    if crowd.aggregated is None:
        return None
    return round(float(roc_auc_score(crowd.aggregated == crowd.truth, log_odds(crowd.aggregated))), 4)


def _crowdlab(given: Annotations, probabilities: Float64s, truth: Ints) -> float | None:
    """Share of right labels of CROWDLAB (Goh, Tkachenko and Mueller, 2022), as cleanlab has it."""
    try:
        multiannotator: Any = require("cleanlab.multiannotator", extra="cleanlab", caller="bench annotators")
    except MissingExtra:
        return None
    table = np.full((given.n_rows, len(given.names)), np.nan)
    table[given.rows, given.annotators] = given.codes
    floored = np.maximum(probabilities, 1e-6)
    floored /= floored.sum(axis=1, keepdims=True)
    result = multiannotator.get_label_quality_multiannotator(table, floored, verbose=False)
    return _share(result["label_quality"]["consensus_label"].to_numpy(), truth)
