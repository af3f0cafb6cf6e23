"""Draws the pictures of the explanations: `python docs/pictures.py` writes them to docs/img/.

The first is a drawing and the theorems are simulated; all others show real data, scikit-learn's digits. The same
numbers give the same files, byte for byte.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from scipy.stats import norm
from sklearn.datasets import load_digits

from eigenclean import FINE, add_noise
from eigenclean.arrays import ClassRows, Floats
from eigenclean.mixture import fit_mixtures
from eigenclean_lab import analyses, plot_style
from eigenclean_lab.analyses.comparison import as_released
from eigenclean_lab.plot_style import INK, LINE, RIGHT, WRONG
from eigenclean_lab.theory.plots import draw_theorem1, draw_theorem2
from eigenclean_lab.theory.run import Grid
from eigenclean_lab.theory.theorem1 import simulate_theorem1
from eigenclean_lab.theory.theorem2 import simulate_theorem2

STYLE = {**plot_style.STYLE, "font.size": 11.0, "axes.titlesize": 11.0}


def cartoon() -> Figure:
    """A class of two features: its eigenvector, samples along it, samples that belong elsewhere."""
    rng = np.random.default_rng(3)
    right = _fan(rng, 42, angle=36, spread=7)
    wrong = _fan(rng, 7, angle=98, spread=9)
    both = np.concatenate([right, wrong])
    u = np.linalg.eigh(both.T @ both)[1][:, -1]
    u *= np.sign(u.sum())
    figure = _figure(7.2, 4.2)
    axes = figure.add_subplot()
    axes.scatter(right[:, 0], right[:, 1], s=26, color=RIGHT, label="label right: aligned, high score")
    axes.scatter(
        wrong[:, 0], wrong[:, 1], s=34, color=WRONG, marker="X", label="label wrong: not aligned, low score"
    )
    tip = 1.75 * u
    axes.annotate("", (tip[0], tip[1]), (0, 0), arrowprops={"arrowstyle": "-|>", "color": LINE, "lw": 2.5})
    axes.text(tip[0] + 0.05, tip[1] + 0.02, "u, first eigenvector\nof the class", color=LINE, va="center")
    outlier = wrong[np.argmax(wrong[:, 1])]
    foot = (outlier @ u) * u
    axes.plot(*np.transpose([(0, 0), outlier]), color=WRONG, lw=1.2)
    axes.plot(*np.transpose([outlier, foot]), color=WRONG, lw=1.2, ls=":")
    bend = np.linspace(np.arctan2(u[1], u[0]), np.arctan2(outlier[1], outlier[0]), 40)
    axes.plot(0.3 * np.cos(bend), 0.3 * np.sin(bend), color=INK, lw=1)
    axes.text(0.2, 0.33, "∠(u, z)", ha="center")
    axes.text(outlier[0] - 0.05, outlier[1], "z", color=WRONG, ha="right", va="center")
    axes.set(xlim=(-0.45, 2.1), ylim=(-0.05, 1.45), aspect="equal", xlabel="feature 1", ylabel="feature 2")
    axes.set(xticks=[], yticks=[])
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, handletextpad=0.2, columnspacing=1.2)
    return figure


def scores() -> Figure:
    """Real scores of one class, the mixture fitted to them, and the boundary."""
    noisy, truth, fine, alignment = _fine_on_digits(0.4)
    digit = 6
    in_class = noisy == digit
    figure = _figure(7.2, 3.8)
    axes = figure.add_subplot()
    edges = np.linspace(alignment[in_class].min(), 1, 31)
    wrong = in_class & (truth != digit)
    groups = [alignment[wrong], alignment[in_class & ~wrong]]
    labels = [f"label wrong ({len(groups[0])})", f"label right ({len(groups[1])})"]
    axes.hist(groups, edges.tolist(), stacked=True, color=[WRONG, RIGHT], alpha=0.75, label=labels)
    grid = np.linspace(edges[0], 1, 400)
    for component, name in ((0, "lower component"), (1, "upper component")):
        density = _density(fine, digit, component, grid) * in_class.sum() * (edges[1] - edges[0])
        axes.plot(grid, density, color=LINE, lw=2, ls=("--", "-")[component], label=name)
    at = float(fine.cut_.boundary(fine.threshold)[digit])
    axes.axvline(at, color=INK, lw=1.5, ls=":")
    top = axes.get_ylim()[1]
    axes.text(at - 0.004, 0.98 * top, "flagged", ha="right", va="top")
    axes.text(at + 0.004, 0.98 * top, "kept", ha="left", va="top")
    axes.set(xlabel="score |cos∠(u, z)|", ylabel="samples", title=f"{in_class.sum()} samples labelled “{digit}”")
    axes.legend(loc="upper left")
    return figure


def monotone() -> Figure:
    """Why the posterior is held at its turning point: without that, the best scores are dismissed."""
    grid = np.linspace(0.7, 1.0, 301)
    upper, lower = 0.4 * norm.pdf(grid, 0.96, 0.01), 0.6 * norm.pdf(grid, 0.85, 0.08)
    posterior = upper / (upper + lower)
    figure = _figure(7.2, 4.4)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1, 1.3))
    above.fill_between(grid, upper, color=RIGHT, alpha=0.6, lw=0, label="right labels: N(0.96, 0.01²), weight 0.4")
    above.fill_between(grid, lower, color=WRONG, alpha=0.6, lw=0, label="wrong labels: N(0.85, 0.08²), weight 0.6")
    above.set(ylabel="density", yticks=[])
    above.legend(loc="upper left")
    below.plot(grid, np.maximum.accumulate(posterior), color=RIGHT, lw=3, label="held at its turning point")
    below.plot(grid, posterior, color=LINE, lw=1.8, ls="--", label="as the formula gives it")
    for score, drop in ((0.97, 0.12), (1.0, 0.0)):
        value = float(np.interp(score, grid, posterior))
        below.plot(score, value, "o", color=LINE, ms=6)
        below.text(score - 0.005, value - drop, f"{value:.2f}", color=LINE, ha="right", va="center")
    below.axhline(0.5, color=INK, lw=1, ls=":")
    below.set(xlabel="score", ylabel="P(right)", ylim=(-0.05, 1.05))
    below.legend(loc="center left")
    return figure


def one_or_two() -> Figure:
    """The same class clean and noisy: how much a second component gains, and what it is worth."""
    digit = 0
    figure = _figure(7.2, 3.6)
    for axes, rate in zip(figure.subplots(1, 2, sharey=True), (0.0, 0.4), strict=True):
        noisy, truth, fine, alignment = _fine_on_digits(rate)
        in_class = noisy == digit
        angle = -np.log(1 - alignment)
        edges = np.linspace(0, 6, 31)
        wrong = in_class & (truth != digit)
        axes.hist(
            [angle[wrong], angle[in_class & ~wrong]], edges.tolist(), stacked=True, color=[WRONG, RIGHT], alpha=0.75
        )
        grid, scale = np.linspace(0, 6, 300), in_class.sum() * (edges[1] - edges[0])
        single = norm.pdf(grid, angle[in_class].mean(), angle[in_class].std())
        two = _two_densities(angle[in_class], grid)
        axes.plot(grid, scale * single, color=INK, lw=2, ls="--", label="one component")
        axes.plot(grid, scale * two, color=LINE, lw=2, label="two components")
        share = float(getattr(fine.cut_, "p_two_")[digit])  # noqa: B009 - only mixture cuts have it
        axes.set_title(f"{_noise_in_words(rate)}: q = {share:.2f}")
        axes.set(xlabel="log-angle −log(1 − score)")
        if rate == 0.0:
            axes.set(ylabel=f"samples labelled “{digit}”")
            axes.legend(loc="upper left")
            axes.set_ylim(0, 1.35 * axes.get_ylim()[1])  # room for the legend
    return figure


GRID = Grid((0.1, 0.4), (60, 80, 90), (0.02, 0.05, 0.1, 0.2, 0.5), (8, 128), (200, 5000), draws=30)


def theorem1() -> Figure:
    """Bounds of theorem 1 against what was simulated."""
    figure = _figure(8.6, 4.0)
    draw_theorem1(simulate_theorem1(GRID.models(), draws=GRID.draws), figure)
    return figure


def theorem2() -> Figure:
    """How often the bounds of theorem 2 fail."""
    figure = _figure(9.6, 3.8)
    draw_theorem2(simulate_theorem2(GRID.models(), draws=GRID.draws), figure)
    return figure


def directions() -> Figure:
    """Some of the analyses, on digits."""
    noisy, truth, _, _ = _fine_on_digits(0.5)
    pixels, clean = np.asarray(load_digits(return_X_y=True)[0]), noisy == truth
    figure = _figure(9.6, 7.6)
    panels = figure.subplots(2, 2)
    analyses.plot_alignment_heatmap(analyses.alignment_heatmap(pixels, noisy, clean), panels[0, 0])
    analyses.plot_eigenvector_shift(analyses.eigenvector_shift(pixels, noisy, clean), panels[0, 1])
    analyses.plot_fraction_curve(analyses.fraction_curve(pixels, noisy), panels[1, 0])
    p_clean = FINE(cut=as_released()).fit(pixels, noisy).p_clean(pixels, noisy)
    analyses.plot_zeta_sensitivity(analyses.zeta_sensitivity(p_clean, clean), panels[1, 1])
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    "eigenvector.svg": cartoon,
    "scores.svg": scores,
    "monotone.svg": monotone,
    "one-or-two.svg": one_or_two,
    "theorem1.svg": theorem1,
    "theorem2.svg": theorem2,
    "analyses.svg": directions,
}


def draw(folder: Path) -> None:
    """Write all pictures into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in PICTURES.items():
        with mpl.rc_context(STYLE):
            figure = picture()
            FigureCanvasSVG(figure)
            figure.savefig(folder / name, format="svg", transparent=True, metadata={"Date": None})
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        (folder / name).write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")


