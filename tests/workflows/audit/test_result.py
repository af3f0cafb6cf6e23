"""What an `Audit` shows, writes and gives back."""

import gc
import os
import re
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

from eigenclean import Audit, Verdict, audit
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.patch import KEEP, RELABEL, REMOVE
from eigenclean.review import Review
from eigenclean.review.store import Change
from eigenclean.verdict import FILE
from eigenclean.workflows.audit import ReviewServer
from eigenclean.workflows.audit.proposal import propose_patch

N = 90
HOSTILE = "<script>alert(1)</script>"
CLASSES = np.array(["ant", "bee", HOSTILE])


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    codes = np.arange(N) % 3
    columns = np.random.default_rng(0).normal(size=(N, 3)) + 5 * np.eye(3)[codes]
    labels = CLASSES[codes]
    labels[:6] = CLASSES[(codes[:6] + 1) % 3]
    return pd.DataFrame(columns, columns=["width", HOSTILE, "height"]).assign(
        kind=[HOSTILE, "x"] * 45, species=labels
    )


@pytest.fixture
def result(frame: pd.DataFrame) -> Audit:
    return audit(frame, label="species", method="knn")


def images() -> Any:
    codes = np.arange(N) % 3
    pixels = (
        np.random.default_rng(0).integers(0, 60, (N, 6, 6), dtype=np.uint8)
        + (60 * codes).astype(np.uint8)[:, None, None]
    )
    return pixels, np.where(np.arange(N) < 5, (codes + 1) % 3, codes)


def test_it_shows_headline_classes_and_values_and_escapes_them(result: Audit) -> None:
    html = result._repr_html_()
    assert re.search(r"\d+ of 90 labels look wrong", html)
    assert "estimated noise" in html and "<th>width</th>" in html
    assert HOSTILE not in html and "&lt;script&gt;" in html
    assert not re.search(r"(src|href)=\"(?!data:image/)", html)
    assert "features: " in html  # what became of the columns


