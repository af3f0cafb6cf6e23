"""Analyses of scores, thresholds, detectors and runs."""

import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from eigenclean import FINE
from eigenclean.arrays import Array, Bools
from eigenclean.detect.baselines.mcd import MCD
from eigenclean.detect.baselines.small_loss import SmallLoss
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.metrics import detection_quality
from eigenclean_lab.analyses import (
    clean_noisy_histogram,
    compare_detectors,
    compare_verdicts,
    compare_with_mcd,
    f_dynamics,
    mean_against_eigenvector,
    plot_comparison,
    plot_f_dynamics,
    plot_score_histogram,
    plot_zeta_sensitivity,
    zeta_sensitivity,
)
from eigenclean_lab.analyses.comparison import as_released

Noisy = tuple[Array, Array, Bools]


def test_histogram_counts_everyone_once(noisy: Noisy) -> None:
    X, y, clean = noisy
    scores = FINE().fit(X, y).score_samples(X, y)
    result = clean_noisy_histogram(scores, clean, bins=25)
    assert (result.clean.sum(), result.noisy.sum()) == (clean.sum(), (~clean).sum())
    inside = (scores >= result.edges[3]) & (scores < result.edges[4])
    assert (result.clean[3], result.noisy[3]) == ((inside & clean).sum(), (inside & ~clean).sum())
    axes = Figure().subplots()
    assert plot_score_histogram(result, axes) is axes
    assert f"label right ({clean.sum()})" in axes.get_legend_handles_labels()[1]


@pytest.mark.parametrize("scores", [[], [1.0, np.nan], [[1.0]]])
def test_scores_that_cannot_be_counted(scores: list[float]) -> None:
    with pytest.raises(InvalidData, match="scores must be one finite number for each sample"):
        clean_noisy_histogram(scores, np.ones(len(scores), dtype=bool))
    with pytest.raises(InvalidOption, match="bins must be at least 1"):
        clean_noisy_histogram([1.0], [True], bins=0)


def test_zeta_is_strict_and_measured_as_anywhere_else(noisy: Noisy) -> None:
    X, y, clean = noisy
    p = FINE(cut=as_released()).fit(X, y).p_clean(X, y)
    result = zeta_sensitivity(p, clean)
    for i, zeta in enumerate((0.4, 0.45, 0.5, 0.55, 0.6)):
        expected = detection_quality(~(p > zeta), p, clean)
        figures = (result.precision[i], result.recall[i], result.f[i])
        assert figures == (expected.precision, expected.recall, expected.f)
        assert result.kept[i] == pytest.approx((p > zeta).mean())
    assert (np.diff(result.kept) <= 0).all() and (np.diff(result.recall) <= 0).all()
    assert result.f_range == pytest.approx(result.f.max() - result.f.min())
    assert zeta_sensitivity([0.5], [True], zetas=[0.5]).kept.tolist() == [0.0]
    axes = Figure().subplots()
    assert plot_zeta_sensitivity(result, axes) is axes
    with pytest.raises(InvalidOption, match="zetas must be between 0 and 1"):
        zeta_sensitivity(p, clean, zetas=[1.5])


def test_comparison_has_the_figures_of_each_verdict(noisy: Noisy) -> None:
    X, y, clean = noisy
    result = compare_detectors(X, y, clean, {"a": FINE(), "b": MCD()})
    for i, detector in enumerate((FINE(), MCD())):
        verdict = detector.judge(X, y)
        quality = detection_quality(verdict.flagged, verdict.p_clean, clean, score=verdict.score)
        assert (result.f[i], result.precision[i], result.recall[i]) == (
            quality.f,
            quality.precision,
            quality.recall,
        )
        assert result.auroc[i] == quality.auroc
    assert result.names == ("a", "b")
    json.dumps(result.as_dict(), allow_nan=False)


