"""The probe: heads against slow loops and scikit-learn, the classifier, and its files."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from eigenclean import detector
from eigenclean.arrays import Array, Float64s, Ints
from eigenclean.detect.judge.row_maps import StandardizedColumns
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.train import Probe, RobustClassifier, recipe, recipe_names
from eigenclean.train.probe import trees as trees_module
from eigenclean.train.probe.model import ProbeModel, _fit_heads, fit_probe
from eigenclean.train.probe.ridge import fit_ridge
from eigenclean.train.probe.stacking import fit_stack
from eigenclean.train.probe.targets import JudgedLabels
from eigenclean.train.probe.trees import fit_forest
from eigenclean.train.storage.record import digest
from eigenclean.verdict import Verdict

QUICK = Probe(detector="knn", heads="linear")  # the judge takes a second
CLASSES = np.array(["cat", "dog", "eel"])


@pytest.fixture
def rows() -> tuple[Array, Ints, Float64s]:
    """60 rows of 3 classes in 5 columns, and weights."""
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 3
    features = 2 * np.eye(3)[codes] @ rng.normal(size=(3, 5)) + rng.normal(size=(60, 5))
    return features, codes, rng.uniform(0.2, 1.0, 60)


@pytest.fixture
def data(blobs: tuple[Array, Ints]) -> tuple[Array, Array]:
    features, given = blobs
    return features, CLASSES[given]


def judged(codes: Ints, weight: Float64s | None = None) -> JudgedLabels:
    weight = np.ones(len(codes)) if weight is None else weight
    return JudgedLabels(codes, weight, codes, weight, int(codes.max()) + 1)


def test_left_out_scores_are_those_of_heads_that_are_fitted_without_the_row(rows: Any) -> None:
    features, codes, weight = rows
    shares, row_map = np.eye(3)[codes], StandardizedColumns.of(features)
    fit = fit_ridge(features, row_map, shares, weight, (0.1,))
    prepared = row_map.apply(features)
    centred = prepared - np.average(prepared, axis=0, weights=weight)
    penalty = 0.1 * float((weight @ centred**2).sum()) / 5
    for row in (0, 7, 31):
        others = np.arange(60) != row
        head = Ridge(penalty).fit(prepared[others], shares[others], weight[others])
        np.testing.assert_allclose(fit.left_out_scores[row], head.predict(prepared[[row]])[0], atol=1e-8)
    head = Ridge(penalty).fit(prepared, shares, weight)
    np.testing.assert_allclose(fit.head.scores(features), head.predict(prepared), atol=1e-8)


def test_the_shrinkage_with_the_smallest_left_out_error_is_taken(rows: Any) -> None:
    features, codes, weight = rows
    shares, row_map = np.eye(3)[codes], StandardizedColumns.of(features)
    errors = {amount: fit_ridge(features, row_map, shares, weight, (amount,)).error for amount in (0.01, 0.1, 1.0)}
    chosen = fit_ridge(features, row_map, shares, weight, tuple(errors))
    assert chosen.head.shrinkage == min(errors, key=lambda amount: errors[amount])
    wide = np.hstack([features, np.random.default_rng(1).normal(size=(60, 200))])  # more columns than rows
    noisy = fit_ridge(wide, StandardizedColumns.of(wide), shares, weight)
    assert noisy.error < fit_ridge(wide, StandardizedColumns.of(wide), shares, weight, (1e-3,)).error


def test_a_forest_of_arrays_predicts_like_scikit_learn(rows: Any) -> None:
    features, codes, weight = rows
    fit = fit_forest(features, codes, weight, 4, seed=3)  # no row has the fourth class
    trees = ExtraTreesClassifier(100, random_state=3).fit(features, codes, weight)
    expected = np.hstack([trees.predict_proba(features), np.zeros((60, 1))])
    shares = np.bincount(codes, weight, 4) / weight.sum()
    np.testing.assert_allclose(np.exp(fit.head.scores(features)), 0.97 * expected + 0.03 * shares, atol=1e-6)
    assert (fit.left_out_scores.argmax(axis=1) == codes).mean() < (
        fit.head.scores(features).argmax(axis=1) == codes
    ).mean()


def test_stacking_ignores_noise_and_calibrates() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 900)
    scores = np.eye(3)[codes] + rng.normal(size=(900, 3))  # log-odds of a Gaussian model with variance 1
    stack = fit_stack([scores, rng.normal(size=(900, 3))], np.eye(3)[codes], np.ones(900))
    assert stack.scales[0] == pytest.approx(1.0, abs=0.15)
    assert stack.scales[1] < 0.1
    assert np.abs(stack.offsets).max() < 0.2


def test_targets_are_the_labels_as_judged() -> None:
    verdict = Verdict(
        ids=np.arange(3), labels=np.array(["a", "a", "b"]), score=np.zeros(3), p_clean=np.array([0.9, 0.2, 0.6]),
        flagged=np.array([False, True, False]), suggested=np.array(["a", "b", "b"]),
        suggested_confidence=np.array([0.9, 0.7, 0.6]),
    )  # fmt: skip
    targets = JudgedLabels.of(verdict, np.array(["a", "b"]))
    shares, weight = targets.soft()
    np.testing.assert_allclose(shares, [[1.0, 0.0], [2 / 9, 7 / 9], [0.0, 1.0]])
    np.testing.assert_allclose(weight, [0.9, 0.9, 0.6])
    trusted = JudgedLabels.of(verdict, np.array(["a", "b"]), np.array([False, True, True]))
    np.testing.assert_allclose(trusted.soft()[0], [[1, 0], [1, 0], [0, 1]])
    np.testing.assert_allclose(trusted.weight, [0.9, 1, 1])


def test_labels_are_judged_again_by_the_theorem_of_bayes() -> None:
    rng = np.random.default_rng(0)
    given, codes = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 0])
    weight = np.array([0.9, 0.6, 0.7, 0.8, 1.0, 0.9])
    given_weight = np.array([0.9, 0.6, 0.3, 0.8, 1.0, 0.1])  # the fifth label was confirmed by people
    first = JudgedLabels(codes, weight, given, given_weight, 2)
    probabilities = rng.dirichlet([1, 1], 6)
    probabilities[4] = [1 - 1e-9, 1e-9]
    again = first.reconsidered(probabilities)
    shares, of_row = first.soft()
    for row in range(6):
        posterior = np.empty(2)
        for right in range(2):
            of_class = sum(of_row[other] * shares[other, right] for other in range(6))
            both = sum(of_row[other] * shares[other, right] for other in range(6) if given[other] == given[row])
            posterior[right] = probabilities[row, right] * both / of_class
        posterior /= posterior.sum()
        if row == 4:
            assert again.codes[row] == 1 and again.weight[row] == again.given_weight[row] == 1.0
            continue
        assert again.codes[row] == posterior.argmax()
        assert again.weight[row] == pytest.approx(posterior.max(), abs=2e-3)
        assert again.given_weight[row] == pytest.approx(posterior[given[row]], abs=2e-3)
    assert again.given is given


def test_several_heads_are_fitted_again_to_labels_that_they_judged(rows: Any) -> None:
    features, codes, weight = rows
    given = np.where(np.arange(60) % 10 == 0, (codes + 1) % 3, codes)
    first = JudgedLabels(codes, weight, given, np.where(codes == given, weight, 0.0), 3)
    heads = ["linear", "trees"]
    again = first.reconsidered(_fit_heads(features, first, heads, 0).left_out)
    shares, of_row = again.soft()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)  # probabilities of all classes
    np.testing.assert_array_equal(of_row, 1.0)
    expected = _fit_heads(features, again, heads, 0)
    fitted = fit_probe(features, first, heads)
    np.testing.assert_allclose(fitted.left_out, expected.left_out)
    np.testing.assert_allclose(fitted.model.predict_proba(features), expected.model.predict_proba(features))
    once, alone = (fit(features, first, ["linear"], 0).left_out for fit in (_fit_heads, fit_probe))
    np.testing.assert_array_equal(once, alone)  # one head is fitted once


def test_large_forests_have_larger_leaves(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    features, codes, weight = rows
    pure = fit_forest(features, codes, weight, 3, seed=0).head
    assert ((pure.value == 0) | (pure.value == 1))[pure.feature < 0].all()
    monkeypatch.setattr(trees_module, "MAX_PURE_CELLS", 179)
    small = fit_forest(features, codes, weight, 3, seed=0).head
    assert len(small.feature) < len(pure.feature)


def test_a_detector_says_how_the_probe_uses_it_and_the_user_may_say_otherwise() -> None:
    assert Probe().make_detector().get_params()["views"] == "linear,kernel"
    assert Probe(options={"views": "linear"}).make_detector().get_params()["views"] == "linear"
    assert Probe(detector="fine").make_detector().get_params() == detector("fine").get_params()


def test_it_is_a_recipe_and_a_value() -> None:
    assert recipe("probe") == Probe()
    assert recipe("probe", heads="trees").heads == "trees"
    assert recipe_names()[0] == "probe"
    changed = recipe("probe", detector="knn", k=7)
    assert Probe.from_dict(json.loads(json.dumps(changed.to_dict()))) == changed != Probe()
    assert hash(changed) == hash(recipe("probe", detector="knn", k=7))
    assert Probe().with_selector("fine") == Probe(detector="fine")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"detector": "jugde"}, "did you mean 'judge'"),
        ({"detector": "judge", "veiws": 1}, "did you mean 'views'"),
        ({"heads": "linear,tree"}, "head must be one of"),
        ({"views": "probabilities"}, "the detector must judge features, but judge needs probabilities"),
    ],
)
def test_wrong_options_are_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidOption, match=sentence):
        recipe("probe", **options)


def test_the_judge_helps_and_the_model_comes_back_from_its_files(data: Any, tmp_path: Path) -> None:
    X, y = data
    model = RobustClassifier("probe").fit(X, y, validation=(X, y), test=(X[9:], y[9:]))
    assert model.classes_.tolist() == CLASSES.tolist()
    assert model.history_[0]["test_accuracy"] == model.score(X[9:], y[9:]) > 0.95
    assert model.history_[0]["val_accuracy"] == model.score(X, y)
    assert set(np.flatnonzero(model.verdict_.flagged)) >= set(range(9))
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    model.save(tmp_path, seconds=1)
    back = RobustClassifier.load(tmp_path)
    assert np.array_equal(back.predict_proba(X), p)
    assert np.array_equal(back.predict(X), model.predict(X))
    assert back.recipe_ == model.recipe_
    assert back.verdict_.n_flagged == model.verdict_.n_flagged
    with pytest.raises(InvalidData, match="features, but RobustClassifier is expecting"):
        back.predict(X[:, 1:])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "manifest.json", "model.json", "model.npz", "summary.json", "verdict.parquet"
    ]  # fmt: skip


@pytest.mark.parametrize("heads", ["linear", "kernel", "trees", "linear,kernel,trees"])
def test_every_head_is_saved_and_read(heads: str, rows: Any) -> None:
    features, codes, weight = rows
    fit = fit_probe(features, judged(codes, weight), tuple(heads.split(",")))
    record, arrays = fit.model.to_arrays()
    back = ProbeModel.from_arrays(json.loads(json.dumps(record)), arrays, 3)
    assert np.array_equal(back.predict_proba(features), fit.model.predict_proba(features))
    assert (fit.left_out.argmax(axis=1) == codes).mean() > 0.6
    assert fit.model.describe()


def test_a_model_of_hashed_columns_is_refused_when_numpy_draws_other_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    features, codes = rng.standard_normal((30, 2100)), np.arange(30) % 3
    model = fit_probe(features, judged(codes, np.ones(30)), ("linear",)).model
    record, arrays = model.to_arrays()
    back = ProbeModel.from_arrays(record, arrays, 3)
    assert np.array_equal(back.predict_proba(features), model.predict_proba(features))
    monkeypatch.setattr(np.random, "default_rng", lambda seed: np.random.Generator(np.random.MT19937(seed)))
    with pytest.raises(InvalidData, match="which differ from those of the version with which this model was saved"):
        ProbeModel.from_arrays(record, arrays, 3)
    old = {name: array for name, array in arrays.items() if name != "hashed_example"}  # of an earlier version
    assert ProbeModel.from_arrays(record, old, 3).n_columns == 2100


def test_trusted_labels_are_learned_whatever_the_detector_says(data: Any) -> None:
    X, y = data
    free = RobustClassifier(QUICK).fit(X, y)
    mask = np.zeros(len(y), dtype=bool)
    mask[:9] = True
    bound = RobustClassifier(QUICK).fit(X, y, trusted=mask)
    assert bound.history_[0]["kept_fraction"] > free.history_[0]["kept_fraction"]
    assert np.abs(bound.predict_proba(X) - free.predict_proba(X)).max() > 0.01


class Recorder(RandomForestClassifier):
    """Remembers what it was trained on."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.seen_ = (y, sample_weight)
        return super().fit(X, y, sample_weight)