def test_words_stay_whole_on_a_phone(result: Audit, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.set_content(f"<body>{result._repr_html_()}</body>")
    for name in ("class", "labels", "flagged"):
        assert (
            page.get_by_role("columnheader", name=name, exact=True).evaluate(
                "cell => { const range = document.createRange(); range.selectNodeContents(cell); "
                "return range.getClientRects().length }"
            )
            == 1
        ), name
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()


def test_a_column_of_texts_is_shown_once(result: Audit, frame: pd.DataFrame, tmp_path: Path) -> None:
    result.save(tmp_path / "run")
    texts = frame.assign(remark=[f"remark {row}" for row in range(N)])[["remark", "width", "species"]]
    again = Audit.load(tmp_path / "run", data=texts, label_column="species", text_column="remark")
    html = again._repr_html_()
    assert "<th>text</th>" in html and "<th>width</th>" in html and "<th>remark</th>" not in html


def test_it_shows_what_was_measured(result: Audit) -> None:
    result.summary["decisions"] = {"n": 4, "confirmed": 1, "corrected": 3}
    assert "Measured by people: of 4 labels that they decided about, 3 were wrong" in result._repr_html_()


def test_it_shows_thumbnails_that_are_inside() -> None:
    pixels, labels = images()
    result = audit({"images": pixels, "features": pixels.reshape(N, -1).astype(float)}, label=labels, method="knn")
    html = result._repr_html_()
    assert html.count("<img") == html.count('src="data:image/png;base64,') > 0


def test_a_foreign_picture_is_not_loaded(result: Audit, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "run")
    text = (folder / "report.json").read_text(encoding="utf-8")
    (folder / "report.json").write_text(text.replace('"image":null', '"image":{"src":"https://x.test/a.png"}'))
    assert "x.test" not in Audit.load(folder)._repr_html_()


def test_frames_and_suspects(result: Audit, frame: pd.DataFrame) -> None:
    assert result.to_pandas()["given_label"].tolist() == frame["species"].tolist()
    assert result.to_polars().shape == (N, 8)
    table = result.suspects(20)
    assert len(table) == 20
    assert set(table[:6]["row"]) == set(range(6))
    assert table[0]["width"] == frame["width"][table[0]["row"]]
    assert table["label_score"] == sorted(table["label_score"])
    assert len(result.suspects()) == result.verdict.n_flagged
    assert table.to_pandas().shape == table.to_polars().shape
    assert HOSTILE not in table._repr_html_()
    with pytest.raises(InvalidOption, match="whole number"):
        result.suspects(0)


def test_a_temporary_folder_goes_with_the_audit(frame: pd.DataFrame, tmp_path: Path) -> None:
    result = audit(frame, label="species", method="knn")
    folder = result.folder
    assert folder.is_dir() and not result.is_saved
    del result
    gc.collect()
    assert not folder.exists()


def test_save_and_load(result: Audit, frame: pd.DataFrame, tmp_path: Path) -> None:
    before = result.folder
    folder = result.save(tmp_path / "run")
    assert result.is_saved and result.folder == folder and not before.exists()
    assert result.save(folder) == folder
    again = Audit.load(folder)
    assert repr(again) == repr(result)
    assert again.source is None  # the frame was in memory
    assert "labels look wrong" in again._repr_html_()
    with_data = Audit.load(folder, data=frame, label_column="species")
    assert with_data.suspects(1)[0]["width"] == result.suspects(1)[0]["width"]
    with pytest.raises(InvalidData, match="other labels or ids"):
        Audit.load(folder, data=frame.iloc[1:], label_column="species")
    with pytest.raises(InvalidData):
        Audit.load(tmp_path)


def test_a_run_of_detect_is_loaded_with_its_data(finished: Path) -> None:
    result = Audit.load(finished)
    assert result.source is not None
    assert result.suspects(1)[0]["text"].startswith("text of")


def test_the_report(result: Audit, tmp_path: Path) -> None:
    path = result.report(tmp_path / "mine.html")
    assert path.read_text(encoding="utf-8") == (result.folder / "report.html").read_text(encoding="utf-8")
    with pytest.raises(InvalidOption, match="html"):
        result.report(tmp_path / "mine.pdf")


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_a_report_that_is_a_link_out_of_the_run_is_not_copied(result: Audit, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "run")
    (tmp_path / "secret").write_text("secret")
    (folder / "report.html").unlink()
    (folder / "report.html").symlink_to(tmp_path / "secret")
    foreign = Audit.load(folder)
    with pytest.raises(InvalidData, match="leads out"):
        foreign.report(tmp_path / "copy.html")
    with pytest.raises(InvalidData, match="leads out"):
        foreign.save(tmp_path / "copy")


def test_plots_are_axes(result: Audit) -> None:
    pyplot: Any = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    assert len(result.plot().patches) == 6
    _, ax = pyplot.subplots()
    assert result.plot("probabilities", ax=ax) is ax
    with pytest.raises(InvalidOption, match="kind"):
        result.plot("pie")
    pyplot.close("all")


def test_a_patch_holds_decisions_and_suggestions_that_were_accepted(
    result: Audit, frame: pd.DataFrame, tmp_path: Path
) -> None:
    with pytest.raises(InvalidData, match="nobody has decided"):
        result.patch()
    proposed = result.patch(accept=0.5, reviewer="Ada")
    assert set(proposed.ids) >= set(range(6)) and set(proposed.reviewer) == {"Ada"}
    folder = result.save(tmp_path / "run")
    review = Review.open(folder)
    review.store.record([Change(0, str(result.verdict.labels[0]), KEEP)], reviewer="Eve", action="1")
    review.close()
    assert result.patch().to_records()[0]["decision"] == KEEP
    both = result.patch(accept=0.5)
    assert len(both) == len(proposed)
    assert dict(zip(both.ids.tolist(), both.decision.tolist(), strict=True))[0] == KEEP
    assert both.counts()[RELABEL] == len(proposed) - 1
    for wrong in (0, 2, True):
        with pytest.raises(InvalidOption, match="accept"):
            result.patch(accept=wrong)
    with pytest.raises(InvalidData, match="no suggestion"):
        audit(frame, label="species", method="knn", threshold=0.0).patch(accept=1.0)


def test_samples_of_no_class_are_removed_if_that_is_accepted(result: Audit) -> None:
    p_none = np.where(np.arange(len(result.verdict)) == 1, 0.85, 0.0)
    p_none[2] = 0.6
    labels = result.verdict.labels
    suggested = np.where(p_none > 0.5, labels, result.verdict.suggested)
    verdict = replace(result.verdict, none_probability=p_none, suggested=suggested)
    assert verdict.flagged[[1, 2]].all()
    patch = propose_patch(verdict, "0a", 0.8)
    said = {record["id"]: record for record in patch.to_records()}
    assert said[1]["decision"] == REMOVE and said[1]["new"] is None and 2 not in said
    assert patch.counts()[REMOVE] == 1
    assert propose_patch(verdict, "0a", 0.5).counts()[REMOVE] == 2


def test_the_review_as_one_file_shows_data_that_are_in_memory(result: Audit, tmp_path: Path) -> None:
    path = result.review(tmp_path / "review.html")
    assert isinstance(path, Path) and path.stat().st_size > 10_000
    assert not result.is_saved


def test_the_review_is_served_in_the_background(
    result: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server = result.review(port=0)
    assert isinstance(server, ReviewServer)
    try:
        assert result.is_saved and re.fullmatch(r"eigenclean-[0-9a-f]{8}", str(result.folder))
        link = server.link
        with urllib.request.urlopen(link) as answer:
            assert "frame-ancestors http://localhost:*" in answer.headers["Content-Security-Policy"]
            assert answer.headers["X-Frame-Options"] is None
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(link)  # it was used
        with urllib.request.urlopen(server.link):
            pass
        html = server._repr_html_()
        assert "<iframe" in html and html.count("/?token=") == 3
    finally:
        server.stop()
    assert not server.is_running
    assert "stopped" in repr(server) and "stopped" in server._repr_html_()


def test_the_verdict_of_an_audit_is_that_of_its_folder(result: Audit) -> None:
    assert np.array_equal(Verdict.load(result.folder / FILE).p_clean, result.verdict.p_clean)
