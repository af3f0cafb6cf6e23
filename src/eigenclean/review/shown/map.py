"""The map of the review page: all samples in two dimensions, the suspects first and in the order of the list."""

from typing import Any

from eigenclean.review.suspects import Suspects
from eigenclean.sample_map import MAX_POINTS, choose_rows, encode, place_rows
from eigenclean.sources import Source


def has_map(data: Source | None) -> bool:
    """Whether there are features to place the samples by."""
    return data is not None and data.has_features


def map_points(data: Source, suspects: Suspects, most: int | None = None) -> dict[str, Any]:
    """What the page draws; only the ``most`` worst suspects count as such, because others are not in its list."""
    rows, n_suspects = choose_rows(len(data), suspects.rows[:most], MAX_POINTS)
    features = data.features()
    points, explained = place_rows(lambda taken: features[taken], rows, features.shape[1])
    return {**encode(points, suspects.codes[rows]), "n_suspects": n_suspects, "explained": explained}
