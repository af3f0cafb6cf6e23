"""One-dimensional two-component mixtures, fitted for all classes in one vectorised EM.

Both families used here have log-densities that are linear in two fixed functions of the score, so the log-odds of
the two components are too, and one EM loop serves both:

    Gaussian   log p = a·x²     + b·x          + c
    Beta       log p = a·log x  + b·log(1 − x) + c

and both M-steps need no more than Σr, Σr·x and Σr·x². Component 0 is the lower one, component 1 the upper one.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import betaln, expit

from eigenclean.arrays import Array, Bools, ClassRows, Float64s, Ints

Family = Literal["gaussian", "beta"]

_BLOCK = 1 << 16  # numbers per block of classes: the working set of one EM stays in the cache of one core
_NARROWEST = 1e-12  # variance relative to that of the class, below which log-odds would be rounding errors
_BETA_MARGIN = 1e-4  # the beta density is infinite at 0 and 1; scores are kept this far away


@dataclass(frozen=True)
class Mixtures:
    """Two-component mixtures of K classes; arrays are K or K x 2, component 0 the lower one.

    Attributes:
        family: "gaussian" or "beta".
        weights: share of each component.
        means: means of the components, on the scale of the scores.
        variances: variances of the components, likewise.
        natural: K x 2 x 3, coefficients (a, b, c) of the log-density; for beta on the unit scale.
        scale: K x 2, lowest score and range of each class (beta rescales by it; Gaussian has 0 and 1).
        log_likelihood: mean log-likelihood per sample of each class.
        n_iter: EM iterations of each class.
        valid: False where a class is too small or constant; its other values are meaningless.
    """

    family: Family
    weights: Float64s
    means: Float64s
    variances: Float64s
    natural: Float64s
    scale: Float64s
    log_likelihood: Float64s
    n_iter: Ints
    valid: Bools

    def log_odds(self, scores: Array, groups: Ints, *, monotone: bool = False) -> Float64s:
        """Log-odds of the upper component for each score in its own class.

        With unequal variances the broader component is more probable again in the far tail, where the best scores
        would be flagged. ``monotone`` holds the log-odds constant beyond their turning point.
        """
        slope = self.natural[:, 1] - self.natural[:, 0]  # K x 3
        x = (np.asarray(scores, dtype=np.float64) - self.scale[groups, 0]) / self.scale[groups, 1]
        if self.family == "beta":
            x = np.clip(x, _BETA_MARGIN, 1 - _BETA_MARGIN)
        if monotone:
            low, high = _increasing_range(self.family, slope)
            x = np.clip(x, low[groups], high[groups])
        first, second = _functions(self.family, x)
        odds: Float64s = slope[groups, 0] * first + slope[groups, 1] * second + slope[groups, 2]
        return odds

    def posterior(self, scores: Array, groups: Ints, *, monotone: bool = False) -> Float64s:
        """Probability of the upper component."""
        return np.asarray(expit(self.log_odds(scores, groups, monotone=monotone)))


def fit_mixtures(
    scores: Array,
    rows: ClassRows,
    *,
    family: Family = "gaussian",
    max_iter: int = 100,
    tol: float = 1e-6,
    regularisation: float = 1e-6,
    min_samples: int = 2,
) -> Mixtures:
    """Fit one mixture per class by EM, started from the best split into two clusters.

    Stops for a class as scikit-learn's GaussianMixture does: when its mean log-likelihood changes by less than
    ``tol``. Classes with fewer than ``min_samples`` scores or with equal scores come back as not ``valid``.

    >>> x = np.array([0.1, 0.12, 0.11, 0.9, 0.92, 0.88])
    >>> mixtures = fit_mixtures(x, ClassRows.of(np.zeros(6, dtype=np.intp), 1))
    >>> mixtures.means.round(2)
    array([[0.11, 0.9 ]])
    """
    scores = np.asarray(scores, dtype=np.float64)
    result = _empty(len(rows), family)
    settings = _Settings(family, max_iter, tol, regularisation)
    blocks = list(_blocks(scores, rows, min_samples))
    if len(blocks) == 1:
        results = [_fit_block(blocks[0], settings)]
    else:  # NumPy releases the GIL in each operation, so threads run in parallel
        with ThreadPoolExecutor() as pool:
            results = list(pool.map(lambda block: _fit_block(block, settings), blocks))
    for block, fitted in zip(blocks, results, strict=True):
        for name, values in fitted.items():
            getattr(result, name)[block.classes] = values
    return result


def best_two_means(scores: Array, rows: ClassRows, *, min_samples: int = 2) -> tuple[Float64s, Bools]:
    """Centres (K x 2) of the best split of each class into two clusters, and which classes could be split.

    In one dimension the optimum of k-means is a cut in the sorted order, found exactly: no restarts, no seed.

    >>> x = np.array([0.0, 1.0, 10.0, 12.0])
    >>> best_two_means(x, ClassRows.of(np.zeros(4, dtype=np.intp), 1))[0]
    array([[ 0.5, 11. ]])
    """
    scores = np.asarray(scores, dtype=np.float64)
    centres, valid = np.zeros((len(rows), 2)), np.zeros(len(rows), dtype=bool)
    for block in _blocks(scores, rows, min_samples):
        upper = _two_means(block)
        share = upper.sum(axis=1)
        lower_sum = (block.x * (block.mask & ~upper)).sum(axis=1)
        upper_sum = (block.x * upper).sum(axis=1)
        centres[block.classes] = np.stack([lower_sum / (block.counts - share), upper_sum / share], axis=1)
        valid[block.classes] = True
    return centres, valid


def gain_of_second(scores: Array, rows: ClassRows, mixtures: Mixtures) -> Float64s:
    """What the second component gains over a single Gaussian: the drop of AIC per sample; NaN where not valid.

    ``mixtures`` are Gaussian ones fitted to these scores. Per sample, because it measures an effect size: any small
    departure from a normal shape becomes significant in a large class.
    """
    counts = rows.counts
    codes = np.repeat(np.arange(len(rows)), counts)
    ordered = np.asarray(scores, dtype=np.float64)[rows.order]
    n = np.maximum(counts, 1)
    mean = np.bincount(codes, ordered, len(rows)) / n
    variance = np.bincount(codes, (ordered - mean[codes]) ** 2, len(rows)) / n
    with np.errstate(divide="ignore"):
        single = -0.5 * (np.log(2 * np.pi * variance) + 1)  # mean log-likelihood of one Gaussian
    return np.where(mixtures.valid, 2 * (mixtures.log_likelihood - single) - 6 / n, np.nan)


@dataclass(frozen=True)
class _Settings:
    """Options of `fit_mixtures` that hold for all blocks."""

    family: Family
    max_iter: int
    tol: float
    regularisation: float


@dataclass(frozen=True)
class _Block:
    """Several classes of similar size, one per row: sorted scores, padded with zeros on the right."""

    classes: Ints
    counts: Ints
    x: Float64s
    mask: Bools


def _blocks(scores: Float64s, rows: ClassRows, min_samples: int) -> Iterator[_Block]:
    counts = rows.counts
    usable = np.flatnonzero(counts >= max(2, min_samples))
    usable = usable[np.argsort(-counts[usable], kind="stable")]
    start = 0
    while start < len(usable):
        width = int(counts[usable[start]])
        classes = usable[start : start + max(1, _BLOCK // width)]
        start += len(classes)
        mask = np.arange(width) < counts[classes, None]
        x = np.full(mask.shape, np.inf)
        x[mask] = scores[np.concatenate([rows[k] for k in classes])]
        x.sort(axis=1)
        # Differences within rounding error carry no information; a constant class cannot be split.
        first, last = x[:, 0], x[np.arange(len(classes)), counts[classes] - 1]
        varied = last - first > 1e-12 * np.maximum(1e-140, np.maximum(abs(first), abs(last)))
        x[~mask] = 0.0
        if varied.any():
            yield _Block(classes[varied], counts[classes[varied]], x[varied], mask[varied])


def _fit_block(block: _Block, settings: _Settings) -> dict[str, Any]:
    scale = np.zeros((len(block.classes), 2))
    if settings.family == "beta":
        last = block.x[np.arange(len(block.x)), block.counts - 1]
        scale[:, 0], scale[:, 1] = block.x[:, 0], last - block.x[:, 0]
        x = np.clip((block.x - scale[:, :1]) / scale[:, 1:], _BETA_MARGIN, 1 - _BETA_MARGIN)
        regularisation = np.zeros(len(x))
    else:
        # EM is run on standardised scores, where sums of squares lose no digits, and translated back at the end.
        scale[:, 0] = block.x.sum(axis=1) / block.counts
        x = np.where(block.mask, block.x - scale[:, :1], 0.0)
        scale[:, 1] = np.sqrt(np.einsum("ij,ij->i", x, x) / block.counts)
        x /= scale[:, 1:]
        regularisation = settings.regularisation / scale[:, 1] ** 2
    em = _EM(settings.family, x, block.mask, block.counts, regularisation)
    em.run(_two_means(block), settings.max_iter, settings.tol)
    return em.result(scale)


class _EM:
    """EM on one block; classes that have converged leave the working arrays."""

    def __init__(self, family: Family, x: Float64s, mask: Bools, counts: Ints, regularisation: Float64s) -> None:
        self.family, self.counts = family, counts.astype(np.float64)
        self.regularisation = regularisation
        k = len(counts)
        self.moments = np.empty((k, 2, 3))  # Σr, Σr·x, Σr·x² of each component
        self.natural = np.empty((k, 2, 3))
        self.log_likelihood = np.full(k, -np.inf)
        self.n_iter = np.zeros(k, dtype=np.intp)
        self._live = np.arange(k)
        self._use(x, None if mask.all() else mask.astype(np.float64))

    def run(self, upper: Bools, max_iter: int, tol: float) -> None:
        """Iterate until each class's mean log-likelihood moves by less than ``tol``."""
        going = np.ones(len(self._live), dtype=bool)
        self._maximise(upper.astype(np.float64), going)
        for _ in range(max_iter):
            responsibility, log_likelihood = self._expect()
            self._maximise(responsibility, going)
            live = self._live[going]
            change = np.abs(log_likelihood[going] - self.log_likelihood[live])
            self.log_likelihood[live] = log_likelihood[going]
            self.n_iter[live] += 1
            going[going] = change >= tol  # a class stops where scikit-learn would, independently of the others
            if not going.any():
                break
            if np.count_nonzero(going) <= 0.75 * len(going):
                self._keep(going)
                going = going[going]

    def result(self, scale: Float64s) -> dict[str, Any]:
        """Everything by the names of `Mixtures`, lower component first, on the scale of the scores."""
        n = self.moments[..., 0]
        means = self.moments[..., 1] / n
        variances = self.moments[..., 2] / n - means**2
        order = np.argsort(means, axis=1, kind="stable")
        rows = np.arange(len(order))[:, None]
        low, spread = scale[:, :1], scale[:, 1:]
        natural = self.natural[rows, order]
        log_likelihood = self.log_likelihood - np.log(scale[:, 1])
        if self.family == "gaussian":
            variances = np.maximum(np.maximum(variances, 0.0) + self.regularisation[:, None], _NARROWEST)
            natural[..., 2] -= np.log(spread)
        else:
            natural = natural.copy()
        return {
            "weights": (n / self.counts[:, None])[rows, order],
            "means": (low + spread * means)[rows, order],
            "variances": (spread**2 * variances)[rows, order],
            "natural": natural,
            "scale": scale,
            "log_likelihood": log_likelihood,
            "n_iter": self.n_iter,
            "valid": np.ones(len(n), dtype=bool),
        }

    def _use(self, x: Float64s, mask: Float64s | None) -> None:
        self._x, self._mask, self._xx = x, mask, x * x
        self._first, self._second = _functions(self.family, x)
        if mask is not None:
            self._first, self._second = self._first * mask, self._second * mask
        self._odds, self._small, self._work = np.empty_like(x), np.empty_like(x), np.empty_like(x)
        count = self.counts[self._live]
        total = [count, *(np.einsum("ij,ij->i", v, self._ones()) for v in (x, self._xx))]
        self._total = np.stack(total, axis=1)
        functions = [np.einsum("ij,ij->i", v, self._ones()) for v in (self._first, self._second)]
        self._function_totals = np.stack([*functions, count], axis=1)

    def _ones(self) -> Float64s:
        return np.ones_like(self._x) if self._mask is None else self._mask

    def _keep(self, going: Bools) -> None:
        self._live = self._live[going]
        self._use(self._x[going], None if self._mask is None else self._mask[going])

    def _maximise(self, r: Float64s, going: Bools) -> None:
        live = self._live[going]
        upper = np.stack([r.sum(axis=1), *(np.einsum("ij,ij->i", r, v) for v in (self._x, self._xx))], axis=1)
        self.moments[live, 1] = upper[going]
        self.moments[live, 0] = (self._total - upper)[going]
        # An empty component keeps a minimal mass, as in scikit-learn, to avoid division by zero.
        n = np.maximum(self.moments[live, :, 0], 10 * np.finfo(float).eps)
        self.moments[live, :, 0] = n
        mean = self.moments[live, :, 1] / n
        variance = np.maximum(self.moments[live, :, 2] / n - mean**2, 0.0)
        weight = np.log(n / self.counts[live, None])
        if self.family == "gaussian":
            variance = np.maximum(variance + self.regularisation[live, None], _NARROWEST)
            log_norm = -0.5 * (np.log(2 * np.pi * variance) + mean**2 / variance)
            first, second = -0.5 / variance, mean / variance
        else:
            mean = np.clip(mean, _BETA_MARGIN, 1 - _BETA_MARGIN)
            variance = np.clip(variance, 1e-9, 0.999 * mean * (1 - mean))
            strength = mean * (1 - mean) / variance - 1
            alpha, beta = mean * strength, (1 - mean) * strength
            first, second, log_norm = alpha - 1, beta - 1, -betaln(alpha, beta)
        self.natural[live] = np.stack([first, second, weight + log_norm], axis=2)

    def _expect(self) -> tuple[Float64s, Float64s]:
        natural = self.natural[self._live]
        slope = natural[:, 1] - natural[:, 0]
        odds, small, work = self._odds, self._small, self._work
        np.multiply(self._first, slope[:, :1], out=odds)
        np.multiply(self._second, slope[:, 1:2], out=work)
        odds += work
        odds += slope[:, 2:]
        # q = 1/(1 + e^-|t|), r = q or 1 − q by the sign of t, and log(1 + e^t) = max(t, 0) − log q:
        # one exponential that cannot overflow gives both.
        np.abs(odds, out=small)
        np.negative(small, out=small)
        np.exp(small, out=small)
        np.add(small, 1.0, out=work)
        responsibility = np.reciprocal(work, out=small)
        responsibility -= 0.5
        np.copysign(responsibility, odds, out=responsibility)
        responsibility += 0.5
        np.log(work, out=work)
        work += np.maximum(odds, 0.0, out=odds)
        if self._mask is not None:
            responsibility *= self._mask
            work *= self._mask
        lower = np.einsum("ij,ij->i", natural[:, 0], self._function_totals)
        return responsibility, (lower + work.sum(axis=1)) / self.counts[self._live]


