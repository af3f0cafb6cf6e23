"""Peers of the judge: cleanlab's rules on out-of-fold probabilities, as its users apply them."""

import time
from dataclasses import dataclass

import numpy as np

from eigenclean.arrays import Bools, Float64s, Ints, encode_labels
from eigenclean.extras import require
from eigenclean.verdict import Verdict
from eigenclean_lab.bench.quality.case import Case, QualitySetting
from eigenclean_lab.bench.quality.probabilities import out_of_fold

_RULES = {"prune": "prune_by_noise_rate", "confident": "confident_learning", "argmax": None}
_TABLES_ONLY = ("trees", "boosting")  # nobody fits these to hundreds of pixels or features of an encoder


@dataclass(frozen=True)
class Peer:
    """A rule of cleanlab on the probabilities of a model; the score is always the self-confidence.

    Attributes:
        model: a name from `MODELS`; None for the probabilities that the case gives.
        rule: "prune" and "confident" are filters of cleanlab, "argmax" flags where another class is predicted.
    """

    model: str | None
    rule: str

    def applies(self, setting: QualitySetting) -> bool:
        """Whether the setting has what this peer needs."""
        if self.model is None or setting.model is not None:
            return self.model is None and setting.model is not None
        return setting.family == "tables" or self.model not in _TABLES_ONLY


PEERS = {
    f"{model or 'given'}-{rule}": Peer(model, rule)
    for model in ("logistic", *_TABLES_ONLY, None)
    for rule in _RULES
}


def judge_with_peer(name: str, case: Case, seed: int) -> tuple[Verdict, float]:
    """The verdict, and the seconds of the model behind it if another peer has fitted it before."""
    peer = PEERS[name]
    classes, codes = encode_labels(case.labels)
    seconds = 0.0
    if peer.model is None:
        assert case.probabilities is not None  # by `applies`
        probabilities = case.probabilities
    else:
        known = peer.model in case.fitted
        if not known:
            started = time.perf_counter()
            fitted = out_of_fold(peer.model, case.features, codes, seed=seed)
            case.fitted[peer.model] = fitted, time.perf_counter() - started
        probabilities, seconds = case.fitted[peer.model]
        seconds = seconds if known else 0.0
    flagged = _flags(peer.rule, codes, probabilities)
    rows = np.arange(len(codes))
    confidence = np.clip(probabilities[rows, codes], 0.0, 1.0)
    others = probabilities.copy()
    others[rows, codes] = -1.0
    verdict = Verdict(
        ids=rows,
        labels=classes[codes],
        score=confidence,
        p_clean=confidence,
        flagged=flagged,
        suggested=classes[np.where(flagged, others.argmax(axis=1), codes)],
        suggested_confidence=np.clip(probabilities.max(axis=1), 0.0, 1.0),
        made_by={"method": name, "parameters": {}},
    )
    return verdict, seconds


def _flags(rule: str, codes: Ints, probabilities: Float64s) -> Bools:
    if _RULES[rule] is None:
        return np.asarray(probabilities.argmax(axis=1) != codes)
    filtering = require("cleanlab.filter", extra="cleanlab", caller=f"bench quality, {rule}")
    flagged = filtering.find_label_issues(codes, probabilities, filter_by=_RULES[rule], n_jobs=1)
    return np.asarray(flagged, dtype=bool)
