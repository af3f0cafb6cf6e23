"""What is prepared before a training run: the recipe with its changes, and the splits of the source."""

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean.errors import EigencleanError
from eigenclean.nets import NETS, takes_images
from eigenclean.train import RECIPES, Recipe, recipe
from eigenclean.workflows.options import SourceOptions
from eigenclean.workflows.train_setup import build_recipe, default_preset, open_training_sources


@pytest.mark.parametrize("net", [None, "no such net", *NETS])
def test_the_preset_follows_the_inputs_of_the_network(net: str | None) -> None:
    of_images = "finetune" if net == "encoder" else "small"
    assert default_preset(net) == (of_images if net in NETS and takes_images(net) else "head")


@pytest.mark.parametrize("name", ["fine", "co-teaching", "standard"])
def test_without_changes_it_is_the_recipe(name: str) -> None:
    assert build_recipe(name, preset="head") == recipe(name, preset="head")


def test_options_of_the_recipe_and_numbers_of_its_stages_are_told_apart() -> None:
    built = build_recipe("gce", preset="head", settings={"q": 0.5, "stage.1.lr": 0.125})
    assert isinstance(built, Recipe)
    assert built.stages[0].loss.options["q"] == 0.5
    assert built.stages[0].optimiser is not None and built.stages[0].optimiser.lr == 0.125
    assert build_recipe("gce", preset="head", settings={"q": 0.5}) == recipe("gce", preset="head", q=0.5)


def test_a_setting_may_name_the_preset() -> None:
    assert build_recipe("fine", preset="head", settings={"preset": "small"}) == recipe("fine", preset="small")


def test_selector_and_epochs_replace_those_of_the_recipe() -> None:
    built = build_recipe("dividemix", preset="head", selector="fine", epochs=7)
    assert built.epochs == 7
    assert build_recipe("dividemix", preset="head", selector="fine") == recipe(
        "dividemix", preset="head"
    ).with_selector("fine")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("fien", {}, "fine"),
        ("fine", {"selector": "knnn"}, "knn"),
        ("fine", {"settings": {"no_such_option": 1}}, "no_such_option"),
        ("fine", {"epochs": 0}, "epochs"),
    ],
)
def test_a_mistake_names_what_is_meant(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(EigencleanError, match=message):
        build_recipe(name, preset="head", **options)


def test_every_recipe_can_be_built_for_features() -> None:
    assert all(build_recipe(name, preset="head").name for name in RECIPES)


def write_idx(path: Path, values: Any) -> None:
    array = np.asarray(values, dtype=np.uint8)
    with gzip.open(path, "wb") as file:
        file.write(struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes())


@pytest.fixture
def mnist(tmp_path: Path) -> Path:
    """A tiny folder with the files of MNIST: five training images, three test images."""
    for prefix, n in (("train", 5), ("t10k", 3)):
        write_idx(tmp_path / f"{prefix}-images-idx3-ubyte.gz", np.full((n, 4, 4), n))
        write_idx(tmp_path / f"{prefix}-labels-idx1-ubyte.gz", np.arange(n))
    return tmp_path


def test_a_layout_with_a_test_split_is_tested_on_it(mnist: Path) -> None:
    sources = open_training_sources(f"mnist:{mnist}", None, SourceOptions(), use_validation_split=True)
    assert len(sources.data) == 5 and sources.test is not None and len(sources.test) == 3
    assert sources.validation is None  # MNIST has no such split


def test_a_named_test_source_comes_before_the_split(mnist: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "test.npz", features=np.eye(2), labels=np.arange(2))
    sources = open_training_sources(
        f"mnist:{mnist}", str(tmp_path / "test.npz"), SourceOptions(), use_validation_split=False
    )
    assert sources.test is not None and len(sources.test) == 2


def test_other_labels_are_for_the_training_data_alone(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.eye(4))
    np.save(tmp_path / "y.npy", np.array([0, 0, 1, 1]))
    np.savez(tmp_path / "test.npz", features=np.eye(2), labels=np.array([1, 0]))
    reading = SourceOptions(labels=tmp_path / "y.npy")
    sources = open_training_sources(
        str(tmp_path / "x.npy"), str(tmp_path / "test.npz"), reading, use_validation_split=True
    )
    assert sources.data.labels.tolist() == [0, 0, 1, 1]
    assert sources.test is not None and sources.test.labels.tolist() == [1, 0]