def test_any_classifier_learns_judged_labels_with_their_probabilities(data: Any, tmp_path: Path) -> None:
    X, y = data
    estimator = Recorder(10, random_state=0)
    model = RobustClassifier(estimator=estimator, selector="knn").fit(X, y)
    assert not hasattr(estimator, "classes_")  # a copy was fitted
    labels, weight = model.model_.estimator.seen_  # type: ignore[attr-defined]
    assert np.array_equal(CLASSES[labels], model.verdict_.suggested)
    np.testing.assert_allclose(weight, np.maximum(model.verdict_.suggested_confidence, 1e-3))
    assert model.score(X[9:], y[9:]) > 0.95
    assert np.array_equal(CLASSES[model.predict_proba(X).argmax(axis=1)], model.predict(X))
    with pytest.raises(InvalidOption, match="Recorder can only be saved with pickle, which is not done here"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    assert clone(model).estimator.n_estimators == 10


def test_a_classifier_without_weights_learns_the_labels_that_are_probably_right(data: Any) -> None:
    X, y = data
    model = RobustClassifier(estimator=KNeighborsClassifier(3), selector="knn").fit(X, y)
    n_learned = model.model_.estimator.n_samples_fit_  # type: ignore[attr-defined]
    assert n_learned == (model.verdict_.suggested_confidence > 0.5).sum()
    assert model.score(X[9:], y[9:]) > 0.95
    machine = RobustClassifier(estimator=LinearSVC(), selector="knn").fit(X, y)
    assert machine.score(X[9:], y[9:]) > 0.95
    with pytest.raises(InvalidOption, match="LinearSVC has no predict_proba; wrap it in"):
        machine.predict_proba(X)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"estimator": LinearRegression()}, "estimator must be a scikit-learn classifier"),
        ({"estimator": RandomForestClassifier}, "estimator must be a scikit-learn classifier"),
        (
            {"recipe": "fine", "estimator": KNeighborsClassifier()},
            "estimator is for the recipe probe, and fine trains",
        ),
        ({"recipe": "probe", "net": "mlp"}, "net is for recipes that train a network"),
        ({"recipe": "probe", "epochs": 3}, "epochs is for recipes that train a network"),
        ({"recipe": "prob"}, "did you mean 'probe'"),
        ({"validation_fraction": 1.0}, "validation_fraction must be from 0 to below 1"),
    ],
)
def test_options_that_do_not_go_together_are_one_sentence(
    options: dict[str, Any], sentence: str, data: Any
) -> None:
    with pytest.raises(InvalidOption, match=sentence):
        RobustClassifier(**options).fit(*data)


