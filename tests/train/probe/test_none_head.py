"""P(none) of new rows, by a probe whose judge has found samples of no class; saved and read with checks."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean import RobustClassifier
from eigenclean.arrays import Array, Bools, Float64s
from eigenclean.cli.app import run
from eigenclean.detect.judge.judge import Judge
from eigenclean.detect.judge.open_set.component import NoneComponent
from eigenclean.train import Probe
from eigenclean.train.probe.none_head import NoneHead

N_CLASSES = 5
OPTIONS = {"views": "linear,neighbours", "n_repeats": 1, "rounds": 3}


def rows(seed: int, n: int) -> tuple[Float64s, Bools, Any]:
    """Rows of five classes and of a sixth cluster, which is none of them."""
    centres = 4.0 * np.random.default_rng(0).standard_normal((N_CLASSES + 1, 8))
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.1, N_CLASSES, rng.integers(N_CLASSES, size=n))
    given = np.where(y == N_CLASSES, rng.integers(N_CLASSES, size=n), y)
    return centres[y] + rng.standard_normal((n, 8)), y == N_CLASSES, given


@pytest.fixture(scope="module")
def model() -> RobustClassifier:
    X, _, given = rows(1, 600)
    return RobustClassifier(Probe(options=OPTIONS, heads="linear")).fit(X, given)


def test_new_rows_of_no_class_are_told(model: RobustClassifier) -> None:
    X, is_none, _ = rows(2, 300)
    p = model.none_probability(X)
    assert p is not None and p.shape == (300,) and p.min() >= 0 and p.max() < 1
    assert (p > 0.5)[is_none].mean() > 0.9 and (p > 0.5)[~is_none].mean() < 0.02
    assert model.predict_proba(X).shape == (300, N_CLASSES)


def test_it_is_what_the_judge_says_without_a_label(model: RobustClassifier) -> None:
    X, _, given = rows(1, 600)
    judge = Judge(**OPTIONS).fit(X, given)  # type: ignore[arg-type]
    component = judge.none_component
    assert isinstance(component, NoneComponent)
    expected = component.reliability * component._probabilities(X, given)[0]
    p = model.none_probability(X)
    assert p is not None
    np.testing.assert_allclose(p, expected, atol=1e-5)


def test_a_saved_model_gives_the_same(model: RobustClassifier, tmp_path: Path) -> None:
    X, *_ = rows(2, 50)
    model.save(tmp_path / "run")
    p, again = model.none_probability(X), RobustClassifier.load(tmp_path / "run").none_probability(X)
    assert p is not None and again is not None
    np.testing.assert_array_equal(p, again)
    np.save(tmp_path / "x.npy", X)
    assert run(["predict", str(tmp_path / "run"), str(tmp_path / "x.npy"), "--out", str(tmp_path / "p.csv")]) == 0
    with open(tmp_path / "p.csv") as file:
        table = list(csv.DictReader(file))
    assert list(table[0])[:4] == ["id", "label", "probability", "p_none"]
    np.testing.assert_allclose([float(row["p_none"]) for row in table], p, atol=1e-9)


def test_without_samples_of_no_class_there_is_no_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, is_none, given = rows(1, 200)
    model = RobustClassifier(Probe(detector="knn", heads="linear")).fit(X[~is_none], given[~is_none])
    assert model.none_probability(X) is None
    model.save(tmp_path / "run")
    np.save(tmp_path / "x.npy", X)
    args = ["predict", str(tmp_path / "run"), str(tmp_path / "x.npy"), "--out", str(tmp_path / "p.csv")]
    assert run([*args, "--json"]) == 0
    assert "n_none" not in json.loads(capsys.readouterr().out)
    assert "p_none" not in (tmp_path / "p.csv").read_text()


def changed(arrays: dict[str, Array], record: dict[str, Any]) -> list[tuple[dict[str, Array], dict[str, Any]]]:
    return [
        (arrays | {"weights": np.ones(9)}, record),
        (arrays | {"weights": -arrays["weights"]}, record),
        (arrays | {"directions": arrays["directions"][:, :N_CLASSES]}, record),
        (arrays | {"directions": np.zeros((5, 6, 99))}, record),
        (arrays | {"offsets": arrays["offsets"][:, :2]}, record),
        (arrays, record | {"number": 10**30}),
        (arrays, record | {"reliability": 7}),
        (arrays, record | {"exponent": 10**9}),
        (arrays, record | {"rows": {"kind": "a file"}}),
        ({}, record),
    ]


@pytest.mark.parametrize("number", range(10))
def test_what_does_not_fit_together_is_refused(number: int, model: RobustClassifier) -> None:
    assert model.none_head_ is not None
    record, arrays = model.none_head_.to_arrays()
    assert NoneHead.from_arrays(record, arrays, N_CLASSES, 8).n_classes == N_CLASSES
    bad_arrays, bad_record = changed(arrays, record)[number]
    with pytest.raises((ValueError, KeyError, IndexError)):
        NoneHead.from_arrays(bad_record, bad_arrays, N_CLASSES, 8)
