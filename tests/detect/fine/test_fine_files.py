"""FINE's moments on the disk: yesterday's statistics, added to, taken from, judged with."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from eigenclean import FINE
from eigenclean.detect.cuts import GaussianCut
from eigenclean.detect.fine.relative import FINERelative
from eigenclean.errors import InvalidData, InvalidOption

pytest.importorskip("safetensors", reason="moments are saved with eigenclean[dask]")

X, Y = (np.asarray(array) for array in load_digits(return_X_y=True))
NAMES = np.array([f"digit {i}" for i in range(10)])[Y]


@pytest.mark.parametrize("labels", [Y, NAMES], ids=["numbers", "names"])
@pytest.mark.parametrize("cut", ["gaussian", "beta", "kmeans", "quantile", "fixed", GaussianCut(split="always")])
def test_what_is_loaded_judges_as_what_was_saved(labels: Any, cut: Any, tmp_path: Path) -> None:
    fine = FINE(cut=cut, threshold=0.4).fit(X, labels)
    fine.save(tmp_path / "m")
    loaded = FINE.load(tmp_path / "m")
    assert loaded.get_params(deep=False).keys() == fine.get_params(deep=False).keys()
    a, b = fine.judge(X, labels), loaded.judge(X, labels)
    np.testing.assert_allclose(a.score, b.score, atol=1e-9)
    np.testing.assert_allclose(a.p_clean, b.p_clean, atol=1e-7)
    np.testing.assert_array_equal(a.flagged, b.flagged)
    assert {path.suffix for path in (tmp_path / "m").iterdir()} == {".safetensors", ".json"}


def test_new_data_are_added_to_yesterdays(tmp_path: Path) -> None:
    FINE().partial_fit(X[:1000], NAMES[:1000]).save(tmp_path)
    today = FINE.load(tmp_path).partial_fit(X[1000:], NAMES[1000:])
    assert not hasattr(today, "cut_")
    np.testing.assert_allclose(today.eigenvectors_, FINE().fit(X, NAMES).eigenvectors_, atol=1e-9)


def test_a_batch_is_taken_out_again() -> None:
    fine = FINE().partial_fit(X, Y).subtract(FINE().partial_fit(X[:600], Y[:600]))
    rest = FINE().fit(X[600:], Y[600:])
    np.testing.assert_allclose(fine.eigenvectors_, rest.eigenvectors_, atol=1e-9)
    np.testing.assert_array_equal(fine.n_samples_per_class_, rest.n_samples_per_class_)
    nines = Y == 9
    without = FINE().partial_fit(X, Y).subtract(FINE().partial_fit(X[nines], Y[nines]))
    assert 9 not in without.classes_
    with pytest.raises(InvalidData, match="more samples of class 9 are taken out than there are"):
        without.subtract(FINE().partial_fit(X[nines], Y[nines]))
    with pytest.raises(InvalidOption, match="subtract needs the class moments"):
        FINE(keep_moments=False).fit(X, Y).subtract(rest)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match="there are no moments in"):
        FINE.load(tmp_path / "nowhere")
    with pytest.raises(InvalidOption, match="save needs the class moments"):
        FINE(keep_moments=False).fit(X, Y).save(tmp_path / "m")
    assert not (tmp_path / "m").exists()
    folder = FINE().fit(X, Y).save(tmp_path / "m")
    with pytest.raises(InvalidData, match="are those of fine, not of fine-relative"):
        FINERelative.load(folder)
    numbers = folder / "moments.safetensors"
    whole = numbers.read_bytes()
    numbers.write_bytes(whole[:-8])
    with pytest.raises(InvalidData, match="its two files do not belong together"):
        FINE.load(folder)
    numbers.write_bytes(whole)
    record = json.loads((folder / "moments.json").read_text())
    (folder / "moments.json").write_text(json.dumps({**record, "classes": None}))
    with pytest.raises(InvalidData, match="are damaged"):
        FINE.load(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"class_type": "O"},
        {"class_type": "<U999999999", "classes": [[1], [2, 3]]},
        {"parameters": {"no_such": 1}},
        {"parameters": {"cut": {"name": "os.system"}}},
        {"parameters": {"cut": {"name": "gaussian", "no_such": 1}}},
        {"parameters": []},
        {"cut": {"name": "subprocess.run", "options": {}}},
        {"cut": None},
        {"classes": [1]},
        {"method": None},
    ],
)
def test_a_record_of_somebody_else_names_only_what_is_in_the_tables(change: dict[str, Any], tmp_path: Path) -> None:
    folder = FINE().fit(X, Y).save(tmp_path / "m")
    record = json.loads((folder / "moments.json").read_text())
    (folder / "moments.json").write_text(json.dumps({**record, **change}))
    with pytest.raises(InvalidData, match=r"are damaged|are those of"):
        FINE.load(folder)
