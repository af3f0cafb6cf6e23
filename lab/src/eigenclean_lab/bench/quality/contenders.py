"""Which detectors take part in a setting, and with which options."""

from collections.abc import Sequence
from typing import Any

from eigenclean.detect import DEFAULT, DETECTORS, build_detector, plain_parameters
from eigenclean.errors import InvalidOption
from eigenclean.verdict import Verdict
from eigenclean_lab.bench.quality import baseline
from eigenclean_lab.bench.quality.case import Case, QualitySetting
from eigenclean_lab.bench.quality.peers import PEERS
from eigenclean_lab.store import MissingData

NAMES = (*DETECTORS, baseline.NAME, *PEERS)
# Those of a setting by default; a detector that is not among them takes part when it is named.
COMPARED = (DEFAULT, "fine", "fine-relative", "knn", "simifeat", baseline.NAME, *PEERS)
_ON_PROBABILITIES = {"views": "probabilities"}  # options of the judge


def contenders(setting: QualitySetting, names: Sequence[str] | None) -> list[str]:
    """The named detectors that can take part in the setting; by default the judge and its peers.

    Settings of earlier versions have all detectors by default.
    """
    default = (*DETECTORS, baseline.NAME) if setting.half == "earlier" else COMPARED
    return [name for name in dict.fromkeys(names or default) if _takes_part(name, setting)]


def _takes_part(name: str, setting: QualitySetting) -> bool:
    if name in PEERS:
        return PEERS[name].applies(setting)
    return setting.model is None or name == DEFAULT


def detector_options(name: str, setting: QualitySetting, seed: int) -> dict[str, Any]:
    """All options of a detector in a setting, as plain values; none for a peer."""
    if name not in DETECTORS:
        return {}
    try:
        options = _ON_PROBABILITIES if setting.model is not None else _options(name, setting.learned)
        detector = build_detector(name, options, seed=seed)
    except InvalidOption:  # this judge takes no probabilities; measuring it says so
        return {}
    return plain_parameters(detector)


def judge_with_detector(name: str, case: Case, seed: int) -> tuple[Verdict, float]:
    """The verdict of a detector on features, or of the judge on probabilities; no seconds to add."""
    if case.probabilities is None:
        detector = build_detector(name, _options(name, case.learned), seed=seed)
        return detector.fit_judge(case.features, case.labels), 0.0
    try:
        detector = build_detector(name, _ON_PROBABILITIES, seed=seed)
    except InvalidOption as error:
        raise MissingData(f"needs a judge that takes probabilities ({error})") from None
    return detector.fit_judge(case.probabilities, case.labels), 0.0


def _options(name: str, learned: bool) -> dict[str, Any]:
    """Options of a detector on features, as `detect --encoder trained` sets them where a network saw the labels."""
    return dict(DETECTORS[name].in_sample_options) if learned else {}
