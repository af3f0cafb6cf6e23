"""Alignments and neighbours against slow loops."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eigenclean.review import explanation as module
from eigenclean.review.explanation import (
    N_COMPARED,
    N_NEIGHBOURS,
    explain,
    load_explanation,
    save_explanation,
)


def _data(n: int = 240, d: int = 7, k: int = 4, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, k, n)
    features = 2 * rng.standard_normal((k, d))[codes] + rng.standard_normal((n, d))
    trusted = rng.random(n) < 0.8
    rows = rng.permutation(np.flatnonzero(~trusted))
    suggested = (codes[rows] + rng.integers(1, k, len(rows))) % k
    suggested[::7] = -1
    return {"features": features, "codes": codes, "trusted": trusted, "rows": rows, "suggested": suggested}


def _unit(x: np.ndarray) -> np.ndarray:
    return np.asarray(x / np.linalg.norm(x, axis=-1, keepdims=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbours_are_the_nearest_trusted_samples_of_that_label(dtype: type) -> None:
    data = _data()
    data["features"] = data["features"].astype(dtype)
    explanation = explain(**data, n_classes=4, strips=False)
    unit = _unit(data["features"].astype(np.float64))
    for place, row in enumerate(data["rows"]):
        for side, label in enumerate((data["codes"][row], data["suggested"][place])):
            candidates = np.flatnonzero(data["trusted"] & (data["codes"] == label))
            cosines = np.sort(unit[candidates] @ unit[row])[::-1][:N_NEIGHBOURS]
            neighbours = explanation.near[place, side]
            if label < 0:
                assert (neighbours == -1).all()
                continue
            assert set(neighbours.tolist()) <= set(candidates.tolist())
            np.testing.assert_allclose(unit[neighbours] @ unit[row], cosines, atol=1e-5)
            np.testing.assert_allclose(explanation.cosine[place, side], cosines, atol=1e-5)


def test_alignments_are_cosines_with_the_first_eigenvector_of_the_trusted() -> None:
    data = _data()
    explanation = explain(**data, n_classes=4, strips=False)
    unit = _unit(data["features"])
    vectors = []
    for k in range(4):
        block = unit[data["trusted"] & (data["codes"] == k)]
        vectors.append(np.linalg.svd(block)[2][0])
    for place, row in enumerate(data["rows"]):
        assert explanation.classes[place, 0] == data["codes"][row]
        if data["suggested"][place] >= 0:
            assert explanation.classes[place, 1] == data["suggested"][place]
        expected = [abs(unit[row] @ vectors[k]) for k in explanation.classes[place]]
        np.testing.assert_allclose(explanation.alignment[place], expected, atol=1e-4)
        assert sorted(explanation.classes[place].tolist()) == [0, 1, 2, 3]
        rest = (
            explanation.alignment[place, 2:] if data["suggested"][place] >= 0 else explanation.alignment[place, 1:]
        )
        assert (np.diff(rest) <= 1e-6).all()


def test_of_many_classes_the_best_are_kept() -> None:
    data = _data(n=900, k=30)
    explanation = explain(**data, n_classes=30, strips=False)
    assert explanation.classes.shape == (len(data["rows"]), N_COMPARED)


def test_small_and_empty_classes_have_fewer_neighbours() -> None:
    features = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [1.0, 1.0]])
    codes, trusted = np.array([0, 0, 1, 2]), np.array([False, True, True, False])
    explanation = explain(features, codes, trusted, np.array([0, 3]), np.array([1, 0]), 3, strips=False)
    assert explanation.near[:, :, 0].tolist() == [[1, 2], [-1, 1]]
    assert (explanation.near[:, :, 1:] == -1).all()
    assert explanation.neighbour_rows().tolist() == [1, 2]


def test_the_same_sample_with_another_label_is_a_neighbour() -> None:
    """A duplicate with another label is the strongest evidence, so it must be found."""
    features = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, -1.0], [3.0, -1.1]])
    explanation = explain(
        features,
        np.array([0, 1, 0, 0]),
        np.array([False, True, True, True]),
        np.array([0]),
        np.array([1]),
        2,
        strips=False,
    )
    assert explanation.near[0, 1, 0] == 1
    assert explanation.cosine[0, 1, 0] == pytest.approx(1.0)


def test_large_classes_are_searched_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _data(n=600)
    monkeypatch.setattr(module, "MAX_TRUSTED", 20)
    explanation = explain(**data, n_classes=4, strips=False)
    assert len(explanation.neighbour_rows()) <= 4 * 20
    assert (explanation.near[:, 0] >= 0).all()


def test_strips_are_features_between_the_lowest_and_the_highest() -> None:
    data = _data(d=100)
    explanation = explain(**data, n_classes=4, strips=True)
    assert set(explanation.strip_rows.tolist()) == {*data["rows"].tolist(), *explanation.neighbour_rows().tolist()}
    assert explanation.strips.shape == (len(explanation.strip_rows), module.STRIP_COLUMNS)
    columns = np.linspace(0, 99, module.STRIP_COLUMNS).astype(int)
    values = data["features"][explanation.strip_rows][:, columns]
    for column in range(0, module.STRIP_COLUMNS, 7):
        ranks = np.argsort(np.argsort(values[:, column], kind="stable"), kind="stable")
        assert np.corrcoef(ranks, explanation.strips[:, column])[0, 1] > 0.9
    assert explanation.strip(int(data["rows"][0])) is not None
    assert explanation.strip(10**9) is None


SIZES = (len(_data()["rows"]), 240, 4)


def test_it_is_kept_for_the_next_start(tmp_path: Path) -> None:
    explanation = explain(**_data(), n_classes=4, strips=True)
    save_explanation(tmp_path / "x.npz", "key", explanation)
    again = load_explanation(tmp_path / "x.npz", "key")
    assert again is not None and again.fits(*SIZES)
    for name in ("classes", "alignment", "near", "cosine", "strip_rows", "strips"):
        np.testing.assert_array_equal(getattr(again, name), getattr(explanation, name))
    assert load_explanation(tmp_path / "x.npz", "other key") is None
    assert load_explanation(tmp_path / "none.npz", "key") is None
    (tmp_path / "x.npz").write_bytes((tmp_path / "x.npz").read_bytes()[:300])
    assert load_explanation(tmp_path / "x.npz", "key") is None


@pytest.mark.parametrize("name", ["classes", "alignment", "near", "cosine", "strip_rows", "strips"])
def test_numbers_of_somebody_else_that_select_other_things_are_not_used(tmp_path: Path, name: str) -> None:
    explanation = explain(**_data(), n_classes=4, strips=True)
    values = getattr(explanation, name)
    foreign = {
        "out of range": np.full(values.shape, 10**6 if values.dtype.kind == "i" else np.inf),
        "negative": np.full(values.shape, -2 if values.dtype.kind == "i" else np.nan),
        "text": values.astype("U8"),
        "flat": values.reshape(-1)[:5],
        "one value": values.reshape(-1)[0],
        "empty": values[:0],
    }
    if name == "strips":  # any byte is a byte
        del foreign["out of range"], foreign["negative"]
    for kind, array in foreign.items():
        save_explanation(tmp_path / "x.npz", "key", replace(explanation, **{name: np.asarray(array)}))
        loaded = load_explanation(tmp_path / "x.npz", "key")
        assert loaded is not None and not loaded.fits(*SIZES), kind
