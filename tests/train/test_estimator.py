"""The classifier: scikit-learn's contract, saving, and whether it does any good."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split

from eigenclean.arrays import Array, Ints
from eigenclean.errors import InvalidData, InvalidOption, TooFewSamples
from eigenclean.noise import add_noise
from eigenclean.train import RobustClassifier, recipe
from eigenclean.train.selectors import make_selector

QUICK = recipe("fine", warm_up=4, epochs=12, refresh=4)


@pytest.fixture
def data(blobs: tuple[Array, Ints]) -> tuple[Array, Array]:
    features, given = blobs
    return features, np.array(["cat", "dog", "eel"])[given]


@pytest.fixture
def model(data: tuple[Array, Array]) -> RobustClassifier:
    return RobustClassifier(QUICK, device="cpu").fit(*data)


def test_it_fits_and_predicts_labels_of_any_kind(model: RobustClassifier, data: tuple[Array, Array]) -> None:
    X, y = data
    assert model.classes_.tolist() == ["cat", "dog", "eel"]
    assert model.predict(X).shape == y.shape
    assert model.predict(X).dtype.kind == "U"
    assert model.score(X[9:], y[9:]) > 0.95
    p = model.predict_proba(X)
    assert p.shape == (120, 3)
    assert np.allclose(p.sum(axis=1), 1)
    assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    strange = RobustClassifier(QUICK, device="cpu").fit(X, np.array([-5, 40, 7])[model.verdict_.rank % 3])
    assert set(strange.predict(X).tolist()) <= {-5, 7, 40}


def test_the_verdict_and_the_history_tell_about_the_run(model: RobustClassifier, data: tuple[Array, Array]) -> None:
    assert model.verdict_.labels.tolist() == data[1].tolist()
    assert model.verdict_.method == "fine"
    assert model.verdict_.flagged[:9].mean() > model.verdict_.flagged[9:].mean()
    assert len(model.history_) == 12
    assert {"epoch", "loss", "train_accuracy", "kept_fraction"} <= set(model.history_[0])
    kept = 1 - model.verdict_.flagged.mean()
    assert model.history_[-1]["kept_fraction"] == pytest.approx(kept)


def test_ids_name_the_rows_of_the_verdict(data: tuple[Array, Array]) -> None:
    ids = np.arange(120) + 1000
    assert RobustClassifier(QUICK, device="cpu").fit(*data, ids=ids).verdict_.ids.tolist() == ids.tolist()


def test_a_recipe_that_never_judges_still_has_a_verdict(data: tuple[Array, Array]) -> None:
    model = RobustClassifier("standard", epochs=3, device="cpu").fit(*data)
    assert len(model.verdict_) == 120
    assert len(model.history_) == 3


def test_clone_gives_an_equal_unfitted_model(model: RobustClassifier, data: tuple[Array, Array]) -> None:
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        copy.predict(data[0])
    assert np.array_equal(copy.fit(*data).predict_proba(data[0]), model.predict_proba(data[0]))


def test_frames_give_the_same_as_arrays(model: RobustClassifier, data: tuple[Array, Array]) -> None:
    X, y = data
    names = [f"f{column}" for column in range(X.shape[1])]
    expected = model.predict_proba(X)
    pandas = RobustClassifier(QUICK, device="cpu").fit(pd.DataFrame(X, columns=names), pd.Series(y))
    assert np.array_equal(pandas.predict_proba(pd.DataFrame(X, columns=names)), expected)
    assert np.array_equal(model.predict_proba(pl.DataFrame(X, schema=names)), expected)


def test_inputs_stay_as_they_are(data: tuple[Array, Array]) -> None:
    X, y = data[0].copy(), data[1].copy()
    X.flags.writeable = y.flags.writeable = False
    RobustClassifier(QUICK, device="cpu").fit(X, y).predict(X)
    assert np.array_equal(X, data[0])


def test_scale_and_offset_of_the_columns_do_not_matter(model: RobustClassifier, data: tuple[Array, Array]) -> None:
    X, y = data
    stretched = X.astype(np.float64) * np.logspace(-6, 6, X.shape[1]) + 1
    other = RobustClassifier(QUICK, device="cpu").fit(stretched, y)
    assert (other.predict(stretched) == model.predict(X)).mean() > 0.98


def test_a_saved_model_predicts_the_same(
    model: RobustClassifier, data: tuple[Array, Array], tmp_path: Path
) -> None:
    model.save(tmp_path / "run", seconds=1.5)
    back = RobustClassifier.load(tmp_path / "run")
    assert np.array_equal(back.predict_proba(data[0]), model.predict_proba(data[0]))
    assert back.predict(data[0]).tolist() == model.predict(data[0]).tolist()
    assert back.history_ == model.history_
    assert back.recipe_ == model.recipe_
    assert np.array_equal(back.verdict_.p_clean, model.verdict_.p_clean)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "manifest.json",
        "model.json",
        "model.safetensors",
        "summary.json",
        "verdict.parquet",
    ]


def test_two_networks_predict_together(data: tuple[Array, Array], tmp_path: Path) -> None:
    model = RobustClassifier(replace(QUICK, networks=2, exchange=True), device="cpu").fit(*data)
    assert len(model.networks_) == 2
    model.save(tmp_path)
    assert np.array_equal(RobustClassifier.load(tmp_path).predict_proba(data[0]), model.predict_proba(data[0]))


def test_a_damaged_model_gets_a_sentence(model: RobustClassifier, tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match=r"no saved classifier at .*model.json"):
        RobustClassifier.load(tmp_path / "nowhere")
    model.save(tmp_path)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-10])
    with pytest.raises(InvalidData, match=r"model.safetensors does not belong to model.json"):
        RobustClassifier.load(tmp_path)
    (tmp_path / "model.json").write_text("{")
    with pytest.raises(InvalidData, match="is not readable JSON"):
        RobustClassifier.load(tmp_path)
    (tmp_path / "model.json").write_text("[]")
    with pytest.raises(InvalidData, match="is not a saved classifier"):
        RobustClassifier.load(tmp_path)


def test_mistakes_get_a_sentence(model: RobustClassifier, data: tuple[Array, Array]) -> None:
    X, y = data
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(InvalidData, match="features must be finite, but 1 of 960 values is NaN"):
        RobustClassifier(QUICK).fit(bad, y)
    with pytest.raises(InvalidData, match="features must be finite"):
        model.predict(bad)
    with pytest.raises(InvalidData, match="X has 7 features, but RobustClassifier is expecting 8 features"):
        model.predict(X[:, :7])
    with pytest.raises(InvalidData, match="120 rows and 119 labels"):
        RobustClassifier(QUICK).fit(X, y[:-1])
    with pytest.raises(TooFewSamples, match="at least two classes"):
        RobustClassifier(QUICK).fit(X, np.zeros(120, dtype=int))
    for options, hint in (
        ({"recipe": "fien"}, "did you mean 'fine'"),
        ({"net": "mpl"}, "did you mean 'mlp'"),
        ({"net_options": {"hiden": [3]}}, "did you mean 'hidden'"),
        ({"selector": "fin"}, "did you mean 'fine'"),
        ({"random_state": -1}, "random_state must be an integer from 0 or None"),
    ):
        with pytest.raises(InvalidOption, match=hint):
            RobustClassifier(**{"recipe": QUICK, **options}).fit(X, y)  # type: ignore[arg-type]


def test_a_selector_by_name_makes_fine_of_standard(data: tuple[Array, Array]) -> None:
    X, y = data
    named = RobustClassifier("standard", selector="fine", epochs=6, device="cpu").fit(X, y)
    given = RobustClassifier("standard", selector=make_selector("fine"), epochs=6, device="cpu").fit(X, y)
    assert named.recipe_ == given.recipe_ == recipe("fine", preset="head").with_epochs(6)
    assert np.array_equal(named.predict_proba(X), given.predict_proba(X))


@pytest.mark.slow
def test_fine_beats_standard_when_half_of_the_labels_are_noise() -> None:
    """Digits, symmetric 50 %, clean test set, last epoch, the defaults of both recipes."""
    X, y = load_digits(return_X_y=True)
    scores: dict[str, list[float]] = {"standard": [], "fine": []}
    for seed in (0, 1):
        train, test, right, truth = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
        given = add_noise(right, "symmetric", 0.5, random_state=seed)
        for name, accuracies in scores.items():
            model = RobustClassifier(name, random_state=seed, device="cpu").fit(train, given)
            accuracies.append(float(model.score(test, truth)))
    assert np.mean(scores["fine"]) > 0.88
    assert np.mean(scores["fine"]) > np.mean(scores["standard"]) + 0.01  # 0.893 and 0.874


WITHOUT_TORCH = """
import sys
class Blocked:  # not sys.modules["torch"] = None: SciPy takes that for a torch that is there
    def find_spec(self, name, path=None, target=None):
        if name in ("torch", "accelerate", "safetensors"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
import numpy as np
import eigenclean.losses, eigenclean.nets
from eigenclean.errors import MissingExtra
from eigenclean.train import Recipe, RobustClassifier, recipe
from eigenclean.train.selectors import make_selector
fine = recipe("fine")
assert Recipe.from_dict(fine.to_dict()) == recipe("standard").with_selector("fine")
features = np.random.default_rng(0).normal(size=(60, 4)) + 3 * np.eye(4)[np.arange(60) % 2]
probe = RobustClassifier(recipe("probe", detector="knn", heads="linear")).fit(features, np.arange(60) % 2)
assert probe.score(features, np.arange(60) % 2) > 0.8
import tempfile
with tempfile.TemporaryDirectory() as folder:
    probe.save(folder)
    assert (RobustClassifier.load(folder).predict(features) == probe.predict(features)).all()
for call in (lambda: RobustClassifier("fine").fit(np.eye(2), [0, 1]),):
    try:
        call()
    except MissingExtra as error:
        assert str(error).endswith("pip install 'eigenclean[train]'"), error
        assert str(error).startswith("RobustClassifier needs torch"), error
    else:
        raise SystemExit("not refused")
"""


def test_without_torch_recipes_work_and_fitting_says_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
