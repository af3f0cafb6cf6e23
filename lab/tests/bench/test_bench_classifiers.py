"""`bench train` without networks: the probe and classifiers are measured as their users run them."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.ensemble import ExtraTreesClassifier

from eigenclean.noise import corrupt, make_noise
from eigenclean.train import RECIPES, RobustClassifier
from eigenclean_lab.bench.training import contenders as table
from eigenclean_lab.bench.training.classifying import measure_classifier
from eigenclean_lab.bench.training.contenders import CLASSIFIERS, NAMES, contenders, describe
from eigenclean_lab.bench.training.measure import FIGURES
from eigenclean_lab.bench.training.settings import SETTINGS, TrainingCase
from eigenclean_lab.bench.training.suite import TrainingSuite
from eigenclean_lab.components import component_modules


@pytest.fixture(scope="module")
def case() -> TrainingCase:
    """Four classes that are far apart, a fifth of their labels drawn at random."""
    X, y = make_blobs(400, n_features=6, centers=4, cluster_std=2.0, random_state=0)[:2]
    names = np.array(["a", "b", "c", "d"])[y]
    noisy = corrupt(names[:240], make_noise("symmetric", 0.2), random_state=0)
    inputs = X.astype(np.float32)
    return TrainingCase(inputs[:240], noisy.labels, noisy.truth, (inputs[240:], names[240:]), "mlp")


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(seed: int) -> Any:
        return ExtraTreesClassifier(n_estimators=10, random_state=seed)

    monkeypatch.setitem(table.MODELS, "trees", make)


def f_of(kept: Any, case: TrainingCase) -> float:
    right = case.truth.is_clean(case.labels)
    return float(2 * (kept & right).sum() / (kept.sum() + right.sum()))


def test_a_classifier_alone_keeps_all(case: TrainingCase) -> None:
    figures = measure_classifier("trees", case, seed=3)
    model = ExtraTreesClassifier(n_estimators=10, random_state=3).fit(case.inputs, case.labels)
    assert figures["last"] == figures["best"] == pytest.approx(model.score(*case.test))
    assert figures["kept"] == 1 and figures["f"] == pytest.approx(f_of(np.ones(240, dtype=bool), case))
    assert tuple(figures) == FIGURES and figures["seconds"] > 0
    assert figures["noise_rate"] == pytest.approx(case.truth.noise_rate(case.labels))


def test_cleanlearning_is_that_of_cleanlab(case: TrainingCase) -> None:
    CleanLearning = pytest.importorskip("cleanlab.classification").CleanLearning
    figures = measure_classifier("trees+cleanlearning", case, seed=3)
    classes, codes = np.unique(case.labels, return_inverse=True)
    model = CleanLearning(ExtraTreesClassifier(n_estimators=10, random_state=3), seed=3, verbose=False)
    model.fit(case.inputs, codes)
    kept = ~model.get_label_issues()["is_label_issue"].to_numpy()
    assert figures["last"] == pytest.approx((classes[model.predict(case.test[0])] == case.test[1]).mean())
    assert figures["kept"] == pytest.approx(kept.mean()) and figures["f"] == pytest.approx(f_of(kept, case))


def test_the_probe_and_a_classifier_on_judged_labels(case: TrainingCase) -> None:
    probe, judged = (measure_classifier(name, case, seed=3) for name in ("probe", "trees+judge"))
    model = RobustClassifier(estimator=ExtraTreesClassifier(n_estimators=10, random_state=3), random_state=3)
    model.fit(case.inputs, case.labels)
    assert judged["last"] == pytest.approx(model.score(*case.test))
    assert probe["kept"] == judged["kept"] == pytest.approx(1 - model.verdict_.flagged.mean())
    assert probe["f"] == judged["f"] == pytest.approx(f_of(~model.verdict_.flagged, case))
    assert probe["last"] > 0.9


def test_who_takes_part() -> None:
    images, features, rows = (SETTINGS[name] for name in ("fashion/sym-50", "cifar10/sym-50", "DNA/sym-20"))
    networks = [name for name in RECIPES if name != "finetune"]  # which needs a pretrained network
    assert contenders(images, NAMES) == networks
    logistic = [name for name in CLASSIFIERS if name.startswith("logistic")]
    assert contenders(features, NAMES) == [*networks, "probe", *logistic]
    assert contenders(rows, NAMES) == [*networks, "probe", *CLASSIFIERS] and len(CLASSIFIERS) == 9


def test_cells_without_a_network_depend_on_the_judge_where_they_use_it() -> None:
    requests = {name: TrainingSuite().new_request(name, SETTINGS["DNA/sym-20"], 0) for name in NAMES}
    assert len({request.key for request in requests.values()}) == len(NAMES)
    assert any(".detect.judge" in module for module in component_modules(describe("trees+judge")))
    assert not component_modules(describe("trees+cleanlearning"))
