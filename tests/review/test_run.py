"""A run opened for review: what is shown of it, what is missing, what comes out."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean.cli.app import run as eigenclean
from eigenclean.errors import InvalidData
from eigenclean.metrics.noise_rate import noise_rate_interval
from eigenclean.patch import Patch
from eigenclean.review import Review
from eigenclean.review.images import LARGE, SMALL, SampleImages
from eigenclean.review.store import KEEP, RELABEL, UNSURE, Change
from eigenclean.review.suspects import Suspects
from eigenclean.sources.images.files import ImageFiles
from eigenclean.verdict import Verdict


def change(run: Path, **facts: Any) -> None:
    (run / "manifest.json").unlink(missing_ok=True)  # it describes the summary as it was
    summary = json.loads((run / "summary.json").read_text())
    summary |= facts
    (run / "summary.json").write_text(
        json.dumps({key: value for key, value in summary.items() if value is not None})
    )


def test_columns_are_the_flagged_labels_worst_first(opened: Review) -> None:
    n = len(opened.suspects)
    verdict, facts, shown = opened.suspects.verdict, opened.describe(), opened.suspect_columns(slice(0, n))
    assert facts["n"] == facts["n_flagged"] == len(shown["row"]) == verdict.n_flagged
    assert (np.diff(verdict.rank[shown["row"]]) > 0).all()
    assert all(verdict.flagged[row] for row in shown["row"])
    names = facts["labels"]["text"]
    for place, row in enumerate(shown["row"]):
        assert names[shown["given"][place]] == str(verdict.labels[row])
        assert names[shown["suggested"][place]] == str(verdict.suggested[row])
        assert shown["wrong"][place] == pytest.approx(1 - verdict.p_clean[row], abs=1e-4)
        assert shown["id"][place] == str(verdict.ids[row])
    rest = verdict.p_clean[~verdict.flagged]
    assert facts["rest"]["n"] == len(rest)
    assert (facts["rest"]["low"], facts["rest"]["high"]) == noise_rate_interval(rest)
    for record in (facts, shown):
        assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert opened.suspects.describe(5)["n"] == 5 and opened.suspects.describe(5)["rest"]["n"] == len(verdict) - 5
    chunks = [opened.suspect_columns(slice(start, start + 7)) for start in range(0, n, 7)]
    assert {name: [value for chunk in chunks for value in chunk[name]] for name in shown} == shown


def test_items_have_what_the_source_has(opened: Review, mails: Path, tmp_path: Path) -> None:
    item = opened.items([3])[0]
    assert item["row"] == opened.suspects.rows[3] and "text" not in item and "strip" not in item
    assert item["align"][0][0] == opened.suspects.given[3] and item["align"][1][0] == opened.suspects.suggested[3]
    for side, code in enumerate((opened.suspects.given[3], opened.suspects.suggested[3])):
        for neighbour in item["near"][side]:
            assert opened.suspects.codes[neighbour["row"]] == code
            assert not opened.suspects.verdict.flagged[neighbour["row"]]
    texts = Review.open(shutil.copytree(mails / "run", tmp_path / "mails"))
    item = texts.items([0])[0]
    assert item["text"] == np.load(mails / "mails.npz")["texts"][item["row"]]
    assert item["id"] == np.load(mails / "mails.npz")["ids"][item["row"]]
    texts.close()


def test_a_table_without_images_or_texts_shows_features(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 300)
    features = 4 * rng.standard_normal((3, 6))[codes] + rng.standard_normal((300, 6))
    given = np.where(rng.random(300) < 0.15, (codes + 1) % 3, codes)
    rows = "\n".join(",".join([f"c{label}", *map(str, row)]) for label, row in zip(given, features, strict=True))
    (tmp_path / "x.csv").write_text("kind,a,b,c,d,e,f\n" + rows)
    arguments = [str(tmp_path / "x.csv"), "--label-column", "kind", "--out", str(tmp_path / "run"), "--no-report"]
    assert eigenclean(["detect", *arguments]) == 0
    review = Review.open(tmp_path / "run")
    assert review.notes == () and review.images is None
    item = review.items([0])[0]
    assert len(item["strip"]) == 6 and len(item["near"][0][0]["strip"]) == 6
    review.close()


def test_the_second_start_compares_nothing_again(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Review.open(run).close()

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr("eigenclean.review.source.explain", refuse)
    review = Review.open(run)
    assert review.explanation is not None
    review.close()


def test_old_attribute_names_still_work_for_one_release(opened: Review) -> None:
    with pytest.warns(DeprecationWarning, match=r"Review\.pictures is now Review\.images"):
        assert opened.pictures is opened.images
    with pytest.warns(DeprecationWarning, match=r"Review\.why is now Review\.explanation"):
        assert opened.why is opened.explanation


def test_decisions_outlive_another_verdict_of_the_same_data(run: Path, digits: Path) -> None:
    review = Review.open(run)
    ids, labels = review.suspects.ids, review.suspects.verdict.labels[review.suspects.rows].tolist()
    review.store.record([Change(ids[0], labels[0], KEEP)], reviewer="Ada", action="1")
    other = (labels[-1] + 1) % 10
    review.store.record([Change(ids[-1], labels[-1], RELABEL, other)], reviewer="Ada", action="2")
    review.store.record([Change(ids[1], labels[1], UNSURE)], reviewer="Ada", action="3")
    review.close()
    arguments = [str(digits / "digits.npz"), "--budget", "20", "--out", str(run), "--no-report"]
    assert eigenclean(["detect", *arguments]) == 0
    review = Review.open(run)
    assert len(review.suspects) == 20
    shown = {review.suspects.ids[decision["item"]] for decision in review.decisions()}
    assert ids[-1] not in shown  # no longer a suspect, so it is not listed ...
    patch = review.patch()  # ... but nobody's work is lost
    assert dict(zip(patch.ids.tolist(), patch.decision.tolist(), strict=True)) == {
        ids[0]: "keep",
        ids[1]: "unsure",
        ids[-1]: "relabel",
    }
    assert patch.new[patch.ids == ids[-1]].tolist() == [other]
    review.close()


def test_decisions_about_other_data_are_left_alone(opened: Review, run: Path) -> None:
    opened.store.record([Change(opened.suspects.ids[0], 0, KEEP)], reviewer="Ada", action="1")
    change(run, data_hash="of other data")
    review = Review.open(run)
    assert review.decisions() == []
    assert "other features" in review.notes[0]
    with pytest.raises(InvalidData, match="no decisions"):
        review.patch()
    review.close()


@pytest.mark.parametrize(
    ("source", "note"),
    [
        (None, "does not say which source"),
        ({"name": "gone.npz", "folder": "/nowhere"}, "cannot be opened"),
        ({"name": "digits", "folder": "."}, "other labels or ids"),
    ],
)
def test_without_the_source_there_is_a_note(run: Path, source: Any, note: str) -> None:
    change(run, source=source)
    (run / "review.npz").unlink()
    review = Review.open(run)
    assert note in review.notes[0]
    assert review.images is None and review.items([0])[0]["near"] == [[], []]
    review.close()


def test_data_that_changed_meanwhile_are_noticed(run: Path, digits: Path, tmp_path: Path) -> None:
    arrays = dict(np.load(digits / "digits.npz"))
    arrays["features"] = arrays["features"] + 1
    np.savez(tmp_path / "digits.npz", **arrays)
    (run / "review.npz").unlink()
    review = Review.open(run, source=str(tmp_path / "digits.npz"))
    assert "other features" in review.notes[0] and review.explanation is None
    assert review.images is not None  # the labels are the same, so the images are shown
    review.close()


def test_data_that_moved_are_found(
    run: Path, digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(run, source={"name": "digits.npz", "folder": "/nowhere"})
    monkeypatch.chdir(digits)
    review = Review.open(run)
    assert review.notes == ()
    review.close()


@pytest.mark.parametrize(
    ("break_it", "sentence"),
    [
        (lambda run: (run / "verdict.parquet").unlink(), "no verdict at"),
        (lambda run: (run / "summary.json").unlink(), "there is no .*summary.json"),
        (lambda run: (run / "summary.json").write_text("{"), "not readable JSON"),
        (lambda run: (run / "summary.json").write_text("[]"), "must be one JSON object"),
        (lambda run: change(run, data_hash=None), "no data_hash"),
        (lambda run: (run / "review.sqlite").write_text("x" * 5000), "not a file of decisions"),
    ],
)
def test_a_broken_run_is_one_sentence(
    run: Path, break_it: Callable[[Path], Any], sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    break_it(run)
    with pytest.raises(InvalidData, match=sentence):
        Review.open(run)
    assert eigenclean(["review", str(run), "--no-browser"]) == 2
    assert capfd.readouterr().err.count("\n") == 1


def test_labels_that_nobody_was_given_may_be_suggested() -> None:
    verdict = Verdict(
        ids=np.array(["x", "y", "z"]),
        labels=np.array(["a", "c", "c"]),
        score=np.zeros(3),
        p_clean=np.array([0.1, np.nan, 0.9]),
        flagged=np.array([True, True, False]),
        suggested=np.array(["b", "c", "c"]),
        suggested_confidence=np.array([0.9, np.nan, 0.9]),
    )
    suspects = Suspects.of(verdict)
    assert suspects.describe()["labels"] == {"kind": "text", "text": ["a", "b", "c"]}
    shown = suspects.columns(slice(0, 2))
    assert shown["suggested"] == [1, -1]  # suggesting the given label is no suggestion
    assert shown["wrong"] == [0.9, 0.5]
    json.dumps(shown, allow_nan=False)


# The command.


def test_the_command_writes_a_patch(opened: Review, run: Path, tmp_path: Path, capfd: Any) -> None:
    assert eigenclean(["review", str(run), "--patch", str(tmp_path / "p.jsonl")]) == 2
    assert "no decisions" in capfd.readouterr().err and not (tmp_path / "p.jsonl").exists()
    verdict, rows = opened.suspects.verdict, opened.suspects.rows
    wanted = [
        Change(int(verdict.ids[r]), int(verdict.labels[r]), RELABEL, int(verdict.suggested[r])) for r in rows[:3]
    ]
    opened.store.record(wanted, reviewer="Ada", action="1")
    for name in ("p.jsonl", "p.parquet"):
        assert eigenclean(["review", str(run), "--patch", str(tmp_path / name)]) == 0
        assert "3 relabel" in capfd.readouterr().out
        assert Patch.load(tmp_path / name).new.tolist() == verdict.suggested[rows[:3]].tolist()


@pytest.mark.parametrize(
    "options",
    [
        ["--port", "70000"],
        ["--port", "-1"],
        ["--export", "x.txt"],
        ["--export", "x.html", "--most", "0"],
        ["--patch", "x.csv"],
    ],
)
def test_wrong_options_are_one_sentence(run: Path, options: list[str], capfd: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(run.parent)
    assert eigenclean(["review", str(run), "--no-browser", *options]) == 2
    assert capfd.readouterr().err.count("\n") == 1
    assert [path.name for path in run.parent.iterdir()] == ["run"]


def test_a_port_that_is_taken(run: Path, listening: Any, capfd: Any) -> None:
    assert eigenclean(["review", str(run), "--no-browser", "--port", str(listening.port)]) == 2
    assert "cannot listen" in capfd.readouterr().err


def test_without_the_extra_it_says_what_to_install(
    run: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    assert eigenclean(["review", str(run), "--no-browser"]) == 2
    assert "pip install 'eigenclean[review]'" in capfd.readouterr().err
    assert eigenclean(["review", str(run), "--export", str(tmp_path / "review.html")]) == 0  # needs no server


# Images.


def test_images_keep_one_brightness_and_one_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    images = np.zeros((4, 4, 4))
    images[1], images[2] = 8.0, 16.0
    sample_images = SampleImages(images, np.array([0, 1, 2]))
    assert [_grey(sample_images.get(row, SMALL)) for row in (0, 1, 2)] == [0, 127, 255]
    assert sample_images.get(3, SMALL) is None
    assert sample_images.is_coarse(0)
    monkeypatch.setattr("eigenclean.review.images._CACHE_BYTES", 1)
    assert [_grey(sample_images.get(row, LARGE)) for row in (0, 1, 2)] == [0, 127, 255]
    assert len(sample_images._cache) == 1


def _grey(encoded: tuple[bytes, str] | None) -> int:
    import io

    from PIL import Image

    assert encoded is not None
    with Image.open(io.BytesIO(encoded[0])) as image:
        return int(np.asarray(image).ravel()[0])


def test_image_files_of_any_size_are_shown(tmp_path: Path) -> None:
    from PIL import Image

    for name, size in (("a.png", (40, 30)), ("b.png", (2000, 500))):
        Image.new("RGB", size, (200, 10, 10)).save(tmp_path / name)
    files = ImageFiles(tmp_path, np.array(["a.png", "b.png"]))
    sample_images = SampleImages(files, np.array([0, 1]))
    image = sample_images.get(1, LARGE)
    assert image is not None and image[1] == "image/jpeg"
    assert _grey(sample_images.get(0, LARGE)) == 200


@pytest.mark.parametrize(("side", "kind"), [(28, "image/png"), (128, "image/png"), (129, "image/jpeg")])
def test_small_images_keep_every_pixel_and_photographs_take_little_room(side: int, kind: str) -> None:
    images = np.random.default_rng(0).integers(0, 256, (1, side, side, 3), dtype=np.uint8)
    image = SampleImages(images, np.array([0])).get(0, LARGE)
    assert image is not None and image[1] == kind
