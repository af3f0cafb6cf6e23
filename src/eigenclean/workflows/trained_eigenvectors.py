"""Class eigenvectors of the features that a training run ends with, measured and drawn for its report."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from eigenclean.arrays import Array, Bools
from eigenclean.errors import InvalidData
from eigenclean.metrics import alignment_heatmap, eigenvalue_spectrum, eigenvector_shift, fraction_curve
from eigenclean.report import figures
from eigenclean.seeds import tagged_generator
from eigenclean.train import Callback
from eigenclean.truth import Truth

_MAX_SAMPLES = 20_000  # enough to estimate eigenvectors, and cheap compared with the training
_MAX_FEATURES = 4096


@dataclass(frozen=True)
class EigenvectorFigure:
    """A figure of the report: its title, its caption and its SVG."""

    title: str
    caption: str
    svg: Markup


class TrainedEigenvectors(Callback):
    """Measures the class eigenvectors of the first network's features after the last epoch.

    Args:
        truth: the right labels, if they are known: then right and wrong ones are compared.
        labels: the labels as given.
    """

    def __init__(self, truth: Truth | None, labels: Array) -> None:
        self._is_clean = None if truth is None else truth.is_clean(labels)
        self._labels = labels
        self.figures: list[EigenvectorFigure] = []

    def on_train_end(self, engine: Any) -> None:
        """Compute the features of a sample of the data, and draw the figures."""
        if engine.is_main:
            rows = _sample_rows(len(engine.pool))
            from eigenclean.train import network_outputs  # torch

            outputs, _ = network_outputs(engine.networks[0], engine.pool, features=True, rows=rows)
            assert outputs is not None
            features = np.asarray(outputs.float().cpu().flatten(1).numpy())
            if features.shape[1] <= _MAX_FEATURES and np.isfinite(features).all():
                is_clean = None if self._is_clean is None else self._is_clean[rows]
                self.figures = list(eigenvector_figures(features, self._labels[rows], is_clean))


def eigenvector_figures(features: Array, labels: Array, is_clean: Bools | None) -> Iterator[EigenvectorFigure]:
    """The figures that these samples allow; a measurement that needs more samples is left out."""
    yield from _figure(
        "Eigenvalue spectrum",
        "Share of each class along its leading eigenvectors, and their mean. FINE judges by the first one.",
        lambda: figures.spectrum(eigenvalue_spectrum(features, labels).as_dict()),
    )
    yield from _figure(
        "Samples needed",
        "How well a random subset of a class estimates its first eigenvector (cosine); the band is the range over "
        "classes and draws.",
        lambda: figures.fraction(fraction_curve(features, labels, draws=3).as_dict()),
    )
    if is_clean is None or is_clean.all() or not is_clean.any():
        return
    components = (1, 2) if features.shape[1] > 1 else (1,)
    yield from _figure(
        "Rotation by wrong labels",
        "Sine of the angle between the eigenvectors of all samples and those of right labels alone.",
        lambda: figures.shift(eigenvector_shift(features, labels, is_clean, components=components).as_dict()),
    )
    yield from _figure(
        "Separation by direction",
        "Mean squared projection of right minus wrong labels, along directions at an angle to the first "
        "eigenvector u, relative to the best direction. Blue: right labels project further; orange: wrong ones do.",
        lambda: figures.alignment(alignment_heatmap(features, labels, is_clean).as_dict()),
    )


def _figure(title: str, caption: str, draw: Callable[[], Markup]) -> Iterator[EigenvectorFigure]:
    try:
        svg = draw()
    except InvalidData:  # too few samples for this measurement must not fail a finished run
        return
    yield EigenvectorFigure(title, caption, svg)


def _sample_rows(n: int) -> Array:
    """All rows, or a random sample of ``_MAX_SAMPLES``, in ascending order."""
    if n <= _MAX_SAMPLES:
        return np.arange(n)
    return np.sort(tagged_generator(0, "eigenvector rows").choice(n, _MAX_SAMPLES, replace=False))
