"""Truth from files, and verdicts against it."""

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.metrics import read_truth, score_verdict
from eigenclean.truth import Truth
from eigenclean.verdict import Verdict

LABELS = np.array(["cat", "dog", "elk", "dog"])


def verdict(**changed: Any) -> Verdict:
    fields: dict[str, Any] = {
        "ids": np.arange(4),
        "labels": np.array([0, 0, 1, 2]),
        "score": np.array([0.9, 0.2, 0.3, 0.8]),
        "p_clean": np.array([1.0, 0.0, 0.0, 1.0]),
        "flagged": np.array([False, True, True, False]),
        "suggested": np.array([0, 1, 2, 2]),
        "suggested_confidence": np.ones(4),
    }
    return Verdict(**{**fields, **changed})


def test_what_truth_saves_is_read_back(tmp_path: Path) -> None:
    Truth(LABELS).save(tmp_path / "truth.npy")
    np.testing.assert_array_equal(read_truth(tmp_path / "truth.npy").labels, LABELS)
    np.testing.assert_array_equal(read_truth(str(tmp_path / "truth.npy"), ids=[5, 1, 2, 3]).labels, LABELS)


@pytest.mark.parametrize("name", ["labels", "clean"])
def test_npz_by_position(tmp_path: Path, name: str) -> None:
    arrays: dict[str, Any] = {name: LABELS}
    np.savez(tmp_path / "truth.npz", **arrays)
    np.testing.assert_array_equal(read_truth(tmp_path / "truth.npz", ids=np.arange(4)).labels, LABELS)


def test_clean_labels_are_the_truth_where_there_are_both(tmp_path: Path) -> None:
    np.savez(tmp_path / "both.npz", labels=LABELS[::-1], clean=LABELS)
    np.testing.assert_array_equal(read_truth(tmp_path / "both.npz").labels, LABELS)


@pytest.mark.parametrize("ids", [np.array([40, -3, 7, 12]), np.array(["d", "a", "c", "bb"])])
def test_npz_by_id(tmp_path: Path, ids: Array) -> None:
    np.savez(tmp_path / "truth.npz", labels=LABELS, ids=ids)
    assert read_truth(tmp_path / "truth.npz", ids=ids[[2, 0, 3]]).labels.tolist() == ["elk", "cat", "dog"]
    assert read_truth(tmp_path / "truth.npz").labels.tolist() == LABELS.tolist()


@pytest.mark.parametrize(
    ("content", "ids", "message"),
    [
        ({"labels": LABELS}, [1, 2], "must have one label for each of the 2 rows, got 4"),
        (
            {"labels": LABELS, "ids": np.arange(4)},
            [0, 9, 5],
            "has no label for 2 of the 3 rows, such as the ids 9, 5",
        ),
        ({"labels": LABELS, "ids": np.arange(4)}, ["0", "1"], "has ids of type int64, but the rows have .* <U1"),
        ({"labels": LABELS, "ids": np.arange(3)}, [0], "ids must be one value for each of the 4 rows"),
        ({"labels": LABELS, "ids": np.zeros(4, int)}, [0], "ids must be unique"),
        ({"labels": LABELS[:0], "ids": np.arange(0)}, [0], "must have at least one label"),
        ({"features": LABELS}, None, "must have an array 'clean' or 'labels', it has features"),
        ({"labels": np.array([0.5, 1.0])}, None, "labels must be classes"),
        ({"labels": np.array([{}, []], dtype=object)}, None, "is not a readable .npz file"),
    ],
)
def test_a_file_that_does_not_fit_is_explained(
    tmp_path: Path, content: dict[str, Any], ids: Any, message: str
) -> None:
    np.savez(tmp_path / "truth.npz", **content)
    with pytest.raises(InvalidData, match=message):
        read_truth(tmp_path / "truth.npz", ids)


@pytest.mark.parametrize("suffix", [".npz", ".npy"])
def test_truncated_and_foreign_files(tmp_path: Path, suffix: str) -> None:
    whole = io.BytesIO()
    np.savez_compressed(whole, labels=LABELS) if suffix == ".npz" else np.save(whole, LABELS)
    good = whole.getvalue()
    foreign = [b"", b"id,label\n1,cat\n", pickle.dumps(LABELS), b"PK\x03\x04", b"\x93NUMPY\x01\x00"]
    path = tmp_path / f"bad{suffix}"
    for content in [*foreign, good[:50], good[:-20]]:
        path.write_bytes(content)
        with pytest.raises(InvalidData, match=f"bad{suffix} is not a readable") as caught:
            read_truth(path)
        assert "\n" not in str(caught.value)


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "x.npz", labels=np.arange(1000) % 7)
    content = bytearray((tmp_path / "x.npz").read_bytes())
    content[60:120] = bytes(60)
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(InvalidData, match="is not a readable"):
        read_truth(tmp_path / "x.npz")


def test_there_must_be_a_file_of_a_known_kind(tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match="there is no truth file"):
        read_truth(tmp_path / "none.npy")
    with pytest.raises(InvalidData, match=r"must be a \.npy or \.npz file"):
        read_truth(tmp_path / "truth.csv")


def test_a_verdict_is_scored() -> None:
    quality = score_verdict(verdict(), Truth(np.array([0, 1, 0, 2])))
    assert (quality.precision, quality.recall, quality.auroc, quality.ece) == (1, 1, 1, 0)
    assert quality.suggestion_accuracy == 0.5
    assert quality.estimated_noise_rate == verdict().noise_rate == 0.5


def test_only_wrong_and_flagged_rows_count_for_suggestions() -> None:
    # Row 1 is flagged but right, row 3 is wrong but not flagged: neither suggestion is asked about.
    assert score_verdict(verdict(), Truth(np.array([0, 0, 2, 1]))).suggestion_accuracy == 1.0
    assert score_verdict(verdict(), Truth(np.array([0, 0, 1, 1]))).suggestion_accuracy is None


def test_the_ranking_uses_the_score_of_the_verdict() -> None:
    saturated = verdict(p_clean=np.ones(4), flagged=np.zeros(4, dtype=bool))
    assert score_verdict(saturated, Truth(np.array([0, 1, 0, 2]))).auroc == 1.0


def test_truth_must_fit_the_verdict() -> None:
    with pytest.raises(InvalidData, match="truth has 3 labels, but 4"):
        score_verdict(verdict(), Truth(np.array([0, 1, 0])))
    with pytest.raises(InvalidData, match="truth has labels of type"):
        score_verdict(verdict(), Truth(LABELS))
