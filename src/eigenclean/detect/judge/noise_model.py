"""The noise model of the judge: how right labels depend on features, and given labels on right ones.

With the scores g_v(x) of the views v, right label y and given label ỹ:

* P(y | x) = softmax(Σ_v β_v·g_v(x) + b): β ≥ 0 says how much each view counts and how confident it may be, and b
  accounts for the sizes of the classes.
* P(ỹ | y, x) = (1 − c)·T[y, ỹ] + c·softmax(κ Σ_v β_v·g_v(x) + b)[ỹ]: class-conditional noise with transition matrix
  T, which does not depend on x, and a share c of instance-dependent noise, whose errors are between classes that
  look alike. There ỹ is drawn from a flatter version of P(y | x), with κ < 1.

`eigenclean.detect.judge.em` fits the parameters by maximum likelihood of the given labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eigenclean.arrays import Float64s, Floats
from eigenclean.detect.judge.candidates import Candidates
from eigenclean.detect.judge.transition_matrix import TransitionMatrix


@dataclass(frozen=True, eq=False)
class NoiseModel:
    """The parameters of the model.

    Attributes:
        scales: β, one per view.
        offsets: b, one per class.
        transition: T.
        instance_noise_rate: c, the share of labels with instance-dependent noise.
        sharpness: κ, the scale of instance-dependent labels relative to β.
        log_likelihood: mean log-likelihood of the given labels, from the last step of EM.
    """

    scales: Float64s
    offsets: Float64s
    transition: TransitionMatrix
    instance_noise_rate: float = 0.0
    sharpness: float = 0.5
    log_likelihood: float = -np.inf

    @classmethod
    def symmetric(cls, spreads: Sequence[float], n_classes: int, rate: float) -> "NoiseModel":
        """Start values: symmetric noise of that rate, for views whose scores have these standard deviations."""
        scales = np.array([1.0 / spread if spread > 0 else 1.0 for spread in spreads]) / len(spreads)
        return cls(scales, np.zeros(n_classes), TransitionMatrix.symmetric(n_classes, rate))

    def prior(self, candidates: Candidates, sharpness: float = 1.0) -> Floats:
        """P(y | x), m x n; with ``sharpness`` below 1, the flatter distribution of instance-dependent labels."""
        logits = self._logits(candidates, sharpness)
        logits -= logits.max(axis=0)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=0)
        return logits

    def posterior(self, candidates: Candidates) -> Floats:
        """P(y | x, ỹ), m x n."""
        joint = self.prior(candidates)
        joint *= self.label_likelihood(candidates, self.instance_likelihood(candidates))
        if candidates.known is not None:
            joint *= candidates.is_possible
        joint /= np.maximum(joint.sum(axis=0), 1e-30)
        return joint

    def p_right(self, candidates: Candidates) -> Floats:
        """P(y = ỹ | x, ỹ), n."""
        return np.concatenate([self.posterior(chunk)[chunk.given_entries] for chunk in candidates.chunks()])

    def log_odds(self, candidates: Candidates) -> Float64s:
        """log P(y = ỹ | x, ỹ) / P(y ≠ ỹ | x, ỹ), n; it still ranks rows whose probability rounds to 0 or 1."""
        return np.concatenate([self._chunk_log_odds(chunk) for chunk in candidates.chunks()])

    def _chunk_log_odds(self, candidates: Candidates) -> Float64s:
        joint = self._logits(candidates)
        likelihood = self.label_likelihood(candidates, self.instance_likelihood(candidates))
        np.maximum(likelihood, 1e-30, out=likelihood)
        given = candidates.given_entries
        right = joint[given].astype(np.float64) + np.log(likelihood[given].astype(np.float64))
        joint[given] = -np.inf
        highest = joint.max(axis=0)
        joint -= highest
        np.exp(joint, out=joint)
        joint *= likelihood
        return np.asarray(right - highest - np.log(joint.sum(axis=0, dtype=np.float64)))

    def log_evidence(self, n: int) -> float:
        """Log marginal likelihood of the labels of ``n`` rows, up to terms that are alike for all models.

        The approximation of Cheeseman and Stutz (1996): structure that T had to learn counts against the model.
        """
        return n * self.log_likelihood + self.transition.occam_factor

    def label_likelihood(self, candidates: Candidates, instance: Floats | None) -> Floats:
        """P(ỹ | y, x) of the given ỹ for every candidate y, m x n; ``instance`` is the `instance_likelihood`."""
        dtype = candidates.values.dtype
        if candidates.has_all_classes:
            likelihood = self.transition.dense.astype(dtype).take(candidates.given, axis=1)
        elif candidates.has_dense_pairs:
            likelihood = self.transition.dense.astype(dtype).ravel()[candidates.pair_index]
        else:
            likelihood = self.transition.at(candidates.pair_keys).astype(dtype)[candidates.pair_index]
        if instance is not None:
            likelihood *= 1.0 - self.instance_noise_rate
            likelihood += self.instance_noise_rate * instance
        return np.asarray(likelihood)

    def instance_likelihood(self, candidates: Candidates) -> Floats | None:
        """P(ỹ | x) of the given ỹ under instance-dependent noise, n; None if there is no such noise."""
        if self.instance_noise_rate == 0:
            return None
        return np.asarray(self.prior(candidates, self.sharpness)[candidates.given_entries])

    def _logits(self, candidates: Candidates, sharpness: float = 1.0) -> Floats:
        values = candidates.values
        scales = (sharpness * self.scales).astype(values.dtype)
        logits = (scales @ values.reshape(len(values), -1)).reshape(values.shape[1:])
        logits += candidates.broadcast(self.offsets.astype(logits.dtype))
        if not candidates.has_all_classes:
            logits[candidates.weakest_entries] += np.log(candidates.n_classes - len(candidates.classes) + 1)
        return np.asarray(logits)
