"""The pictures of the run report that come from the features of the network."""

import base64
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
from eigenclean.truth import Truth
from eigenclean.workflows import class_directions
from eigenclean.workflows.class_directions import ClassDirections, draw_directions
from eigenclean.workflows.train import Plan, run_training
from eigenclean_lab.analyses.picture import data_uri


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
    pool = Pool.of(inputs, codes, np.array(["a", "b"]))
    return SimpleNamespace(pool=pool, networks=[Same().train()], is_main=main)


def titles(callback: ClassDirections) -> list[str]:
    return [picture.title for picture in callback.pictures]


def test_right_and_wrong_labels_are_compared_only_when_they_are_known() -> None:
    run = engine()
    given = run.pool.labels
    unknown = ClassDirections(None, given)
    unknown.on_train_end(run)
    assert titles(unknown) == ["Eigenvalues", "Samples needed"]
    truth = Truth(np.where(np.arange(80) < 20, "a", given))
    known = ClassDirections(truth, given)
    known.on_train_end(run)
    assert titles(known) == ["Eigenvalues", "Samples needed", "What wrong labels turn", "What tells them apart"]
    clean = ClassDirections(Truth(given), given)  # nothing wrong: nothing to compare
    clean.on_train_end(run)
    assert titles(clean) == titles(unknown)


def test_only_one_process_looks() -> None:
    run = engine(main=False)
    quiet = ClassDirections(None, run.pool.labels)
    quiet.on_train_end(run)
    assert quiet.pictures == []


def test_of_many_samples_some_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_directions, "_MOST_SAMPLES", 50)
    monkeypatch.setattr(class_directions, "_ROWS", 16)
    seen = []
    drawn = class_directions.draw_directions

    def watched(features: np.ndarray, labels: np.ndarray, is_clean: np.ndarray | None) -> object:
        seen.append((features, labels))
        return drawn(features, labels, is_clean)

    monkeypatch.setattr(class_directions, "draw_directions", watched)
    run = engine()
    ClassDirections(None, run.pool.labels).on_train_end(run)
    features, labels = seen[0]
    assert features.shape == (50, 6)
    rows = [int(np.flatnonzero((run.pool.inputs.numpy() == row).all(axis=1))[0]) for row in features]
    assert rows == sorted(set(rows))
    assert (run.pool.labels[rows] == labels).all()


def test_features_that_cannot_be_judged_leave_the_run_alone() -> None:
    run = engine()
    run.pool.inputs[3, 0] = np.nan
    callback = ClassDirections(None, run.pool.labels)
    callback.on_train_end(run)
    assert callback.pictures == []


@pytest.mark.parametrize("shape", [(2, 1), (4, 1), (3, 5)])
def test_few_samples_and_few_features_give_fewer_pictures(shape: tuple[int, int]) -> None:
    X = np.random.default_rng(0).normal(size=shape) + 1
    labels = np.arange(shape[0]) % 2
    found = list(draw_directions(X, labels, np.arange(shape[0]) != 0))
    assert found[0].title == "Eigenvalues"


def test_pictures_are_svg_without_links_and_the_same_every_time() -> None:
    one, other = (data_uri(lambda axes: axes.plot([0, 1])) for _ in range(2))
    assert one == other
    svg = base64.b64decode(one.partition(",")[2])
    assert ET.fromstring(svg).tag.endswith("svg")
    assert b"<script" not in svg and b"@import" not in svg


def test_the_report_of_a_run_shows_them_in_a_browser(tmp_path: Path) -> None:
    """The page forbids styles that it does not know; inside an image they are drawn all the same."""
    plan = Plan(recipe("fine", warm_up=1, epochs=2), noise="symmetric:0.4", device="cpu")
    run_training(DATASETS["digits"](), plan, tmp_path)
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        pytest.fail("The report is tested in a real browser: please install chromium or google-chrome.")
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.goto((tmp_path / "report.html").as_uri())
        widths = page.eval_on_selector_all("#directions img", "all => all.map(one => one.naturalWidth)")
        drawn = page.locator("#directions img").first.screenshot()
        browser.close()
    assert len(widths) == 4 and min(widths) > 200
    assert complaints == []
    with Image.open(BytesIO(drawn)) as picture:
        red, green, blue = (np.asarray(picture.convert("RGB"), dtype=int)[..., i] for i in range(3))
    assert ((blue - green > 40) & (red - green > 5)).sum() > 50  # the line of the mean is purple
