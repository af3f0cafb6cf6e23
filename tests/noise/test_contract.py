"""What holds for every noise: one suite over the whole table."""

import dataclasses
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenclean.arrays import Array
from eigenclean.errors import InvalidOption
from eigenclean.noise import NOISES, Noise, add_noise, corrupt, make_noise

N, K = 600, 10
LABELS = np.random.default_rng(7).permutation(np.arange(N) % K)
FEATURES = np.random.default_rng(8).standard_normal((N, 6))
RANDOM = sorted(set(NOISES) - {"human"})  # people made their mistakes once and for all


@pytest.fixture(scope="module")
def human_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("human") / "labels.npz"
    np.savez(path, clean=LABELS, worst=np.where(np.arange(N) % 4 == 0, (LABELS + 3) % K, LABELS))
    return path


def options_of(kind: str, human_file: Path) -> dict[str, Any]:
    if kind == "transition":
        return {"matrix": np.full((K, K), 0.05) + np.eye(K) * 0.5}
    return {"path": human_file} if kind == "human" else {}


@pytest.fixture(params=sorted(NOISES))
def noise(request: pytest.FixtureRequest, human_file: Path) -> Noise:
    return make_noise(request.param, 0.4, **options_of(request.param, human_file))


def spoil(noise: Noise, labels: Array = LABELS, seed: int = 0) -> Array:
    return add_noise(labels, noise, random_state=seed, features=FEATURES)


@pytest.mark.parametrize("kind", sorted(NOISES))
def test_a_noise_knows_its_name_in_the_table(kind: str, human_file: Path) -> None:
    assert make_noise(kind, **options_of(kind, human_file)).name == kind


def test_some_labels_become_wrong_and_all_stay_within_the_classes(noise: Noise) -> None:
    noisy = spoil(noise)
    assert 0.1 < np.mean(noisy != LABELS) < 0.6
    assert set(noisy.tolist()) <= set(LABELS.tolist())


def test_the_inputs_stay_as_they_are(noise: Noise) -> None:
    labels, features = LABELS.copy(), FEATURES.copy()
    labels.flags.writeable = features.flags.writeable = False
    noisy = add_noise(labels, noise, features=features)
    assert noisy.flags.writeable
    assert not np.shares_memory(noisy, labels)
    np.testing.assert_array_equal(labels, LABELS)
    np.testing.assert_array_equal(features, FEATURES)


def test_no_noise_touches_the_codes_it_is_given(noise: Noise) -> None:
    codes = LABELS.copy()
    noise.apply(codes, np.arange(K), np.random.default_rng(0), FEATURES)
    np.testing.assert_array_equal(codes, LABELS)


def test_equal_seeds_equal_labels(noise: Noise) -> None:
    np.testing.assert_array_equal(spoil(noise, seed=3), spoil(noise, seed=3))


@pytest.mark.parametrize("kind", RANDOM)
def test_other_seeds_other_labels(kind: str, human_file: Path) -> None:
    noise = make_noise(kind, 0.4, **options_of(kind, human_file))
    assert (spoil(noise, seed=1) != spoil(noise, seed=2)).any()


def test_a_generator_moves_on(human_file: Path) -> None:
    rng = np.random.default_rng(0)
    first, second = (add_noise(LABELS, random_state=rng) for _ in range(2))
    assert (first != second).any()


def test_the_global_random_state_is_left_alone(noise: Noise) -> None:
    before = np.random.get_state(legacy=False)  # noqa: NPY002
    spoil(noise)
    after = np.random.get_state(legacy=False)  # noqa: NPY002
    assert str(before) == str(after)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int64", "uint64", "float32", "object", "<U5"])
def test_the_type_of_the_labels_is_kept(noise: Noise, dtype: str) -> None:
    labels = LABELS.astype(dtype)
    noisy = spoil(noise, labels)
    assert noisy.dtype == labels.dtype
    np.testing.assert_array_equal(noisy.astype(float), spoil(noise).astype(float))


def test_names_and_negative_numbers_are_spoiled_like_positions(noise: Noise) -> None:
    expected = spoil(noise)
    names = np.array([f"class {k}" for k in range(K)])
    np.testing.assert_array_equal(spoil(noise, names[LABELS]), names[expected])
    if noise.name != "human":  # whose file has numbers of its own
        np.testing.assert_array_equal(spoil(noise, LABELS * 7 - 30), expected * 7 - 30)


def test_a_noise_is_a_value(noise: Noise) -> None:
    options = {field.name: getattr(noise, field.name) for field in dataclasses.fields(noise)}
    again = type(noise)(**options)
    assert again == noise
    assert hash(again) == hash(noise)
    assert repr(again) == repr(noise)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(noise, next(iter(options)), None)


def test_the_record_tells_the_true_rate(noise: Noise) -> None:
    record = corrupt(LABELS, noise, features=FEATURES)
    assert record.noise is noise
    assert record.rate == noise.nominal_rate == getattr(noise, "rate", None)
    assert record.true_rate == pytest.approx(np.mean(record.labels != LABELS))
    np.testing.assert_array_equal(record.truth.labels, LABELS)
    assert f"{100 * record.true_rate:.1f} % of {N} labels are wrong" in repr(record)


@pytest.mark.parametrize("kind", ["symmetric", "asymmetric", "pair", "instance"])
def test_rate_zero_changes_nothing(kind: str) -> None:
    np.testing.assert_array_equal(add_noise(LABELS, kind, 0.0, features=FEATURES), LABELS)


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan"), float("inf"), "half", None, True])
@pytest.mark.parametrize("kind", ["symmetric", "asymmetric", "pair", "instance"])
def test_a_rate_is_a_share(kind: str, rate: Any) -> None:
    with pytest.raises(InvalidOption, match=f"{kind} noise: rate must be a number from 0 to 1"):
        add_noise(LABELS, kind, rate, features=FEATURES)


@pytest.mark.parametrize("kind", sorted(NOISES))
def test_no_option_hides_behind_an_argument(kind: str) -> None:
    taken = set(inspect.signature(add_noise).parameters) - {"rate"}
    assert not taken & {field.name for field in dataclasses.fields(NOISES[kind])}


@given(
    labels=st.lists(st.integers(-5, 5), min_size=2, max_size=60).filter(lambda values: len(set(values)) > 1),
    rate=st.floats(0, 1),
    kind=st.sampled_from(["symmetric", "pair", "instance"]),
    seed=st.integers(0, 2**32),
)
def test_any_labels_at_any_rate(labels: list[int], rate: float, kind: str, seed: int) -> None:
    features = np.arange(2.0 * len(labels)).reshape(-1, 2)
    noisy = add_noise(labels, kind, rate, random_state=seed, features=features)
    assert noisy.shape == (len(labels),)
    assert set(noisy.tolist()) <= set(labels)
    np.testing.assert_array_equal(noisy, add_noise(labels, kind, rate, random_state=seed, features=features))
    if kind == "symmetric":
        assert np.count_nonzero(noisy != labels) <= round(rate * len(labels))
