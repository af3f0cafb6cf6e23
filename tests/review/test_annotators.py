"""A run with several annotators: the page shows who said what."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import expect

from eigenclean.review import Review
from eigenclean.review.shown.annotations import FILE
from eigenclean.workflows import DetectRequest, run_detect
from eigenclean.workflows.options import SourceOptions

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def judged_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Labels by three annotators and nothing else, so that it costs little."""
    folder = tmp_path_factory.mktemp("crowd")
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 200)
    words = np.array(["cat", "dog", HOSTILE])
    raters = {}
    for name in ("rater_a", "rater_b", "rater_<b>"):
        given = np.where(rng.random(200) < 0.25, rng.integers(0, 3, 200), truth)
        raters[name] = words[given].tolist()
    pq.write_table(pa.table({"id": [f"r{i}" for i in range(200)], **raters}), folder / "crowd.parquet")
    reading = SourceOptions(id_column="id", annotator_columns=["rater_*"])
    run_detect(DetectRequest(str(folder / "crowd.parquet"), folder / "run", reading=reading))
    return folder / "run"


def test_the_page_shows_who_said_what(
    judged_run: Path, tmp_path: Path, serving: Callable[[Review], Any], open_page: Callable[..., Any]
) -> None:
    review = Review.open(shutil.copytree(judged_run, tmp_path / "run"))
    rows = pq.read_table(judged_run / FILE).to_pylist()
    for position in range(min(5, len(review.suspects))):
        expected = [(row["annotator"], row["label"]) for row in rows if row["id"] == review.suspects.ids[position]]
        assert [
            (each["annotator"], each["label"]) for each in review.items([position])[0]["annotations"]
        ] == expected
    page = open_page(serving(review).guard.link).page
    labels = page.locator(".annotations li")
    expect(labels).to_have_count(3)
    expect(labels.last).to_contain_text("rater_<b>")
    assert page.locator(".annotations img, .annotations b b").count() == 0
    review.close()


@pytest.mark.parametrize("content", [b"", b"PAR1", None])
def test_a_file_that_cannot_be_read_is_a_note(judged_run: Path, tmp_path: Path, content: bytes | None) -> None:
    run = shutil.copytree(judged_run, tmp_path / "run")
    if content is None:
        pq.write_table(pa.table({"id": [1.5], "annotator": [None], "label": [b"x"], "p_right": ["y"]}), run / FILE)
    else:
        (run / FILE).write_bytes(content)
    review = Review.open(run)
    assert dict(review.annotations) == {}
    assert (content is None) or any("Who said what cannot be shown" in note for note in review.notes)
    review.close()
