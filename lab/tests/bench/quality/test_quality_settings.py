"""The settings of `bench quality`: what their names say is what a detector gets."""

from pathlib import Path

import numpy as np
import pytest

from eigenclean.errors import InvalidOption
from eigenclean.noise import Noise, corrupt
from eigenclean_lab.bench.quality.data import DATA, HALVES
from eigenclean_lab.bench.quality.noise import Boundary, OneClass
from eigenclean_lab.bench.quality.settings import SETTINGS, parse_setting
from eigenclean_lab.bench.quality.subsets import most_confused, stratified, thinned

PLAIN = [name for name, setting in SETTINGS.items() if not setting.learned and setting.model is None]


def test_settings_of_earlier_versions_are_still_there() -> None:
    cifar = [f"sym-{rate}" for rate in (0, 2, 20, 50, 80)] + ["asym-40", "instance-40"]
    cifar += [f"human-{which}" for which in ("aggre", "rand1", "worst")]
    trained = [f"sym-{rate}" for rate in (0, 20, 50, 80)]
    assert set(SETTINGS) >= {
        *(f"cifar10/{name}" for name in cifar),
        *("cifar10-10to1/sym-20", "cifar10-10to1/sym-50"),
        *(f"cifar10-net/{name}" for name in (*trained, "asym-40")),
        *("banking77/sym-20", "banking77/sym-50"),
        *(f"{data}/{name}" for data in ("fashion", "fashion-net") for name in (*trained, "pair-40")),
        *(f"{data}/sym-{rate}" for data in ("digits", "digits-net") for rate in (0, 20, 50)),
    }


def test_a_name_says_it_all() -> None:
    setting = parse_setting("cifar10-dev-50to1-3000-net40/uniform-20")
    assert (setting.data, setting.ratio, setting.n_rows, setting.epochs) == ("cifar10-dev", 50, 3000, 40)
    assert setting.noise is not None and not isinstance(setting.noise, str) and setting.noise.nominal_rate == 0.2
    assert parse_setting("Vehicle-2classes-boosting/boundary-15").noise == Boundary(0.15)
    assert parse_setting("digits/oneclass-40").noise == OneClass(0.4)
    assert parse_setting("cifar10-conf/human-rand2").noise == "rand2"
    assert parse_setting("digits/clean") == parse_setting("digits/sym-0")
    with pytest.raises(InvalidOption, match="the setting 'cifar11/clean' names no data"):
        parse_setting("cifar11/clean")


def test_every_setting_has_a_half_and_a_family() -> None:
    for half in HALVES[:2]:
        families = {setting.family for setting in SETTINGS.values() if setting.half == half}
        assert families == {"tables", "pixels", "texts", "features", "network", "probabilities"}
        noises = {name.split("/")[1].split("-")[0] for name, setting in SETTINGS.items() if setting.half == half}
        assert noises >= {"clean", "uniform", "pair", "oneclass", "boundary", "instance", "human"}
        used = {setting.data for setting in SETTINGS.values() if setting.half == half}
        assert used == {name for name, data in DATA.items() if data.half == half}
    assert SETTINGS["cifar10/human-worst"].half == SETTINGS["fashion-net/sym-20"].half == "earlier"
    assert SETTINGS["fashion/sym-20"].half == "development"


@pytest.mark.parametrize("group", sorted({name.split("/")[0] for name in PLAIN}))
def test_every_setting_makes_labels_with_known_truth(group: str, files: Path) -> None:
    for name in [name for name in PLAIN if name.split("/")[0] == group]:
        setting = SETTINGS[name]
        case, again = setting.make(files, seed=1), setting.make(files, seed=1)
        np.testing.assert_array_equal(case.labels, again.labels)
        np.testing.assert_array_equal(case.features, again.features)
        assert len(case.features) == len(case.labels) == len(case.truth)
        assert case.features.dtype == np.float32
        rate = case.truth.noise_rate(case.labels)
        nominal = 0.0 if setting.noise is None else 0.1
        if isinstance(setting.noise, Noise) and setting.noise.nominal_rate is not None:
            nominal = setting.noise.nominal_rate
        if nominal == 0:
            assert rate == 0
        else:
            assert 0.25 * nominal < rate < 4.5 * nominal
        if not setting.seeded:
            np.testing.assert_array_equal(setting.make(files, seed=2).labels, case.labels)


