"""The class eigenvectors in the report of a training run."""

import shutil
import xml.etree.ElementTree as ET
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image
from playwright.sync_api import sync_playwright
from torch import Tensor, nn

from eigenclean.sources.layouts.bundled import DATASETS
from eigenclean.train import recipe
from eigenclean.train.data.pool import Pool
from eigenclean.train.loop import evaluation
from eigenclean.truth import Truth
from eigenclean.workflows import trained_eigenvectors
from eigenclean.workflows.train import TrainingOptions, run_training
from eigenclean.workflows.trained_eigenvectors import TrainedEigenvectors, eigenvector_figures


class Same(nn.Module):
    """A network whose features are its inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        assert not self.training
        return x, x[:, :2]


def engine(n: int = 80, d: int = 6, main: bool = True) -> SimpleNamespace:
    rng = np.random.default_rng(0)
    codes = np.arange(n) % 2
    inputs = (rng.normal(size=(n, d)) + 3 * codes[:, None]).astype(np.float32)
    pool = Pool.from_arrays(inputs, codes, np.array(["a", "b"]))
    return SimpleNamespace(pool=pool, networks=[Same().train()], is_main=main)


def titles(callback: TrainedEigenvectors) -> list[str]:
    return [figure.title for figure in callback.figures]


def test_right_and_wrong_labels_are_compared_only_when_they_are_known() -> None:
    run = engine()
    given = run.pool.labels
    unknown = TrainedEigenvectors(None, given)
    unknown.on_train_end(run)
    assert titles(unknown) == ["Eigenvalue spectrum", "Samples needed"]
    truth = Truth(np.where(np.arange(80) < 20, "a", given))
    known = TrainedEigenvectors(truth, given)
    known.on_train_end(run)
    assert titles(known) == [
        "Eigenvalue spectrum",
        "Samples needed",
        "Rotation by wrong labels",
        "Separation by direction",
    ]
    clean = TrainedEigenvectors(Truth(given), given)  # nothing wrong: nothing to compare
    clean.on_train_end(run)
    assert titles(clean) == titles(unknown)


def test_only_one_process_looks() -> None:
    run = engine(main=False)
    quiet = TrainedEigenvectors(None, run.pool.labels)
    quiet.on_train_end(run)
    assert quiet.figures == []


def test_of_many_samples_some_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trained_eigenvectors, "_MAX_SAMPLES", 50)
    monkeypatch.setattr(evaluation, "_CHUNK_ROWS", 16)
    seen = []
    drawn = trained_eigenvectors.eigenvector_figures

    def watched(features: np.ndarray, labels: np.ndarray, is_clean: np.ndarray | None) -> object:
        seen.append((features, labels))
        return drawn(features, labels, is_clean)

    monkeypatch.setattr(trained_eigenvectors, "eigenvector_figures", watched)
    run = engine()
    TrainedEigenvectors(None, run.pool.labels).on_train_end(run)
    features, labels = seen[0]
    assert features.shape == (50, 6)
    rows = [int(np.flatnonzero((run.pool.inputs.numpy() == row).all(axis=1))[0]) for row in features]
    assert rows == sorted(set(rows))
    assert (run.pool.labels[rows] == labels).all()


def test_features_that_cannot_be_judged_leave_the_run_alone() -> None:
    run = engine()
    run.pool.inputs[3, 0] = np.nan
    callback = TrainedEigenvectors(None, run.pool.labels)
    callback.on_train_end(run)
    assert callback.figures == []


@pytest.mark.parametrize("shape", [(2, 1), (4, 1), (3, 5)])
def test_few_samples_and_few_features_give_fewer_pictures(shape: tuple[int, int]) -> None:
    X = np.random.default_rng(0).normal(size=shape) + 1
    labels = np.arange(shape[0]) % 2
    figures = list(eigenvector_figures(X, labels, np.arange(shape[0]) != 0))
    assert figures[0].title == "Eigenvalue spectrum"


def test_figures_are_well_formed_svg_and_reproducible() -> None:
    rng = np.random.default_rng(1)
    X, labels = rng.normal(size=(60, 4)) + 1, np.array(["<b>", "b&b", "ü"])[np.arange(60) % 3]
    first, second = (list(eigenvector_figures(X, labels, np.arange(60) % 4 != 0)) for _ in range(2))
    assert first == second
    for figure in first:
        assert ET.fromstring(str(figure.svg)).tag == "svg"


def test_a_class_without_wrong_labels_has_no_row_in_the_heatmap() -> None:
    X, labels = np.random.default_rng(0).normal(size=(40, 3)) + 1, np.repeat(["a", "b"], 20)
    is_clean = (np.arange(40) % 2 == 0) | (labels == "a")
    drawn = {figure.title: str(figure.svg) for figure in eigenvector_figures(X, labels, is_clean)}
    assert ">b</text>" in drawn["Separation by direction"]
    assert ">a</text>" not in drawn["Separation by direction"]


def test_the_report_of_a_run_shows_them_in_a_browser(tmp_path: Path) -> None:
    """The page forbids inline styles: the figures must get their colours from its style sheet."""
    options = TrainingOptions(recipe("fine", warm_up=1, epochs=2), noise="symmetric:0.4", device="cpu")
    run_training(DATASETS["digits"](), options, tmp_path)
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    if executable is None:
        pytest.fail("The report is tested in a real browser: please install chromium or google-chrome.")
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.goto((tmp_path / "report.html").as_uri())
        widths = page.eval_on_selector_all("#eigenvectors svg", "all => all.map(svg => svg.clientWidth)")
        drawn = page.locator("#eigenvectors svg").first.screenshot()
        browser.close()
    assert len(widths) == 4 and min(widths) > 200
    assert complaints == []
    with Image.open(BytesIO(drawn)) as picture:
        red, green, blue = (np.asarray(picture.convert("RGB"), dtype=int)[..., i] for i in range(3))
    assert ((blue - red > 60) & (blue - green > 20)).sum() > 50  # the line of the mean is blue
