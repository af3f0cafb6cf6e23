"""The Gaussian model of both theorems, and draws from it without drawing every sample."""

from dataclasses import dataclass

import numpy as np

from eigenclean.arrays import Float64s
from eigenclean.moments import top_eigenpair


@dataclass(frozen=True)
class GaussianClass:
    """N₊ features v + ε with right labels, N₋ features w + ε with wrong ones.

    Attributes:
        tau: nominal N₋/N₊; N₋ is rounded to a whole number.
        theta: angle between the unit vectors v and w.
        sigma: deviation of ε in each direction.
        d: number of features, at least 2.
        n_clean: N₊.
    """

    tau: float
    theta: float
    sigma: float
    d: int
    n_clean: int

    @property
    def n_noisy(self) -> int:
        """N₋, at least 1."""
        return max(1, round(self.tau * self.n_clean))

    @property
    def ratio(self) -> float:
        """N₋/N₊ after rounding N₋."""
        return self.n_noisy / self.n_clean

    @property
    def v(self) -> Float64s:
        """Direction of the features with right labels."""
        v = np.zeros(self.d)
        v[0] = 1.0
        return v

    @property
    def w(self) -> Float64s:
        """Direction of the features with wrong labels."""
        w = np.zeros(self.d)
        w[:2] = np.cos(self.theta), np.sin(self.theta)
        return w


@dataclass(frozen=True)
class Draw:
    """Statistics of one drawn class.

    Attributes:
        u: first eigenvector of Σ z zᵀ, with uᵀv ≥ 0.
        mean_clean: sample mean of the features with right labels.
        mean_noisy: of those with wrong ones.
    """

    u: Float64s
    mean_clean: Float64s
    mean_noisy: Float64s


def draw_class(model: GaussianClass, rng: np.random.Generator) -> Draw:
    """One draw, in time that does not depend on how many samples there are.

    Σ z zᵀ = N₊m₊m₊ᵀ + N₋m₋m₋ᵀ + σ²W, where m₊ and m₋ are the sample means and W, the scatter of the noise around
    them, is Wishart with N₊ + N₋ − 2 degrees of freedom and independent of both. So d + 2 rows have the same Gram
    matrix as all samples.

    >>> draw = draw_class(GaussianClass(0.2, np.pi / 2, 0.1, 128, 2000), np.random.default_rng(0))
    >>> bool(0.9 < draw.u[0] < 1)
    True
    """
    n, m, d, sigma = model.n_clean, model.n_noisy, model.d, model.sigma
    mean_clean = model.v + sigma / np.sqrt(n) * rng.standard_normal(d)
    mean_noisy = model.w + sigma / np.sqrt(m) * rng.standard_normal(d)
    rows = np.vstack([np.sqrt(n) * mean_clean, np.sqrt(m) * mean_noisy, sigma * _wishart_rows(n + m - 2, d, rng)])
    u = top_eigenpair(rows)[1]
    return Draw(-u if u @ model.v < 0 else u, mean_clean, mean_noisy)


def _wishart_rows(freedom: int, d: int, rng: np.random.Generator) -> Float64s:
    """Rows R whose RᵀR is Wishart: standard normal rows if there are fewer than d, else Bartlett's factor."""
    if freedom < d:
        return rng.standard_normal((freedom, d))
    rows = np.triu(rng.standard_normal((d, d)), 1)
    rows[np.diag_indices(d)] = np.sqrt(rng.chisquare(freedom - np.arange(d)))
    return rows
