"""An order of rows that depends on their content alone: verdicts on few rows do not depend on how they come."""

from typing import Any

from eigenclean.arrays import Array, Ints
from eigenclean.detect.blocks import Blocks
from eigenclean.detect.folds import canonical_order, content_hash


def block_order(features: Blocks[Array], codes: Blocks[Ints]) -> Ints | None:
    """The canonical order of the rows of a single block; None if there are more, whose sums hardly depend on it."""
    if len(features) > 1:
        return None
    return canonical_order(features.map(content_hash).first(), codes.first())


def in_order(blocks: Blocks[Any], order: Ints) -> Blocks[Any]:
    """The rows of a single block in this order, computed now."""
    return blocks.map(_take, args=(order,)).persist()


def _take(rows: Array, order: Ints) -> Array:
    return rows[order]
