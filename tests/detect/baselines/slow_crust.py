"""The choice of CRUST's released code as a slow loop, for the tests of the detector and of the selector."""

import numpy as np
from scipy.special import softmax

from eigenclean.arrays import Array, Float64s


def slow_row_sums(logits: Array, codes: Array, fraction: float) -> tuple[set[int], Float64s]:
    """The choice by gradients with respect to the logits."""
    return slow_choice(softmax(logits, axis=1) - np.eye(logits.shape[1])[codes], codes, fraction)


def slow_choice(gradients: Array, codes: Array, fraction: float) -> tuple[set[int], Float64s]:
    """The released choice: in each class the largest sums of D_max − D, and the mean similarity of each row."""
    chosen: set[int] = set()
    scores = np.empty(len(codes))
    for k in np.unique(codes):
        rows = np.flatnonzero(codes == k)
        table = gradients[rows]
        apart = [[float(np.sqrt(((a - b) ** 2).sum())) for b in table] for a in table]
        largest = max(map(max, apart))
        sums = [sum(largest - distance for distance in row) for row in apart]
        chosen |= {
            int(rows[j]) for j in sorted(range(len(rows)), key=lambda j: -sums[j])[: int(fraction * len(rows))]
        }
        scores[rows] = [1 - sum(row) / len(row) / 2**0.5 for row in apart]
    return chosen, scores
