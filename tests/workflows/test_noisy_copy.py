"""A noisy copy: everything but the labels is the same, and the truth is only in its own file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eigenclean.errors import EigencleanError, InvalidOption
from eigenclean.noise import corrupt
from eigenclean.sources import MemorySource, open_source
from eigenclean.sources.images.source import ImageSource
from eigenclean.workflows import write_noisy_copy

N = 120


def make_source(**fields: Any) -> MemorySource:
    rng = np.random.default_rng(0)
    labels = np.array(["ant", "bee", "cat"])[np.arange(N) % 3]
    return MemorySource("mine", rng.normal(size=(N, 4)).astype(np.float32), labels, **fields)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rate=st.floats(0, 0.9), seed=st.integers(0, 99), kind=st.sampled_from(["symmetric", "pair"]))
def test_only_labels_change_and_the_record_counts_them(tmp_path: Path, rate: float, seed: int, kind: str) -> None:
    source = make_source(ids=np.arange(N) + 1000)
    record = write_noisy_copy(source, tmp_path / "noisy.npz", kind=kind, rate=rate, seed=seed)
    noisy, truth = open_source(record["out"]), np.load(record["truth"])
    np.testing.assert_array_equal(truth, source.labels)
    np.testing.assert_array_equal(noisy.features(), source.features())
    np.testing.assert_array_equal(noisy.ids, source.ids)
    assert record["n_samples"] == N
    assert record["true_rate"] == pytest.approx(np.mean(noisy.labels != truth))
    np.testing.assert_array_equal(noisy.labels, corrupt(source.labels, kind, rate, random_state=seed).labels)


def test_no_array_of_the_copy_is_the_truth(tmp_path: Path) -> None:
    source = make_source(texts=np.array([f"text {i}" for i in range(N)]))
    write_noisy_copy(source, tmp_path / "noisy.npz", kind="symmetric", rate=0.5, seed=0)
    with np.load(tmp_path / "noisy.npz") as arrays:
        assert set(arrays) == {"features", "labels", "ids", "texts"}
        assert all(not np.array_equal(array, source.labels) for array in arrays.values())
        np.testing.assert_array_equal(arrays["texts"], source.texts)


def test_images_without_features_stay_images(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 255, (N, 6, 6), dtype=np.uint8)
    source = ImageSource("mine", images, np.arange(N) % 3)
    write_noisy_copy(source, tmp_path / "noisy.npz", kind="symmetric", rate=0.2, seed=0)
    with np.load(tmp_path / "noisy.npz") as arrays:
        assert "features" not in arrays
        np.testing.assert_array_equal(arrays["images"], images)


def test_instance_dependent_noise_is_drawn_from_features_or_else_pixels(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 255, (N, 6, 6), dtype=np.uint8)
    labels = np.arange(N) % 3
    sources = {
        "pixels": ImageSource("mine", images, labels),
        "features": MemorySource("mine", images.reshape(N, -1), labels),
    }
    drawn = {}
    for name, source in sources.items():
        record = write_noisy_copy(source, tmp_path / f"{name}.npz", kind="instance", rate=0.3, seed=5)
        drawn[name] = np.load(record["out"])["labels"]
    np.testing.assert_array_equal(drawn["pixels"], drawn["features"])
    expected = corrupt(labels, "instance", 0.3, random_state=5, features=images.reshape(N, -1))
    np.testing.assert_array_equal(drawn["pixels"], expected.labels)


@pytest.mark.parametrize("name", ["noisy.npy", "noisy", "noisy.csv"])
def test_another_suffix_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidOption, match=r"--out must be an \.npz file"):
        write_noisy_copy(make_source(), tmp_path / name, kind="symmetric", rate=0.2, seed=0)
    assert list(tmp_path.iterdir()) == []


def test_a_mistake_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(EigencleanError):
        write_noisy_copy(make_source(), tmp_path / "noisy.npz", kind="symmetric", rate=1.5, seed=0)
    with pytest.raises(EigencleanError, match="symmetric"):
        write_noisy_copy(make_source(), tmp_path / "noisy.npz", kind="symetric", rate=0.2, seed=0)
    assert list(tmp_path.iterdir()) == []
