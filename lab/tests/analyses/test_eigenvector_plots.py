"""Plots of the class eigenvectors on the axes that the caller gives."""

import numpy as np
from matplotlib.figure import Figure

from eigenclean.arrays import Array, Bools
from eigenclean_lab.analyses import (
    alignment_heatmap,
    eigenvalue_spectrum,
    eigenvector_shift,
    fraction_curve,
    plot_alignment_heatmap,
    plot_eigenvector_shift,
    plot_fraction_curve,
    plot_shift_by_rate,
    plot_spectrum,
)

Noisy = tuple[Array, Array, Bools]


def test_a_class_without_wrong_labels_leaves_its_row_empty() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)) + 1, np.repeat([0, 1], 20)
    heatmap = alignment_heatmap(X, y, (np.arange(40) % 2 == 0) | (y == 0))
    image = plot_alignment_heatmap(heatmap, Figure().subplots()).images[0].get_array()
    hidden = np.ma.getmaskarray(np.ma.asarray(image))
    assert hidden[0].all() and not hidden[1].any()


def test_every_plot_is_drawn_on_the_given_axes(noisy: Noisy) -> None:
    X, y, clean = noisy
    shift = eigenvector_shift(X, y, clean)
    axes = Figure(layout="constrained").subplots(1, 5)
    assert plot_alignment_heatmap(alignment_heatmap(X, y, clean), axes[0]) is axes[0]
    assert plot_eigenvector_shift(shift, axes[1]) is axes[1]
    assert plot_shift_by_rate({0.5: shift, 0.2: shift}, axes[2]) is axes[2]
    assert plot_spectrum(eigenvalue_spectrum(X, y), axes[3]) is axes[3]
    assert plot_fraction_curve(fraction_curve(X, y, draws=1), axes[4]) is axes[4]
    assert axes[0].images[0].get_size() == (10, 72)
    assert [np.size(line.get_xdata()) for line in axes[1].lines] == [10, 10]
    assert [text.get_text() for text in axes[2].get_xticklabels()] == ["20 %", "50 %"]
    assert len(axes[3].lines) == 11
    axes[0].figure.canvas.draw()