def test_images_are_refused_with_what_to_do() -> None:
    with pytest.raises(InvalidData, match="probe needs features, got images; embed them first, or take a recipe"):
        RobustClassifier("probe").fit(np.zeros((4, 8, 8), dtype=np.float32), [0, 0, 1, 1])


def forge(folder: Path, data: bytes | None = None, **changes: Any) -> None:
    """Change a saved model as somebody would who also forges the hashes."""
    path = folder / "model.json"
    if data is not None:
        (folder / "model.npz").write_bytes(data)
        changes["weights"] = digest(data)
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    (folder / "manifest.json").unlink(missing_ok=True)


def archive(compression: int = zipfile.ZIP_STORED, **contents: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as target:
        for name, content in contents.items():
            target.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def npy(array: Any, header: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), version=(1, 0))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"no archive",
        archive(a=npy(np.array([{}], dtype=object))),
        archive(zipfile.ZIP_DEFLATED, a=npy(np.zeros(100_000))),
        archive(a=npy(np.zeros(9)).replace(b"(9,)", b"(9999999999999,)").replace(b"  ", b"", 6)),
        archive(a=npy(np.zeros(2))),
    ],
)
def test_foreign_arrays_are_refused_in_one_sentence(content: bytes, data_folder: Path) -> None:
    forge(data_folder, content)
    with pytest.raises(InvalidData, match=r"model\.(npz|json) is not a"):
        RobustClassifier.load(data_folder)


