"""The truth: compares labels, and is saved without pickle."""

import os
from pathlib import Path

import numpy as np
import pytest

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.truth import Truth


def test_clean_means_equal() -> None:
    truth = Truth(np.array(["a", "b", "b", "c"]))
    given = np.array(["a", "b", "long label", "a"])
    np.testing.assert_array_equal(truth.is_clean(given), [True, True, False, False])
    assert truth.noise_rate(given) == 0.5
    assert Truth(np.array([], dtype=int)).noise_rate(np.array([], dtype=int)) == 0.0


def test_lengths_and_types_must_agree() -> None:
    truth = Truth(np.array([0, 1]))
    with pytest.raises(InvalidData, match="truth has 2 labels, but 3 labels were given"):
        truth.is_clean(np.array([0, 1, 1]))
    with pytest.raises(InvalidData, match="type int64, but type <U1"):
        truth.is_clean(np.array(["0", "1"]))


@pytest.mark.parametrize("labels", [np.array([3, -1, 2]), np.array(["a", "bcd"])])
def test_saved_as_plain_npy(tmp_path: Path, labels: "np.ndarray[tuple[int], np.dtype[np.generic]]") -> None:
    path = tmp_path / "new" / "truth.labels"
    Truth(labels).save(path)
    loaded = np.load(path, allow_pickle=False)
    np.testing.assert_array_equal(loaded, labels)
    assert os.listdir(path.parent) == ["truth.labels"]


def test_never_pickled(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="allow_pickle"):
        Truth(np.array([{}], dtype=object)).save(tmp_path / "t.npy")
    (tmp_path / "file").touch()
    with pytest.raises(InvalidOption, match="cannot create the folder"):
        Truth(np.array([1])).save(tmp_path / "file" / "t.npy")
    assert os.listdir(tmp_path) == ["file"]
