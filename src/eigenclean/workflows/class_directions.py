"""The directions of the classes after a run: what its last features look like to FINE."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from eigenclean.arrays import Array, Bools
from eigenclean.errors import InvalidData
from eigenclean.train.callbacks import Callback
from eigenclean.truth import Truth
from eigenclean_lab.analyses import (
    alignment_heatmap,
    eigenvalue_spectrum,
    eigenvector_shift,
    fraction_curve,
    plot_alignment_heatmap,
    plot_eigenvector_shift,
    plot_fraction_curve,
    plot_spectrum,
)
from eigenclean_lab.analyses.picture import data_uri

_MOST_SAMPLES = 20_000  # enough for directions, and little beside the training
_MOST_FEATURES = 4096
_ROWS = 512  # at a time


@dataclass(frozen=True)
class Picture:
    """One of the pictures: its title, what it shows, and itself as a data URI."""

    title: str
    words: str
    image: str


class ClassDirections(Callback):
    """Looks at the features that the first network has in the end.

    Args:
        truth: the right labels, if they are known: then right and wrong ones are compared.
        given: the labels as given.
    """

    def __init__(self, truth: Truth | None, given: Array) -> None:
        self._clean = None if truth is None else truth.is_clean(given)
        self._given = given
        self.pictures: list[Picture] = []

    def on_train_end(self, engine: Any) -> None:
        """Look, and draw."""
        if engine.is_main:
            rows = _some(len(engine.pool))
            features = _features(engine.networks[0], engine.pool, rows)
            if features.shape[1] <= _MOST_FEATURES and np.isfinite(features).all():
                clean = None if self._clean is None else self._clean[rows]
                self.pictures = list(draw_directions(features, self._given[rows], clean))


def draw_directions(features: Array, labels: Array, is_clean: Bools | None) -> Iterator[Picture]:
    """The pictures that these samples allow; what they are too few for is left out."""
    yield from _picture(
        "Eigenvalues",
        "Share of each class along its first directions. FINE judges by the first one.",
        lambda: partial(plot_spectrum, eigenvalue_spectrum(features, labels)),
    )
    yield from _picture(
        "Samples needed",
        "How well a random part of a class gives its first direction; the band is all classes and draws.",
        lambda: partial(plot_fraction_curve, fraction_curve(features, labels, draws=3)),
    )
    if is_clean is None or is_clean.all() or not is_clean.any():
        return
    components = (1, 2) if features.shape[1] > 1 else (1,)
    yield from _picture(
        "What wrong labels turn",
        "Angle between the eigenvectors of all samples and those of right labels alone.",
        lambda: partial(
            plot_eigenvector_shift, eigenvector_shift(features, labels, is_clean, components=components)
        ),
    )
    yield from _picture(
        "What tells them apart",
        "Squared length along a direction, right minus wrong labels. FINE looks along u.",
        lambda: partial(plot_alignment_heatmap, alignment_heatmap(features, labels, is_clean)),
    )


def _picture(title: str, words: str, analyse: Callable[[], Callable[[Any], object]]) -> Iterator[Picture]:
    try:
        plot = analyse()
    except InvalidData:  # a page about a run must not fail it
        return
    yield Picture(title, words, data_uri(plot))


def _some(n: int) -> Array:
    """All rows, or as many random ones as are enough."""
    if n <= _MOST_SAMPLES:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, _MOST_SAMPLES, replace=False))


def _features(net: torch.nn.Module, pool: Any, rows: Array) -> Array:
    """What the network sees in some samples, in eval mode and without gradients."""
    net.eval()
    device = next(net.parameters()).device
    numbers = torch.from_numpy(rows).to(pool.codes.device)
    starts = range(0, len(rows), _ROWS)
    with torch.no_grad():
        parts = [net(pool.take(numbers[at : at + _ROWS]).to(device))[0].float().cpu() for at in starts]
    return np.asarray(torch.cat(parts).flatten(1).numpy())
