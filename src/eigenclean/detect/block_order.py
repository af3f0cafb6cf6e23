"""An order of rows that depends on their content alone: verdicts on few rows do not depend on how they come.

Sums of floating-point numbers depend on their order, and choices by likelihood amplify the last digits.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Float64s, Ints
from eigenclean.detect.blocks import Blocks, block_rows
from eigenclean.detect.folds import canonical_order, content_hash


def block_order(features: Blocks[Array], codes: Blocks[Ints]) -> Ints | None:
    """The canonical order of the rows of a single block; None if there are more, whose sums hardly depend on it."""
    if len(features) > 1:
        return None
    return canonical_order(features.map(content_hash).first(), codes.first())


def in_order(blocks: Blocks[Any], order: Ints) -> Blocks[Any]:
    """The rows of a single block in this order, computed now."""
    return blocks.map(_take, args=(order,)).persist()


def by_content(function: Callable[[Array, Ints], Float64s], X: Array, codes: Ints, features: Array) -> Float64s:
    """``function(X, codes)``, one number per row, with rows of a single block in the canonical order of features.

    >>> X = np.array([[1.0], [2.0]])
    >>> by_content(lambda X, codes: X.cumsum(), X, np.zeros(2, int), np.zeros((2, 1)))
    array([1., 3.])
    """
    if block_rows(features) < len(features):
        return function(X, codes)
    order = canonical_order(content_hash(features), codes)
    result = np.empty(len(order))
    result[order] = function(X[order], codes[order])
    return result


def _take(rows: Array, order: Ints) -> Array:
    return rows[order]
