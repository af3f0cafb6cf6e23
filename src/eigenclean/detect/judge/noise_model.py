"""How likely each class is, given what a sample looks like *and* the label it was given.

The right label y comes from the discriminants g through P(y | x) = softmax(β·g + b), and the given label ỹ in one
of two ways. Mostly from y, through a transition matrix T[y, ỹ], whatever the sample looks like. Or, for a share c
of the labels, at a glance: ỹ is what the sample looks like to somebody who sees less sharply, softmax(κβ·g + b).
Errors of the first kind are anywhere, those of the second kind where classes look alike, which is where people err.
Maximising the likelihood of the given labels over β, b, T and c gives honest probabilities without a single label
that is known to be right.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from eigenclean.arrays import Float64s, Floats
from eigenclean.detect.blocks import Blocks
from eigenclean.detect.judge.candidate_blocks import Tables
from eigenclean.detect.judge.candidates import Candidates, spread_of, value_moments
from eigenclean.detect.judge.transition_matrix import Pairs, Transition

STARTS = (0.1, 0.4, 0.7, 0.9)  # noise rates to start from: above 70 % noise a single start gets stuck
_START_ROWS = 5000  # enough to see which start is best
_PART_ROWS = 10_000  # where EM, which takes many small steps, does most of them


@dataclass(frozen=True, eq=False)
class NoisyLabels:
    """The fitted model.

    Attributes:
        scale: β.
        offsets: b, one a class.
        transition: T.
        glances: c, the share of labels given at a glance.
        sharpness: κ, how sharply a glance sees.
        log_likelihood: of the given labels, per sample.
    """

    scale: float
    offsets: Float64s
    transition: Transition
    glances: float = 0.0
    sharpness: float = 0.5
    log_likelihood: float = -np.inf

    @classmethod
    def symmetric(cls, candidates: Candidates | Tables, rate: float) -> "NoisyLabels":
        """A start: labels wrong at that rate, towards any class."""
        return cls._even(candidates.spread, candidates.n_classes, rate)

    @classmethod
    def _even(cls, spread: float, k: int, rate: float) -> "NoisyLabels":
        return cls(1.0 / spread if spread > 0 else 1.0, np.zeros(k), Transition.symmetric(k, rate))

    def prior(self, candidates: Candidates, sharpness: float = 1.0) -> Floats:
        """P(y | x), m x n; less sharp, it is what a glance sees."""
        logits = self._logits(candidates, sharpness)
        logits -= logits.max(axis=0)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=0)
        return logits

    def log_odds(self, candidates: Candidates) -> Float64s:
        """log P(y = ỹ | x, ỹ) / P(y ≠ ỹ | x, ỹ), n; far out, where probabilities are 0 or 1, it still ranks."""
        joint = self._logits(candidates).astype(np.float64)
        joint += np.log(np.maximum(self._flips(candidates), 1e-30))
        own = candidates.everyone
        right, joint[own] = joint[own], -np.inf
        return np.asarray(right - logsumexp(joint, axis=0))

    def posterior(self, candidates: Candidates) -> Floats:
        """P(y | x, ỹ), m x n."""
        joint = self.prior(candidates) * self._flips(candidates)
        joint /= np.maximum(joint.sum(axis=0), 1e-30)
        return joint

    def overall(self, candidates: Candidates | Tables) -> Transition:
        """How right labels became given ones in these samples, glances included."""
        return Transition.counted(candidates.total(_moves, args=(self,)), candidates.n_classes)

    def improved(
        self, candidates: Candidates | Tables, rounds: int, tol: float = 1e-6, settle: int = 0
    ) -> "NoisyLabels":
        """EM from here: T in closed form, b by scaling and β by one Newton step a round; c and κ stay.

        In the first ``settle`` rounds T stays as well, or it would adapt to a scale that is still wrong.
        """
        steps = self._steps(len(candidates), rounds, tol, settle)
        asked = next(steps)
        while True:
            try:
                asked = steps.send(candidates.total(_expected, args=asked))
            except StopIteration as done:
                model: NoisyLabels = done.value
                return model

    def _steps(self, n: int, rounds: int, tol: float, settle: int) -> "Steps":
        """The same for someone who sums elsewhere: yields a model, is sent its sums, returns the last one."""
        model, reached = self, -np.inf
        for number in range(rounds):
            settled = number >= settle
            expected, moves = yield model, settled
            likelihood = expected.log_likelihood / n
            model = replace(model, log_likelihood=likelihood)
            if number > settle + 1 and abs(likelihood - reached) < tol:
                break
            reached = likelihood
            scale, offsets = model._closer(expected, n)
            transition = Transition.counted(moves, len(self.offsets)) if settled else model.transition
            model = replace(model, scale=scale, offsets=offsets, transition=transition)
        return model

    def converged(self, candidates: Candidates | Tables) -> "NoisyLabels":
        """EM to the end: most of the way on a part of the rows, the rest on all."""
        part = candidates.thinned(_PART_ROWS)
        return self.improved(part, 200, tol=1e-7).improved(candidates, 10)

    def _logits(self, candidates: Candidates, sharpness: float = 1.0) -> Floats:
        logits = (sharpness * self.scale) * candidates.values
        logits += candidates.laid_out(self.offsets.astype(logits.dtype))
        return np.asarray(logits)

    def _flips(self, candidates: Candidates) -> Floats:
        """P(ỹ | y, x) for the given ỹ and every candidate y, m x n."""
        dtype = candidates.values.dtype
        if candidates.whole:
            flips = self.transition.square.astype(dtype)[:, candidates.given]
        elif candidates.square:
            flips = self.transition.square.astype(dtype).ravel()[candidates.pair]
        else:
            flips = self.transition.at(candidates.keys).astype(dtype)[candidates.pair]
        if self.glances > 0:
            flips *= 1.0 - self.glances
            flips += self.glances * self._seen(candidates)
        return np.asarray(flips)

    def _seen(self, candidates: Candidates) -> Floats:
        """P(ỹ | a glance at x), n."""
        return np.asarray(self.prior(candidates, self.sharpness)[candidates.everyone])

    def _closer(self, sums: "_Sums", n: int) -> tuple[float, Float64s]:
        """β and b, a step closer to where P(y | x) agrees with the posterior on average."""
        gradient = (sums.fitted - sums.mean) / n
        curvature = (sums.square - sums.mean_square) / n
        change = gradient / max(curvature, 1e-12)
        change = float(np.clip(change, -0.5 * self.scale, 0.5 * self.scale))
        step = np.clip(np.log((sums.got + 0.1) / (sums.expected + 0.1)), -1.0, 1.0)
        return self.scale + change, self.offsets + step


Steps = Generator[tuple[NoisyLabels, bool], tuple["_Sums", Pairs], NoisyLabels]


class _Sums(NamedTuple):
    """What a round of EM needs to know about P(y | x) and the posterior, summed over rows."""

    log_likelihood: float
    fitted: float  # Σ posterior · g
    mean: float  # Σ P(y | x) · g
    square: float  # Σ P(y | x) · g²
    mean_square: float
    got: Float64s  # Σ posterior, for each class
    expected: Float64s  # Σ P(y | x), likewise


def _expected(candidates: Candidates, model: NoisyLabels, settled: bool) -> tuple[_Sums, Pairs]:
    """The E-step on some rows; the pairs that tell of T as well when the scale is ``settled``."""
    prior, flips, values = model.prior(candidates), model._flips(candidates), candidates.values
    joint = prior * flips
    evidence = np.maximum(joint.sum(axis=0), 1e-30)
    joint /= evidence
    weighted = prior * values
    mean = weighted.sum(axis=0)
    sums = _Sums(
        float(np.log(evidence).sum(dtype=np.float64)),
        _inner(joint, values),
        float(mean.sum(dtype=np.float64)),
        _inner(weighted, values),
        _inner(mean, mean),
        candidates.per_class(joint),
        candidates.per_class(prior),
    )
    if not settled:
        return sums, Pairs.none()
    if model.glances > 0:  # only what did not come from a glance tells of T
        joint *= 1.0 - model.glances * model._seen(candidates) / flips
    return sums, candidates.per_pair(joint)


def likelihoods(
    blocks: Blocks[Sequence[Candidates]], start: NoisyLabels | None, n_classes: int, rounds: int, settle: int
) -> list[float]:
    """How likely each of several tables makes the given labels, from the same start; one pass a round for all."""
    n, *moments = blocks.total(_trial_moments)
    spreads = [table.spread for table in blocks.first()] if len(blocks) == 1 else [spread_of(*m) for m in moments]
    starts = [start or NoisyLabels._even(spread, n_classes, 0.001) for spread in spreads]
    runs = {number: one._steps(n, rounds, 1e-6, settle) for number, one in enumerate(starts)}
    asked: dict[int, tuple[NoisyLabels, bool]] = {number: next(run) for number, run in runs.items()}
    reached = [0.0] * len(starts)
    while asked:
        sums = blocks.total(_expected_of_each, args=(asked,))
        for number, own in zip(list(asked), sums, strict=True):
            try:
                asked[number] = runs[number].send(own)
            except StopIteration as done:
                reached[number] = done.value.log_likelihood
                del asked[number]
    return reached


def _trial_moments(tables: Sequence[Candidates]) -> tuple[Any, ...]:
    return len(tables[0]), *(value_moments(table) for table in tables)


def _expected_of_each(
    tables: Sequence[Candidates], asked: Mapping[int, tuple[NoisyLabels, bool]]
) -> tuple[tuple["_Sums", Pairs], ...]:
    return tuple(_expected(tables[number], *own) for number, own in asked.items())


def _moves(candidates: Candidates, model: NoisyLabels) -> Pairs:
    return candidates.per_pair(model.posterior(candidates))


def fit_noisy_labels(candidates: Candidates | Tables) -> NoisyLabels:
    """The best of several starts, judged on a part of the rows."""
    part = candidates.thinned(_START_ROWS)
    tried = [NoisyLabels.symmetric(part, rate).improved(part, 40, settle=2) for rate in STARTS]
    best = max(tried, key=lambda model: model.log_likelihood)
    return best.converged(candidates)


def _inner(a: Floats, b: Floats) -> float:
    """Σ ab, in float64 where it adds up."""
    return float(np.multiply(a, b).sum(dtype=np.float64))