@pytest.fixture
def data_folder(data: Any, tmp_path: Path) -> Path:
    RobustClassifier(Probe(detector="knn", heads="trees")).fit(*data).save(tmp_path / "model")
    return tmp_path / "model"


def test_foreign_records_are_refused_in_one_sentence(data_folder: Path) -> None:
    record = json.loads((data_folder / "model.json").read_text())
    with np.load(data_folder / "model.npz") as arrays:
        values = dict(arrays)
    values["trees.left"] = np.zeros_like(values["trees.left"])  # every node leads back to the root
    buffer = io.BytesIO()
    np.savez(buffer, **values)
    forge(data_folder, buffer.getvalue())
    with pytest.raises(InvalidData, match="nodes of its trees do not fit together"):
        RobustClassifier.load(data_folder)
    changes: dict[str, Any]
    for changes in (
        {"classes": ["a"]},
        {"model": {}},
        {"model": {**record["model"], "heads": [{"name": 1}]}},
        {"recipe": 3},
    ):
        forge(data_folder, **{**record, **changes})
        with pytest.raises((InvalidData, InvalidOption)):
            RobustClassifier.load(data_folder)
    (data_folder / "model.npz").write_bytes(b"x")
    forge(data_folder, **record)
    with pytest.raises(InvalidData, match="does not belong to"):
        RobustClassifier.load(data_folder)
