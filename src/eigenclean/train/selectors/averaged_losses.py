"""DivideMix's division for very noisy labels: a mixture on losses averaged over selections (Li et al., 2020)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_softmax

from eigenclean.arrays import Array, Float64s, encode_labels
from eigenclean.detect.baselines.small_loss import divide_mixture
from eigenclean.errors import InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.train.selection import Selection
from eigenclean.train.selectors.base import Memory, Selector, check_threshold
from eigenclean.verdict import Verdict


@dataclass(frozen=True)
class AveragedLosses(Selector):
    """The small-loss mixture on the mean loss of the last few selections, each scaled to [0, 1].

    The mean is not scaled again: its largest value is below 1 unless the same sample has the largest loss each
    time, and the constants of the mixture are meant for that scale.

    With a window of 1 it is ``FromDetector("small-loss", {"head": None}, "all", soft=True)``.

    Attributes:
        window: number of selections that are averaged.
        threshold: samples are kept when the posterior of the component with the smaller mean is above it.
    """

    window: int = 5
    threshold: float = 0.5

    kind: ClassVar[str] = "averaged-losses"
    memory_key: ClassVar[str] = "losses"

    def __post_init__(self) -> None:
        if self.window < 1:
            raise InvalidOption(f"selector: window must be at least 1, got {self.window}")
        check_threshold(self.threshold)

    @property
    def needs(self) -> tuple[str, ...]:
        """The logits, from which losses and suggested labels are computed."""
        return ("logits",)

    def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
        """The samples in the mixture component of small losses, weighted by its posterior."""
        classes, codes = encode_labels(evidence.labels)
        log_p = log_softmax(evidence.need("logits", by=f"selector {self.kind}"), axis=1)
        latest = scaled_to_unit(-log_p[np.arange(len(codes)), codes])[None]
        key = self.memory_key
        memory[key] = np.concatenate([memory.get(key, latest[:0]), latest])[-self.window :]
        score = -memory[key].mean(axis=0)
        p = loss_mixture(score)
        verdict = self._verdict(evidence, classes, log_p, score, p)
        return Selection(~verdict.flagged, p, verdict=verdict)

    def _verdict(
        self, evidence: Evidence, classes: Array, log_p: Float64s, score: Float64s, p: Float64s
    ) -> Verdict:
        flagged = p <= self.threshold
        most_likely = np.asarray(log_p.argmax(axis=1))
        return Verdict(
            ids=evidence.ids,
            labels=evidence.labels,
            score=score,
            p_clean=p,
            flagged=flagged,
            suggested=np.where(flagged, classes[most_likely], evidence.labels),
            suggested_confidence=np.where(flagged, (1 - p) * np.exp(log_p.max(axis=1)), p),
            made_by={"method": self.kind, "parameters": {"window": self.window}, "threshold": self.threshold},
        )


def scaled_to_unit(losses: Float64s) -> Float64s:
    """Losses scaled linearly so that the smallest is 0 and the largest 1.

    >>> scaled_to_unit(np.array([3.0, 1.0, 2.0]))
    array([1. , 0. , 0.5])
    """
    spread = losses.max() - losses.min()
    return np.asarray((losses - losses.min()) / (spread if spread > 0 else 1.0))


def loss_mixture(score: Float64s) -> Float64s:
    """Posterior of the component with the higher scores (smaller losses); one mixture for all classes.

    The scores are minus losses that are scaled already.
    """
    one_class = np.zeros(len(score), dtype=np.intp)
    return divide_mixture().fit(score, one_class, 1).p_clean(score, one_class)
