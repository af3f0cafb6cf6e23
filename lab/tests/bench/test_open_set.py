"""The benchmark of samples of no class: its settings and measures."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eigenclean.errors import InvalidOption
from eigenclean.verdict import Verdict
from eigenclean_lab.bench import open_set
from eigenclean_lab.bench.open_set_page import tables, write_tables


def test_samples_of_classes_left_out_are_a_tenth_with_labels_at_random() -> None:
    labels = np.array(list("abcdef"))[np.arange(3000) % 6]
    setting = open_set.leave_out("x", "y", np.arange(3000)[:, None], labels, np.array(["b", "e"]))
    right = labels[setting.features[:, 0]]
    assert setting.is_none.mean() == pytest.approx(0.1, abs=0.001)
    assert (np.isin(right, ["b", "e"]) == setting.is_none).all()
    assert set(setting.given) == set("acdf")
    assert ((right != setting.given) == (setting.is_flipped | setting.is_none)).all()
    assert setting.is_flipped[~setting.is_none].mean() == pytest.approx(0.05, abs=0.02)


def test_p_right_without_the_component() -> None:
    p = np.array([0.9, 0.4, 0.05])
    verdict = Verdict(np.arange(3), np.arange(3), p, p, p <= 0.5, np.arange(3), p)
    assert open_set.p_right_without(verdict).tolist() == p.tolist()
    with_none = replace(verdict, none_probability=np.array([0.0, 0.5, 0.9]))
    np.testing.assert_allclose(open_set.p_right_without(with_none), [0.9, 0.8, 0.5])


def test_means_are_of_settings_with_samples_of_no_class() -> None:
    numbers = dict.fromkeys(open_set.Outcome.__dataclass_fields__, 0.5)
    outcome = open_set.Outcome(**(numbers | {"setting": "a", "kind": "k", "precision": 0.9, "recall": 0.7}))  # type: ignore[arg-type]
    missed = replace(outcome, precision=None, recall=0.0)
    complete = replace(outcome, kind="complete", precision=None, recall=None)
    again = replace(outcome, seed=1, recall=0.9)
    expected = {"kind": "k", "settings": 1, "measured": 3, "precision": 0.6, "recall": 0.5333, "nothing_called": 1}
    assert open_set.means([outcome, missed, complete, again]) == [{**expected, "recall_of_seeds": [0.35, 0.9]}]
    assert len(open_set.facts([outcome])["outcomes"]) == 1


def test_pairs_are_averaged_for_each_class(tmp_path: Path) -> None:
    numbers = dict.fromkeys(open_set.Outcome.__dataclass_fields__, 0.5)
    first = {"setting": "CIFAR-10 without 1 and 2", "kind": open_set.CIFAR, "recall": 0.7, "seed": 0}
    pair = open_set.Outcome(**(numbers | first))  # type: ignore[arg-type]
    other = replace(pair, setting="CIFAR-10 without 2 and 3", recall=0.1)
    rows = open_set.by_class([pair, other])
    assert [(row["class"], row["measured"], row["recall"]) for row in rows] == [
        ("1", 1, 0.7),
        ("2", 2, 0.4),
        ("3", 1, 0.1),
    ]
    (tmp_path / open_set.FILE).write_text(json.dumps(open_set.facts([pair, other])))
    assert open_set.load(tmp_path / open_set.FILE) == [pair, other] and open_set.load(tmp_path / "none") == []
    old = {"outcomes": [{"setting": "a", "recall": 0.5}]}  # of a version that measured less
    (tmp_path / open_set.FILE).write_text(json.dumps(old))
    assert open_set.load(tmp_path / open_set.FILE) == []


@pytest.mark.slow
def test_digits_are_measured() -> None:
    outcome = open_set.measure(next(open_set.settings(None, 0)))
    assert outcome.precision is not None and outcome.precision >= 0.8
    assert outcome.recall is not None and outcome.recall >= 0.7


def test_the_page_shows_the_results(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[3]
    results = json.loads((root / "results" / open_set.FILE).read_text(encoding="utf-8"))
    page = (root / "docs" / "howto" / "out-of-class.md").read_text(encoding="utf-8")
    assert tables(results) in page
    (tmp_path / "page.md").write_text(page, encoding="utf-8")
    write_tables(tmp_path / "page.md", results)
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == page
    (tmp_path / "page.md").write_text("nothing")
    with pytest.raises(InvalidOption, match="no place for the tables"):
        write_tables(tmp_path / "page.md", results)