def _figure(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


def _fan(rng: np.random.Generator, n: int, *, angle: float, spread: float) -> Floats:
    turn = np.radians(rng.normal(angle, spread, n))
    return np.asarray(rng.uniform(0.7, 1.5, n)[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1))


def _fine_on_digits(rate: float) -> tuple[Any, Any, FINE, Floats]:
    """Digits with noise: noisy labels, right labels, the fitted detector, the scores."""
    pixels, truth = map(np.asarray, load_digits(return_X_y=True))
    noisy = add_noise(truth, "symmetric", rate)
    fine = FINE().fit(pixels, noisy)
    return noisy, truth, fine, fine.score_samples(pixels, noisy)


def _noise_in_words(rate: float) -> str:
    return "all labels right" if rate == 0 else f"{100 * rate:.0f} % of labels drawn anew"


def _density(fine: FINE, k: int, component: int, grid: Floats) -> Floats:
    mixture = fine.cut_.describe()
    mean, variance = mixture["means"][k][component], mixture["variances"][k][component]
    return np.asarray(mixture["weights"][k][component] * norm.pdf(grid, mean, np.sqrt(variance)))


def _two_densities(values: Floats, grid: Floats) -> Floats:
    fitted = fit_mixtures(values, ClassRows.of(np.zeros(len(values), dtype=np.intp), 1))
    parts = zip(fitted.weights[0], fitted.means[0], fitted.variances[0], strict=True)
    return np.asarray(sum(weight * norm.pdf(grid, mean, np.sqrt(variance)) for weight, mean, variance in parts))


def main(arguments: Sequence[str]) -> int:
    """Draw into the folder that is given, or into docs/img/."""
    draw(Path(arguments[0]) if arguments else Path(__file__).resolve().parent / "img")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
