"""`score`: measures against scikit-learn, rows matched by id, and the report whole or untouched."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, precision_recall_fscore_support, roc_auc_score

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.verdict import Verdict
from eigenclean.workflows import score_run


@pytest.fixture
def truth_file(truth: Array, tmp_path: Path) -> Path:
    np.save(tmp_path / "truth.npy", truth)
    return tmp_path / "truth.npy"


def test_measures_are_those_of_scikit_learn(finished: Path, truth: Array, truth_file: Path) -> None:
    scored = score_run(finished, truth_file, report=False)
    verdict = Verdict.load(finished)
    wrong = verdict.labels != truth
    quality = scored.quality
    for prefix, is_wrong in (("noisy_", True), ("", False)):
        expected = precision_recall_fscore_support(wrong == is_wrong, verdict.flagged == is_wrong, average="binary")
        assert [quality[prefix + name] for name in ("precision", "recall", "f")] == pytest.approx(expected[:3])
    rank = np.argsort(np.lexsort((verdict.score, verdict.p_clean)))  # the score decides among equal probabilities
    assert quality["auroc"] == pytest.approx(roc_auc_score(~wrong, rank))
    assert quality["average_precision"] == pytest.approx(average_precision_score(wrong, -rank))
    assert quality["noise_rate"] == pytest.approx(wrong.mean())
    hits = verdict.flagged & wrong
    assert quality["suggestion_accuracy"] == pytest.approx(np.mean(verdict.suggested[hits] == truth[hits]))
    assert scored.method == "fine"


def test_rows_are_matched_by_id_in_any_order(finished: Path, truth_file: Path, tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(300)
    ids = np.array([f"row{i}" for i in range(300)])[order]  # more rows than the run has
    np.savez(tmp_path / "truth.npz", labels=(np.arange(300) % 3)[order], ids=ids)
    by_id = score_run(finished, tmp_path / "truth.npz", report=False)
    assert by_id == score_run(finished, truth_file, report=False)


def test_the_report_shows_the_measures_once_and_the_verdict_stays(finished: Path, truth_file: Path) -> None:
    page, messages = finished / "report.html", list[str]()
    verdict = (finished / "verdict.parquet").read_bytes()
    score_run(finished, truth_file, notify=messages.append)
    once = page.read_text()
    score_run(finished, truth_file)
    assert page.read_text() == once and once.count("figure reliability") == 1
    assert messages == [f"added to {page}, with a reliability plot"]
    assert (finished / "verdict.parquet").read_bytes() == verdict


@pytest.mark.parametrize("damage", ["{", "[]", "{}", '{"run": null}'])
def test_damaged_report_data_are_a_note_and_the_page_stays(finished: Path, truth_file: Path, damage: str) -> None:
    (finished / "report.json").write_text(damage)
    page, messages = (finished / "report.html").read_bytes(), list[str]()
    assert score_run(finished, truth_file, notify=messages.append).quality["auroc"] > 0.9
    (message,) = messages
    assert message.startswith("note: ") and message.endswith("run `eigenclean detect` again")
    assert (finished / "report.html").read_bytes() == page


def test_a_truth_of_another_length_is_refused(finished: Path, truth: Array, tmp_path: Path) -> None:
    np.save(tmp_path / "short.npy", truth[:-1])
    with pytest.raises(InvalidData, match="one label for each of the 240 rows, got 239"):
        score_run(finished, tmp_path / "short.npy")
