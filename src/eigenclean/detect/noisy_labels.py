"""How likely each class is, given what a sample looks like *and* the label it was given.

The given label ỹ comes from the right one y through an unknown transition matrix T[y, ỹ], and the right one from
the discriminants g through P(y | x) = softmax(β·g + b). Maximising the likelihood of the given labels over β, b and
T by EM gives honest probabilities without a single label that is known to be right.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from eigenclean.arrays import Float64s, Ints

STARTS = (0.1, 0.4, 0.7, 0.9)  # noise rates to start from: above 70 % noise a single start gets stuck
_PRIOR = 10.0  # pseudo-counts per class, spread as symmetric noise of the current rate: T has K² entries


@dataclass(frozen=True)
class NoisyLabels:
    """The fitted model: scale β, offsets b (K), transition matrix T (K x K), and the log-likelihood per sample."""

    scale: float
    offsets: Float64s
    transition: Float64s
    log_likelihood: float

    @classmethod
    def symmetric(cls, discriminants: Float64s, rate: float) -> "NoisyLabels":
        """A start: labels wrong at that rate, towards any class."""
        k = discriminants.shape[1]
        spread = float(discriminants.std())
        transition = (1 - rate) * np.eye(k) + rate / k
        return cls(1.0 / spread if spread > 0 else 1.0, np.zeros(k), transition, -np.inf)

    def prior(self, discriminants: Float64s) -> Float64s:
        """P(y | x), n x K."""
        logits = self.scale * discriminants + self.offsets
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        return logits

    def log_odds(self, discriminants: Float64s, codes: Ints) -> Float64s:
        """log P(y = ỹ | x, ỹ) / P(y ≠ ỹ | x, ỹ), n; far out, where probabilities are 0 or 1, it still ranks."""
        joint = self.scale * discriminants + self.offsets
        joint += np.log(np.maximum(self.transition, 1e-300)).T[codes]
        everyone = np.arange(len(codes))
        own = joint[everyone, codes]
        joint[everyone, codes] = -np.inf
        return np.asarray(own - logsumexp(joint, axis=1))

    def posterior(self, discriminants: Float64s, codes: Ints) -> Float64s:
        """P(y | x, ỹ), n x K."""
        joint = self.prior(discriminants) * self.transition.T[codes]
        joint /= np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        return joint

    def improved(self, discriminants: Float64s, codes: Ints, rounds: int, tol: float = 1e-7) -> "NoisyLabels":
        """EM from here: T in closed form, β and b by one Newton step a round."""
        k = discriminants.shape[1]
        model, reached = self, -np.inf
        for number in range(rounds):
            prior = model.prior(discriminants)
            joint = prior * model.transition.T[codes]
            evidence = np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
            likelihood = float(np.log(evidence).mean())
            model = NoisyLabels(model.scale, model.offsets, model.transition, likelihood)
            if number > 4 and abs(likelihood - reached) < tol:
                break
            reached = likelihood
            joint /= evidence
            # The first rounds are for β and b alone, or T would adapt to a scale that is still wrong.
            transition = _transition(joint, codes, k) if number >= 2 else model.transition
            scale, offsets = newton_step(model, discriminants, prior, joint)
            model = NoisyLabels(scale, offsets, transition, likelihood)
        return model


def fit_noisy_labels(discriminants: Float64s, codes: Ints) -> NoisyLabels:
    """The best of several starts."""
    tried = [NoisyLabels.symmetric(discriminants, rate).improved(discriminants, codes, 40) for rate in STARTS]
    best = max(tried, key=lambda model: model.log_likelihood)
    return best.improved(discriminants, codes, 150)


def _transition(posterior: Float64s, codes: Ints, k: int) -> Float64s:
    counts = np.stack([np.bincount(codes, posterior[:, j], k) for j in range(k)])
    rate = (1.0 - np.trace(counts) / len(codes)) * k / max(k - 1, 1)
    rate = min(max(rate, 0.0), 1.0)
    counts += _PRIOR * ((1 - rate) * np.eye(k) + rate / k)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def newton_step(model: NoisyLabels, g: Float64s, prior: Float64s, posterior: Float64s) -> tuple[float, Float64s]:
    """β and b, one Newton step closer to where P(y | x) agrees with the ``posterior`` on average."""
    n, k = g.shape
    rest = posterior - prior
    gradient = np.concatenate([[np.vdot(rest, g)], rest.sum(axis=0)]) / n
    weighted = prior * g
    mean = weighted.sum(axis=1)
    hessian = np.empty((k + 1, k + 1))
    hessian[0, 0] = (np.vdot(weighted, g) - np.vdot(mean, mean)) / n
    hessian[0, 1:] = hessian[1:, 0] = (weighted - prior * mean[:, None]).mean(axis=0)
    hessian[1:, 1:] = np.diag(prior.mean(axis=0)) - prior.T @ prior / n
    hessian[np.diag_indices(k + 1)] += 1e-6  # offsets are free up to a constant
    step = np.linalg.solve(hessian, gradient)
    change = float(np.clip(step[0], -0.5 * model.scale, 0.5 * model.scale))
    return model.scale + change, model.offsets + np.clip(step[1:], -1.0, 1.0)