def _two_means(block: _Block) -> Bools:
    """Membership in the upper cluster of the best two-cluster split of each (sorted) row."""
    n = block.counts[:, None].astype(np.float64)
    left = np.arange(1, block.x.shape[1], dtype=np.float64)
    centred = np.where(block.mask, block.x - (block.x.sum(axis=1, keepdims=True) / n), 0.0)
    prefix = np.cumsum(centred, axis=1)[:, :-1]
    # Between-cluster sum of squares of a centred row, up to the factor n: S² / (left · right).
    between = np.where(block.mask[:, 1:], prefix**2 / (left * np.maximum(n - left, 1.0)), -1.0)
    cut = np.argmax(between, axis=1)[:, None]
    return np.asarray((np.arange(block.x.shape[1]) > cut) & block.mask)


def _functions(family: Family, x: Float64s) -> tuple[Float64s, Float64s]:
    return (x * x, x) if family == "gaussian" else (np.log(x), np.log1p(-x))


def _increasing_range(family: Family, slope: Float64s) -> tuple[Float64s, Float64s]:
    """Where the log-odds of each class rise: everything up to, or from, their single turning point."""
    first, second = slope[:, 0], slope[:, 1]
    low, high = np.full(len(slope), -np.inf), np.full(len(slope), np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        if family == "gaussian":
            turn = -second / (2 * first)
            falls, rises = first < 0, first > 0  # falls: concave, so the odds drop beyond the turn
        else:
            turn = first / (first + second)
            falls, rises = (first > 0) & (second > 0), (first < 0) & (second < 0)
    high[falls], low[rises] = turn[falls], turn[rises]
    return low, high


def _empty(k: int, family: Family) -> Mixtures:
    return Mixtures(
        family=family,
        weights=np.full((k, 2), np.nan),
        means=np.full((k, 2), np.nan),
        variances=np.full((k, 2), np.nan),
        natural=np.zeros((k, 2, 3)),
        scale=np.tile([0.0, 1.0], (k, 1)),
        log_likelihood=np.full(k, np.nan),
        n_iter=np.zeros(k, dtype=np.intp),
        valid=np.zeros(k, dtype=bool),
    )
