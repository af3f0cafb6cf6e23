"""Peers of the judge in `bench quality`: cleanlab's rules on the same out-of-fold probabilities."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenclean.arrays import encode_labels
from eigenclean.detect import DEFAULT, DETECTORS
from eigenclean.errors import InvalidOption
from eigenclean.verdict import Verdict
from eigenclean_lab.bench.quality import contenders as contenders_module
from eigenclean_lab.bench.quality import peers
from eigenclean_lab.bench.quality.contenders import COMPARED, contenders, judge_with_detector
from eigenclean_lab.bench.quality.measure import hits, interval_figures, measure
from eigenclean_lab.bench.quality.peers import PEERS, judge_with_peer
from eigenclean_lab.bench.quality.probabilities import MODELS, out_of_fold
from eigenclean_lab.bench.quality.settings import SETTINGS
from eigenclean_lab.bench.quality.suite import run
from eigenclean_lab.store import MissingData


def test_probabilities_come_from_models_that_have_not_seen_the_row() -> None:
    """A model that memorises its rows would know every label; out of fold it knows none of these."""
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(200, 3)), rng.integers(4, size=200)
    for model in ("trees", "logistic"):
        P = out_of_fold(model, X, codes, seed=0)
        np.testing.assert_allclose(P.sum(axis=1), 1)
        assert (P.argmax(axis=1) == codes).mean() < 0.4
    np.testing.assert_array_equal(out_of_fold("trees", X, codes, seed=0), out_of_fold("trees", X, codes, seed=0))


def test_a_class_that_a_model_has_not_met_has_probability_0() -> None:
    X = np.arange(40.0)[:, None]
    codes = np.where(np.arange(40) == 7, 2, np.arange(40) // 20)
    P = out_of_fold("logistic", X, codes, seed=0)
    assert P.shape == (40, 3) and P[7, 2] == 0 and P[7, 0] > 0.5


@pytest.mark.parametrize("model", MODELS)
def test_every_model_learns(model: str) -> None:
    case = SETTINGS["iris/clean"].make(None, 0)
    codes = encode_labels(case.labels)[1]
    assert (out_of_fold(model, case.features, codes, seed=0).argmax(axis=1) == codes).mean() > 0.7


def test_rules_are_those_of_cleanlab() -> None:
    filtering: Any = import_module("cleanlab.filter")
    case = SETTINGS["iris/uniform-20"].make(None, 0)
    classes, codes = encode_labels(case.labels)
    P = out_of_fold("logistic", case.features, codes, seed=0)
    for rule, name in (("prune", "prune_by_noise_rate"), ("confident", "confident_learning")):
        verdict, _ = judge_with_peer(f"logistic-{rule}", case, 0)
        np.testing.assert_array_equal(verdict.flagged, filtering.find_label_issues(codes, P, filter_by=name))
    verdict, _ = judge_with_peer("logistic-argmax", case, 0)
    np.testing.assert_array_equal(verdict.flagged, P.argmax(axis=1) != codes)
    np.testing.assert_array_equal(verdict.score, P[np.arange(150), codes])
    np.testing.assert_array_equal(verdict.suggested != case.labels, verdict.flagged)
    np.testing.assert_array_equal(verdict.suggested[verdict.flagged], classes[P.argmax(axis=1)][verdict.flagged])
    assert verdict.flagged[case.labels != case.truth.labels].mean() > 0.7


def test_a_model_is_fitted_once_for_its_rules_and_its_time_counts_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    case, calls = SETTINGS["iris/uniform-20"].make(None, 0), []

    def counted(model: str, *args: Any, **options: Any) -> Any:
        calls.append(model)
        return out_of_fold(model, *args, **options)

    monkeypatch.setattr(peers, "out_of_fold", counted)
    times = [measure(f"logistic-{rule}", case)["seconds"] for rule in ("argmax", "prune", "argmax")]
    assert calls == ["logistic"]
    fitting = case.fitted["logistic"][1]
    assert all(seconds is not None and seconds >= fitting for seconds in times)


def test_who_takes_part_where() -> None:
    table = contenders(SETTINGS["iris/clean"], None)
    assert table == [name for name in COMPARED if not name.startswith("given")]
    assert "trees-prune" in table and "boosting-confident" in table
    pixels = contenders(SETTINGS["digits/sym-0"], None)
    assert "logistic-argmax" in pixels and not any(name.startswith(("trees", "boosting")) for name in pixels)
    given = contenders(SETTINGS["Vehicle-boosting/clean"], None)
    assert given == [DEFAULT, "given-prune", "given-confident", "given-argmax"]
    assert contenders(SETTINGS["cifar10/sym-20"], None) == [*DETECTORS, "cleanlab-knn"]
    assert contenders(SETTINGS["Vehicle-boosting/clean"], ["fine", "trees-argmax"]) == []
    assert contenders(SETTINGS["iris/clean"], ["mcd", "mcd", "given-prune"]) == ["mcd"]


def test_peers_on_given_probabilities_do_not_fit_a_model(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = SETTINGS["Vehicle-logistic/uniform-20"].make(files, 0)
    assert case.probabilities is not None
    monkeypatch.setattr(peers, "out_of_fold", None)
    codes = encode_labels(case.labels)[1]
    verdict, seconds = judge_with_peer("given-argmax", case, 0)
    np.testing.assert_array_equal(verdict.flagged, case.probabilities.argmax(axis=1) != codes)
    assert seconds == 0


def test_the_judge_gets_the_probabilities(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = SETTINGS["Vehicle-logistic/uniform-20"].make(files, 0)
    given: dict[str, Any] = {}

    class Judge:
        def fit_judge(self, P: Any, y: Any) -> str:
            given.update(P=P, y=y)
            return "verdict"

    def build(name: str, options: Any, seed: int) -> Judge:
        given.update(name=name, options=options, seed=seed)
        return Judge()

    monkeypatch.setattr(contenders_module, "build_detector", build)
    assert judge_with_detector(DEFAULT, case, 3)[0] == "verdict"  # type: ignore[comparison-overlap]
    assert given["P"] is case.probabilities and given["y"] is case.labels
    assert (given["name"], given["options"], given["seed"]) == ("judge", {"views": "probabilities"}, 3)


def test_a_judge_that_takes_no_probabilities_is_marked(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, options: Any, seed: int) -> None:
        raise InvalidOption("judge has no option views")

    monkeypatch.setattr(contenders_module, "build_detector", refuse)
    with pytest.raises(MissingData, match="needs a judge that takes probabilities"):
        judge_with_detector(DEFAULT, SETTINGS["Vehicle-logistic/clean"].make(files, 0), 0)
    (cell,) = run(detectors=["judge"], settings="Vehicle-logistic/clean", seeds=1, data=files)
    assert cell.status == "missing"


def test_cells_say_their_half_family_and_size() -> None:
    cells = run(settings=["iris/uniform-20", "wine/clean", "digits/sym-0"], half="development", seeds=1,
                detectors=["logistic-argmax", "knn"])  # fmt: skip
    assert [cell.task["setting"] for cell in cells] == ["digits/sym-0"] * 2 + ["iris/uniform-20"] * 2
    assert all(cell.facts["half"] == "development" and cell.is_measured for cell in cells)
    assert [cell.facts["family"] for cell in cells] == ["pixels"] * 2 + ["tables"] * 2
    assert (cells[-1].facts["rows"], cells[-1].facts["classes"]) == (150, 3)
    with pytest.raises(InvalidOption, match="did you mean 'development'"):
        run(half="develop")


def verdict_of(p_clean: list[float], **made_by: Any) -> Verdict:
    p, labels = np.array(p_clean), np.zeros(len(p_clean), dtype=int)
    return Verdict(labels, labels, p, p, p < 0.5, labels, p, {"method": "x", "parameters": {}, **made_by})


def test_hits_among_the_most_doubtful() -> None:
    p = np.linspace(0, 1, 300).tolist()
    is_clean = np.arange(300) % 2 == 0
    assert hits(verdict_of(p), is_clean) == 50
    assert hits(verdict_of(p), np.arange(300) >= 30) == 30
    assert hits(verdict_of(p), np.ones(300, dtype=bool)) is None


def test_the_interval_of_the_report_holds_what_the_detector_left_open() -> None:
    verdict = verdict_of([0.02] * 20 + [0.98] * 80, noise_rate_range=[0.3, 0.5])
    wide = interval_figures(verdict, 0.45)
    assert wide["rate_in_interval"] == 1.0 and wide["interval_width"] == pytest.approx(0.35, abs=0.02)
    assert interval_figures(verdict, 0.55)["rate_in_interval"] == 0.0
    usual = interval_figures(replace(verdict, made_by="x"), 0.2)
    assert usual["rate_in_interval"] == 1.0 and usual["interval_width"] == pytest.approx(0.14, abs=0.02)


def test_out_of_fold_logistic_regression_is_scikit_learns() -> None:
    """Against one fit by hand for the rows of one fold."""
    from sklearn.model_selection import StratifiedKFold

    case = SETTINGS["wine/uniform-20"].make(None, 0)
    codes = encode_labels(case.labels)[1]
    fitted, held_out = next(iter(StratifiedKFold(5, shuffle=True, random_state=4).split(codes, codes)))
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=100)).fit(
        case.features[fitted], codes[fitted]
    )
    P = out_of_fold("logistic", case.features, codes, seed=4)
    np.testing.assert_allclose(P[held_out], model.predict_proba(case.features[held_out]), atol=1e-6)


def test_names_of_peers() -> None:
    assert set(PEERS) == {
        f"{model}-{rule}" for model in ("logistic", "trees", "boosting", "given")
        for rule in ("prune", "confident", "argmax")
    }  # fmt: skip
    assert not set(PEERS) & set(DETECTORS)
