"""FINE as it was published, as a baseline for speed. Nothing in the library uses it.

Written from a description of the released code, with its cost: a full singular value decomposition
of each class, which builds an n x n factor that is not needed; a Python loop over the samples; one scikit-learn
mixture per class. `eigenclean.FINE` with ``GaussianCut(monotone=False, split="always")`` decides the same.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from eigenclean.arrays import Array, Float64s, Ints


def published_p_clean(features: Array, codes: Ints) -> Float64s:
    """P(label right) of every sample; ``codes`` are the labels as 0..K-1.

    >>> rng = np.random.default_rng(0)
    >>> right = rng.normal((4.0, 0.0), 0.1, size=(30, 2))
    >>> wrong = rng.normal((0.0, 4.0), 0.1, size=(5, 2))
    >>> p = published_p_clean(np.concatenate([right, wrong]), np.zeros(35, dtype=int))
    >>> bool((p[:30] > 0.5).all() and (p[30:] < 0.5).all())
    True
    """
    p = np.empty(len(features))
    for k in np.unique(codes):
        rows = np.flatnonzero(codes == k)
        members = features[rows]
        vector = np.linalg.svd(members, full_matrices=True)[2][0]
        scores = np.array([abs(np.inner(vector, feature / np.linalg.norm(feature))) for feature in members])
        p[rows] = upper_posterior(scores.astype(np.float64))
    return p


def upper_posterior(scores: Float64s) -> Float64s:
    """Posterior of the upper of two Gaussians by scikit-learn, with the released code's settings."""
    column = scores.reshape(-1, 1)
    mixture = GaussianMixture(2, tol=1e-6, max_iter=100, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the released code stops after 100 rounds as well
        mixture.fit(column)
    upper = int(np.argmax(np.asarray(mixture.means_)))
    posterior: Float64s = np.asarray(mixture.predict_proba(column))
    return posterior[:, upper]