def test_imbalance_is_exponential_ten_to_one() -> None:
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 500))
    rows = thinned(labels, 10, seed=3)
    sizes = np.bincount(labels[rows])
    assert sizes[0] == 500 and sizes[-1] == 50
    np.testing.assert_allclose(np.diff(np.log(sizes)), -np.log(10) / 9, atol=0.02)
    assert (np.diff(rows) > 0).all()  # each row once


def test_subsets_keep_the_shares_of_the_classes() -> None:
    labels = np.random.default_rng(0).permutation(np.repeat(["a", "b", "c"], [600, 300, 100]))
    rows = stratified(labels, 200, seed=1)
    assert [int((labels[rows] == name).sum()) for name in "abc"] == [120, 60, 20]
    assert (np.diff(rows) > 0).all() and (rows != stratified(labels, 200, seed=2)).any()
    assert set(labels[stratified(labels, 70, seed=1)]) == {"a", "b"}  # seven rows of a class are too few
    np.testing.assert_array_equal(stratified(labels, 5000, seed=1), np.arange(1000))


def test_the_two_classes_that_are_most_alike() -> None:
    rng = np.random.default_rng(0)
    labels = np.array([10, 20, 30, 40] * 50)
    features = rng.normal(size=(200, 2)) + np.array([[0, 0], [9, 0], [0, 9], [1, 9]] * 50)
    assert set(labels[most_confused(features, labels)]) == {30, 40}


def test_errors_at_the_boundary() -> None:
    """On a line, the labels that change are those next to the other class, and they get its label."""
    right = np.repeat([0, 1, 2], 100)
    features = np.arange(300.0)[:, None]
    noisy = corrupt(right, Boundary(0.04), features=features, random_state=0)
    changed = np.flatnonzero(noisy.labels != right)
    assert len(changed) == 12
    assert (np.minimum(np.abs(changed - 99.5), np.abs(changed - 199.5)) < 5).all()
    assert all(abs(int(noisy.labels[row]) - int(right[row])) == 1 for row in changed)
    # Far from any boundary the class with the nearest mean is taken.
    apart = corrupt(right, Boundary(1.0), features=features + 1000 * right[:, None], random_state=0).labels
    np.testing.assert_array_equal(apart[:100], 1)
    np.testing.assert_array_equal(apart[250:], 1)
    assert not (apart == right).any()


def test_one_class_is_noisy() -> None:
    right = np.repeat(["a", "b", "c"], [50, 100, 50])
    noisy = corrupt(right, OneClass(0.4), random_state=0).labels
    changed = noisy != right
    assert changed.sum() == 40 and set(right[changed]) == {"b"} and set(noisy[changed]) == {"a", "c"}


@pytest.mark.slow
@pytest.mark.parametrize("data", ["cifar10-net", "fashion-net", "digits-net"])
def test_networks_learn_the_noisy_labels(data: str, files: Path) -> None:
    noisy, pixels = SETTINGS[f"{data}/sym-50"], SETTINGS[f"{data.removesuffix('-net')}/sym-50"]
    case, plain, other = noisy.make(files, 0), pixels.make(files, 0), noisy.make(files, 1)
    np.testing.assert_array_equal(case.labels, plain.labels)
    assert case.features.shape == (len(plain.features), 128)
    assert (case.features >= 0).all() and case.features.std() > 0
    assert not np.array_equal(case.features, other.features)
    # Never the right labels: given these, it is another network.
    clean = SETTINGS[f"{data}/sym-0"].make(files, 0)
    assert not np.allclose(case.features, clean.features)


def test_more_epochs_are_another_network(files: Path) -> None:
    few, many = (SETTINGS[f"cifar10-dev-net{epochs}/uniform-50"].make(files, 0) for epochs in (3, 10))
    np.testing.assert_array_equal(few.labels, many.labels)
    assert few.learned and not np.allclose(few.features, many.features)


def test_probabilities_are_out_of_fold(files: Path) -> None:
    case = SETTINGS["Vehicle-logistic/uniform-20"].make(files, 0)
    assert case.probabilities is not None and case.probabilities.shape == (120, 3)
    np.testing.assert_allclose(case.probabilities.sum(axis=1), 1)
    predicted = np.unique(case.labels)[case.probabilities.argmax(axis=1)]
    assert (predicted == case.truth.labels).mean() > 0.8 > (predicted == case.labels).mean()
