"""Means over seeds, targets and the figure of `eigenclean bench train`."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from eigenclean.errors import InvalidData
from eigenclean_lab.bench.training.contenders import NAMES
from eigenclean_lab.bench.training.page import summary_rows
from eigenclean_lab.bench.training.plot import draw_training
from eigenclean_lab.bench.training.targets import TARGETS, differences
from eigenclean_lab.store import Cell

FIGURES = {"last": 0.5, "best": 0.6, "f": 0.7, "kept": 0.8, "noise_rate": 0.4, "seconds": 2.0}


def measured_cell(recipe: str, setting: str, seed: int = 0, **figures: float) -> Cell:
    task = {"recipe": recipe, "setting": setting, "schedule": "preset"}
    return Cell(task, seed, "key", "code", "measured", figures={**FIGURES, **figures})


def cells_of(setting: str, **accuracies: list[float]) -> list[Cell]:
    return [
        measured_cell(name.replace("_", "-"), setting, seed, last=value)
        for name, values in accuracies.items()
        for seed, value in enumerate(values)
    ]


def test_rows_are_means_and_deviations_over_seeds() -> None:
    (row,) = summary_rows(cells_of("fashion/sym-50", fine=[0.7, 0.8, 0.9]))
    assert row.mean["last"] == pytest.approx(0.8) and row.deviation["last"] == pytest.approx(0.1)
    (alone,) = summary_rows(cells_of("fashion/sym-50", fine=[0.7]))
    assert alone.deviation == {} and alone.seeds == 1


def test_recipes_are_compared_seed_by_seed() -> None:
    cells = cells_of(
        "fashion/sym-50", standard=[0.7, 0.6], fine=[0.75, 0.7, 0.1], judge=[0.76, 0.8], dividemix=[0.9, 0.9]
    )
    compared = {(difference.better, difference.than.split(",")[0]): difference for difference in differences(cells)}
    first, second, third = (compared["fine", "standard"], compared["judge", "fine"], differences(cells)[-1])
    assert first.difference == pytest.approx(0.075) and first.seeds == 2 and first.passed
    assert first.deviation == pytest.approx(np.std([0.05, 0.1], ddof=1))
    assert second.difference == pytest.approx(0.055) and second.passed
    assert third.than == "fine, the best other recipe with one network"  # DivideMix has two
    assert len(compared) == 2  # that claim is about the same pair here; nobody else was measured


def test_targets_are_for_their_own_settings() -> None:
    (difference,) = differences(cells_of("fashion/pair-40", gce=[0.7], **{"gce+fine": [0.69]}))
    assert difference.passed is False and difference.deviation is None and difference.as_dict()["passed"] is False
    (other,) = differences(cells_of("cifar10/sym-50", gce=[0.7], **{"gce+fine": [0.69]}))
    assert other.target is None and other.passed is None
    names = {name for target in TARGETS for name in (target.recipe, target.than) if " " not in name}
    assert names <= set(NAMES)


@pytest.mark.parametrize(("setting", "target"), [("Vowel/pair-30", -0.005), ("digits/sym-50", None)])
def test_the_probe_is_compared_with_the_best_of_all_others(setting: str, target: float | None) -> None:
    others = {"standard": [0.7, 0.9, 0.1], "trees+cleanlearning": [0.8, 0.81, 0.5], "dividemix": [0.99]}
    (difference,) = differences(cells_of(setting, probe=[0.8, 0.8], **others))
    assert (
        difference.than == "trees+cleanlearning, the best of all others (2)"
    )  # dividemix has another number of seeds
    assert difference.difference == pytest.approx(-0.005) and difference.seeds == 2 and difference.target == target


def test_the_figure_is_svg_and_the_same_each_time() -> None:
    names = ["fashion/sym-50", "cifar10/sym-0", "cifar10/asym-40", "Vowel/sym-20"]
    cells = [cell for name in names for cell in cells_of(name, fine=[0.7, 0.8], standard=[0.5])][:-2]
    missing = replace(measured_cell("elr", "digits/pair-40"), status="missing", note="needs data", figures={})
    text = draw_training([*cells, missing])
    assert text == draw_training([*cells, missing])
    assert ET.fromstring(text).tag.endswith("svg")
    assert "fashion/sym-50" in text and "standard" in text and "elr" not in text
    with pytest.raises(InvalidData, match="nothing to plot"):
        draw_training([missing])
