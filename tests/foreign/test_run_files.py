"""Files beside a verdict that somebody else may have written: explanations and decisions."""

import sqlite3
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean.errors import InvalidData
from eigenclean.review import Review
from eigenclean.review.explanation import Explanation, load_explanation, save_explanation
from eigenclean.review.store import KEEP, Change
from eigenclean.sources import open_source, source_record
from eigenclean.verdict import Verdict


@pytest.fixture
def run(tmp_path: Path) -> Path:
    features = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)
    labels = np.array(["a", "b", "c"] * 4)
    np.savez(tmp_path / "x.npz", features=features, labels=labels)
    flagged = np.arange(12) < 4
    scores = np.where(flagged, 0.1, 0.9)
    Verdict(np.arange(12), labels, scores, scores, flagged, np.roll(labels, 1), scores).save(
        tmp_path / "run",
        data_hash=open_source(tmp_path / "x.npz").data_hash(),
        source=source_record(str(tmp_path / "x.npz")),
    )
    Review.open(tmp_path / "run").close()
    return tmp_path / "run"


def changes(good: Explanation) -> dict[str, Explanation]:
    far = np.full_like(good.near, 10**9)
    return {
        "rows beyond the data": replace(good, near=far),
        "negative rows": replace(good, near=np.full_like(good.near, -7)),
        "classes beyond the last": replace(good, classes=good.classes + 50),
        "other types": replace(good, near=good.near.astype(np.float64)),
        "texts": replace(good, alignment=np.full(good.alignment.shape, "x")),
        "not finite": replace(good, cosine=np.full_like(good.cosine, np.nan)),
        "fewer suspects": replace(good, **{f.name: getattr(good, f.name)[:1] for f in fields(good)}),
        "another shape": replace(good, near=good.near[:, :1]),
        "no numbers at all": replace(good, classes=np.zeros(0, np.intp)),
        "strips of other rows": replace(good, strip_rows=good.strip_rows + 100),
    }


@pytest.mark.parametrize("number", range(10))
def test_an_explanation_of_somebody_else_is_checked(number: int, run: Path) -> None:
    with np.load(run / "review.npz") as arrays:
        key = str(arrays["key"]).partition(" ")[2]
    good = load_explanation(run / "review.npz", key)
    assert good is not None and good.fits(4, 12, 3)
    name, bad = list(changes(good).items())[number]
    assert not bad.fits(4, 12, 3), name
    save_explanation(run / "review.npz", key, bad)
    review = Review.open(run)
    assert review.explanation is not None
    for field in fields(Explanation):  # computed again
        np.testing.assert_array_equal(getattr(review.explanation, field.name), getattr(good, field.name))
    assert len(review.items(range(4))) == 4
    review.close()


SCHEMES = {
    "trigger": "CREATE TRIGGER t AFTER INSERT ON history BEGIN SELECT 1; END",
    "view": "CREATE VIEW v AS SELECT 1",
}


@pytest.mark.parametrize("name", ["trigger", "view"])
def test_decisions_with_code_are_not_opened(name: str, run: Path) -> None:
    db = sqlite3.connect(run / "review.sqlite")
    db.execute(SCHEMES[name])
    db.commit()
    db.close()
    before = (run / "review.sqlite").read_bytes()
    with pytest.raises(InvalidData, match=r"has code of its own, '[tv]', which could change what you decide"):
        Review.open(run)
    assert (run / "review.sqlite").read_bytes() == before


def test_a_trigger_under_the_name_of_ours_is_seen(run: Path) -> None:
    db: Any = sqlite3.connect(run / "review.sqlite")
    db.execute("DROP TRIGGER history_is_not_deleted")
    db.execute("CREATE TRIGGER history_is_not_deleted AFTER INSERT ON history BEGIN SELECT 1; END")
    db.commit()
    db.close()
    with pytest.raises(InvalidData, match="has code of its own"):
        Review.open(run)


def test_decisions_of_our_own_are_opened(run: Path) -> None:
    review = Review.open(run)
    review.store.record([Change(0, "a", KEEP)], reviewer="Ada", action="1")
    review.close()
    again = Review.open(run)
    assert [entry.state for entry in again.store.history()] == [KEEP]
    again.close()
