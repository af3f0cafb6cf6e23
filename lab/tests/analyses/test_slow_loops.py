"""Analyses against loops over samples and against scikit-learn."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from sklearn.metrics import precision_recall_fscore_support, roc_auc_score

from eigenclean.arrays import Array, Bools
from eigenclean.detect import FINE
from eigenclean_lab.analyses import (
    alignment_heatmap,
    clean_noisy_histogram,
    compare_detectors,
    eigenvalue_spectrum,
    eigenvector_shift,
    fraction_curve,
    plot_eigenvector_shift,
    plot_score_histogram,
    plot_spectrum,
    plot_zeta_sensitivity,
    zeta_sensitivity,
)
from eigenclean_lab.analyses.eigenvector_plots import class_ticks

Noisy = tuple[Array, Array, Bools]


def small_noisy(seed: int = 0) -> Noisy:
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], 30)
    X = 3 * np.eye(4)[truth] + rng.standard_normal((90, 4))
    y = np.where(rng.random(90) < 0.3, (truth + 1) % 3, truth)
    return X, y, y == truth


@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=2, max_size=40),
    st.lists(st.floats(0, 1), min_size=1, max_size=4),
)
@settings(max_examples=100)
def test_thresholds_against_counting(samples: list[tuple[float, bool]], zetas: list[float]) -> None:
    curve = zeta_sensitivity([p for p, _ in samples], [clean for _, clean in samples], zetas=zetas)
    n_clean = sum(clean for _, clean in samples)
    for i, zeta in enumerate(zetas):
        kept = [clean for p, clean in samples if p > zeta]
        assert curve.kept[i] == pytest.approx(len(kept) / len(samples))
        if kept and n_clean:
            assert curve.precision[i] == pytest.approx(sum(kept) / len(kept))
            assert curve.recall[i] == pytest.approx(sum(kept) / n_clean)


@given(st.lists(st.tuples(st.floats(-5, 5, width=32), st.booleans()), min_size=1, max_size=50), st.integers(1, 10))
@settings(max_examples=100)
def test_a_histogram_against_counting(samples: list[tuple[float, bool]], bins: int) -> None:
    histogram = clean_noisy_histogram([score for score, _ in samples], [clean for _, clean in samples], bins=bins)
    edges = histogram.edges.tolist()
    assert len(edges) == bins + 1
    for wanted, counts in ((True, histogram.clean), (False, histogram.noisy)):
        expected = [0] * bins
        for score, clean in samples:
            if clean == wanted:  # the last bin includes its upper edge
                expected[max(i for i in range(bins) if edges[i] <= score)] += 1
        assert counts.tolist() == expected


def test_figures_of_detectors_are_those_of_scikit_learn() -> None:
    X, y, clean = small_noisy()
    comparison = compare_detectors(X, y, clean, {"fine": FINE(), "mean": FINE(vector="mean")})
    for i, detector in enumerate((FINE(), FINE(vector="mean"))):
        verdict = detector.judge(X, y)
        precision, recall, f, _ = precision_recall_fscore_support(clean, ~verdict.flagged, average="binary")
        assert comparison.precision[i] == pytest.approx(precision)
        assert comparison.recall[i] == pytest.approx(recall)
        assert comparison.f[i] == pytest.approx(f)
        # P(right) ranks; the score decides between equal ones.
        rank = np.empty(len(y))
        rank[np.lexsort((verdict.score, verdict.p_clean))] = np.arange(len(y))
        assert comparison.auroc[i] == pytest.approx(roc_auc_score(clean, rank))


def directions(rows: Array) -> Array:
    """Eigenvectors of Σ z zᵀ as columns, the first one first."""
    return np.asarray(np.linalg.eigh(rows.T @ rows)[1][:, ::-1])


def test_the_shift_of_eigenvectors_against_numpy() -> None:
    X, y, clean = small_noisy()
    shift = eigenvector_shift(X, y, clean, components=(1, 2))
    for row, component in enumerate((1, 2)):
        for k in range(3):
            everything, right = (directions(X[mask])[:, component - 1] for mask in (y == k, (y == k) & clean))
            sine = math.sqrt(max(0.0, 1 - float(everything @ right) ** 2))
            assert shift.perturbation[row][k] == pytest.approx(sine, abs=1e-6)
        assert shift.mean[row] == pytest.approx(np.mean(shift.perturbation[row]))
    drawn = plot_eigenvector_shift(shift, Figure().subplots())
    assert np.asarray(drawn.lines[1].get_ydata()).tolist() == np.asarray(shift.perturbation[1]).tolist()


def test_without_wrong_labels_no_eigenvector_is_turned() -> None:
    X, y, _ = small_noisy()
    shift = eigenvector_shift(X, y, np.ones(len(y), dtype=bool))
    assert np.abs(shift.perturbation).max() < 1e-6


def test_the_spectrum_against_numpy() -> None:
    X, y, _ = small_noisy()
    spectrum = eigenvalue_spectrum(X, y)
    for k in range(3):
        values = np.linalg.eigvalsh(X[y == k].T @ X[y == k])[::-1]
        assert spectrum.shares[k] == pytest.approx(values / values.sum(), abs=1e-9)
    mean = np.asarray(plot_spectrum(spectrum, Figure().subplots()).lines[-1].get_ydata())
    assert mean.tolist() == pytest.approx(np.mean(spectrum.shares, axis=0).tolist())


def test_the_whole_class_has_its_own_eigenvector() -> None:
    X, y, _ = small_noisy()
    curve = fraction_curve(X, y, fractions=(0.2, 1.0), draws=2, random_state=0)
    assert curve.cosine[1] == pytest.approx(1.0, abs=1e-9)
    assert curve.cosine[0] <= curve.cosine[1] and (np.asarray(curve.low) <= np.asarray(curve.high)).all()


def test_alignment_at_the_eigenvector_against_a_loop() -> None:
    X, y, clean = small_noisy()
    heatmap = alignment_heatmap(X, y, clean, random_state=0)
    for k in range(3):
        u = directions(X[y == k])[:, 0]
        scores: dict[bool, list[float]] = {True: [], False: []}
        for row in np.flatnonzero(y == k):
            scores[bool(clean[row])].append(float(X[row] @ u) ** 2)
        at_u = float(heatmap.at_eigenvector[k])
        assert at_u == pytest.approx(float(heatmap.values[k][0]))
        assert at_u <= float(heatmap.best[k]) + 1e-9
        assert (np.mean(scores[True]) > np.mean(scores[False])) == (at_u > 0)


@given(st.integers(1, 200))
@settings(max_examples=60)
def test_axes_never_have_more_than_twenty_names(n: int) -> None:
    places, names = class_ticks(np.array([f"class {i}" for i in range(n)]))
    assert 1 <= len(places) <= 20 and places[0] == 0 and places[-1] < n
    assert names == [f"class {place}" for place in places]
    assert len({b - a for a, b in itertools.pairwise(places)}) <= 1
    if n <= 20:
        assert places == list(range(n))


def test_plots_of_scores_show_their_numbers() -> None:
    histogram = clean_noisy_histogram([0.0, 0.2, 0.9, 1.0], [False, True, True, True], bins=2)
    axes = plot_score_histogram(histogram, Figure().subplots(), score="alignment")
    assert axes.get_xlabel() == "alignment"
    assert axes.get_legend_handles_labels()[1] == ["label wrong (1)", "label right (3)"]
    curve = zeta_sensitivity([0.9, 0.45, 0.1], [True, True, False], zetas=[0.4, 0.5])
    drawn = plot_zeta_sensitivity(curve, Figure().subplots())
    by_label = {str(line.get_label()): np.asarray(line.get_ydata()).tolist() for line in drawn.lines}
    assert by_label["recall"] == [1.0, 0.5] and by_label["kept"] == pytest.approx([2 / 3, 1 / 3])