def test_without_wrong_labels_there_is_no_ranking(noisy: Noisy) -> None:
    X, y, _ = noisy
    result = compare_detectors(X, y, np.ones(len(y), dtype=bool), {"a": FINE()})
    assert np.isnan(result.auroc[0])
    assert result.as_dict()["auroc"] == [None]


def test_mean_against_eigenvector_are_the_two_fines(noisy: Noisy) -> None:
    X, y, clean = noisy
    result = mean_against_eigenvector(X, y, clean)
    for name, vector in (("eigenvector", "eigen"), ("mean", "mean")):
        verdict = FINE(vector=vector, cut=as_released()).judge(X, y)  # type: ignore[arg-type]
        assert result.f[result.names.index(name)] == detection_quality(verdict.flagged, verdict.p_clean, clean).f
    other = mean_against_eigenvector(X, y, clean, cut="kmeans")
    assert other.f[0] != result.f[0]


def test_mcd_keeps_seventy_percent_and_fine_is_better_at_half_noise(noisy: Noisy) -> None:
    X, y, clean = noisy
    result = compare_with_mcd(X, y, clean)
    f = dict(zip(result.names, result.f, strict=True))
    assert set(f) == {"fine", "mcd", "mcd, mixture", "small loss"}
    assert f["fine"] > f["mcd"]
    i = result.names.index("mcd")
    kept = result.recall[i] * clean.sum() / result.precision[i]
    assert kept / len(y) == pytest.approx(0.7, abs=0.01)


def test_small_losses_are_those_of_the_network_when_it_is_at_hand(noisy: Noisy) -> None:
    X, y, clean = noisy
    logits = np.eye(10)[(y + clean) % 10] * 4.0  # a strange network, which is wrong about right labels
    result = compare_with_mcd(X, y, clean, logits=logits)
    expected = SmallLoss(head=None).judge(logits, y)
    assert result.f[3] == detection_quality(expected.flagged, expected.p_clean, clean).f
    assert result.auroc[3] < 0.01


def test_nothing_to_compare() -> None:
    with pytest.raises(InvalidOption, match="there are no verdicts; give at least one"):
        compare_verdicts({}, [True])


def test_comparison_is_drawn(noisy: Noisy) -> None:
    axes = Figure().subplots()
    assert plot_comparison(mean_against_eigenvector(*noisy), axes) is axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["eigenvector", "mean"]
    assert len(axes.patches) == 6


RECORDS = [
    {"epoch": 1, "loss": 2.0},  # before anything was selected
    {"epoch": 2, "loss": 1.0, "f": 0.5, "precision": 0.4, "recall": 0.7},
    {"epoch": 3, "loss": 0.5, "f": 0.6, "precision": 0.5, "recall": 0.8},
]


def test_dynamics_are_read_from_the_records_of_runs(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    read = [json.loads(line) for line in path.read_text().splitlines()]
    result = f_dynamics({"fine": read, "co-teaching": RECORDS[1:2]})
    assert result.names == ("fine", "co-teaching")
    assert result.epochs == ([2, 3], [2])
    assert (result.f, result.precision, result.recall) == (
        ([0.5, 0.6], [0.5]),
        ([0.4, 0.5], [0.4]),
        ([0.7, 0.8], [0.7]),
    )
    axes = Figure().subplots()
    assert plot_f_dynamics(result, axes) is axes
    assert np.asarray(axes.lines[0].get_ydata()).tolist() == [0.5, 0.6]
    other = plot_f_dynamics(result, Figure().subplots(), figure="recall")
    assert np.asarray(other.lines[0].get_ydata()).tolist() == [0.7, 0.8]
    with pytest.raises(InvalidOption, match="figure must be one of f, precision, recall, got 'F'"):
        plot_f_dynamics(result, axes, figure="F")


def test_a_run_without_truth_has_no_f() -> None:
    with pytest.raises(InvalidData, match=r"run 'fine' has no F in its records.*train with --noise"):
        f_dynamics({"fine": RECORDS[:1]})
    with pytest.raises(InvalidData, match="there are no runs"):
        f_dynamics({})
