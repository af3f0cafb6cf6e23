"""Asymmetric noise against the published maps and rates."""

from typing import Any

import numpy as np
import pytest

from eigenclean.errors import InvalidOption
from eigenclean.noise import add_noise, corrupt
from eigenclean.noise.asymmetric import (
    CIFAR100_SUPERCLASS,
    Asymmetric,
    block_targets,
    superclass_targets,
    swap_targets,
)

CIFAR10 = np.arange(5000) % 10
CIFAR100 = np.arange(50_000) % 100

# The 20 superclasses as the data set's page lists them, in alphabetical order of the superclass.
SUPERCLASSES = """
beaver dolphin otter seal whale
aquarium_fish flatfish ray shark trout
orchid poppy rose sunflower tulip
bottle bowl can cup plate
apple mushroom orange pear sweet_pepper
clock keyboard lamp telephone television
bed chair couch table wardrobe
bee beetle butterfly caterpillar cockroach
bear leopard lion tiger wolf
bridge castle house road skyscraper
cloud forest mountain plain sea
camel cattle chimpanzee elephant kangaroo
fox porcupine possum raccoon skunk
crab lobster snail spider worm
baby boy girl man woman
crocodile dinosaur lizard snake turtle
hamster mouse rabbit shrew squirrel
maple_tree oak_tree palm_tree pine_tree willow_tree
bicycle bus motorcycle pickup_truck train
lawn_mower rocket streetcar tank tractor
"""


def flips(labels: Any, noisy: Any) -> set[tuple[Any, Any]]:
    return {(a, b) for a, b in zip(labels.tolist(), noisy.tolist(), strict=True) if a != b}


def test_cifar10_at_40_percent_is_20_percent_exactly() -> None:
    record = corrupt(CIFAR10, "asymmetric", 0.4)
    assert record.true_rate == pytest.approx(0.2, abs=1e-12)
    assert flips(CIFAR10, record.labels) == {(9, 1), (2, 0), (3, 5), (5, 3), (4, 7)}
    assert set(np.bincount(CIFAR10[record.labels != CIFAR10]).tolist()) == {0, 200}


def test_chained_flips_are_those_of_the_released_loop() -> None:
    """A slow loop looks every label up in the list that it changes; the expected shares follow from it."""
    labels = np.repeat(np.arange(10), 4500)
    record = corrupt(labels, "asymmetric", 0.4, draw="chained", random_state=1)
    rng, slow = np.random.default_rng(0), labels.tolist()
    for k in range(10):
        rows = [row for row, label in enumerate(slow) if label == k]
        rng.shuffle(rows)
        for number, row in enumerate(rows):
            if number < 0.4 * len(rows):
                slow[row] = {9: 1, 2: 0, 3: 5, 5: 3, 4: 7}.get(k, k)
    for noisy in (record.labels, np.array(slow)):
        shares = {pair: np.mean(noisy[labels == pair[0]] == pair[1]) for pair in ((3, 5), (5, 3), (2, 0), (4, 7))}
        assert shares[3, 5] == pytest.approx(0.24, abs=0.015)  # published runs: 0.238
        assert shares[5, 3] == pytest.approx(0.40, abs=0.015)
        assert shares[2, 0] == shares[4, 7] == pytest.approx(0.4)
        assert np.mean(noisy != labels) == pytest.approx(0.184, abs=0.002)  # published runs: 0.1835
    assert np.array_equal(np.bincount(record.labels), np.bincount(slow))
    assert corrupt(labels, "asymmetric", 0.0, draw="chained").true_rate == 0


def test_cifar10_drawn_from_the_whole_set_comes_close() -> None:
    record = corrupt(CIFAR10, "asymmetric", 0.4, draw="set")
    assert record.true_rate == pytest.approx(0.2, abs=0.02)
    assert len(set(np.bincount(CIFAR10[record.labels != CIFAR10], minlength=10).tolist())) > 2
    assert (corrupt(CIFAR10, "asymmetric", 1.0, draw="set").labels != CIFAR10).sum() == len(CIFAR10) // 2


def test_cifar100_blocks_are_the_default_and_independent() -> None:
    record = corrupt(CIFAR100, "asymmetric", 0.4)
    assert flips(CIFAR100, record.labels) == {(k, k // 5 * 5 + (k + 1) % 5) for k in range(100)}
    assert record.true_rate == pytest.approx(0.4, abs=0.011)
    assert len(set(np.bincount(CIFAR100[record.labels != CIFAR100]).tolist())) > 5


def test_the_superclasses_are_those_of_the_data_set() -> None:
    groups = [line.split() for line in SUPERCLASSES.split("\n") if line]
    fine = sorted(name for group in groups for name in group)
    expected = [next(k for k, group in enumerate(groups) if name in group) for name in fine]
    assert len(fine) == 100
    assert list(CIFAR100_SUPERCLASS) == expected


def test_superclass_noise_goes_round_inside_the_superclass() -> None:
    targets = superclass_targets()
    coarse = np.array(CIFAR100_SUPERCLASS)
    np.testing.assert_array_equal(coarse[targets], coarse)
    assert sorted(targets.tolist()) == list(range(100))
    for superclass in range(20):
        members = np.flatnonzero(coarse == superclass)
        np.testing.assert_array_equal(targets[members], np.roll(members, -1))
    # Measured on LongReMix's stored file: only 10 of its 100 targets fall in the same index block.
    assert np.count_nonzero(targets // 5 == np.arange(100) // 5) == 10
    assert corrupt(CIFAR100, "asymmetric", 0.4, map="cifar100-superclass").true_rate == pytest.approx(
        0.4, abs=0.011
    )


def test_swap_noise_exchanges_one_pair_in_each_block() -> None:
    targets = swap_targets(np.random.default_rng(5))
    moved = targets != np.arange(100)
    np.testing.assert_array_equal(targets[targets], np.arange(100))
    np.testing.assert_array_equal(moved.reshape(20, 5).sum(axis=1), 2)
    np.testing.assert_array_equal(targets // 5, np.arange(100) // 5)
    assert (swap_targets(np.random.default_rng(6)) != targets).any()
    assert corrupt(CIFAR100, "asymmetric", 0.5, map="cifar100-swap").true_rate == pytest.approx(0.2, abs=0.011)


def test_blocks_never_leave_their_five() -> None:
    np.testing.assert_array_equal(block_targets() // 5, np.arange(100) // 5)


def test_an_own_map_by_label() -> None:
    labels = np.array(["cat", "dog", "elk"] * 10)
    assert flips(labels, add_noise(labels, "asymmetric", 0.5, map={"cat": "dog"})) == {("cat", "dog")}
    assert corrupt(labels, "asymmetric", 0.5, map={"cat": "dog"}).true_rate == pytest.approx(5 / 30)
    assert Asymmetric(map={"cat": "dog"}) == Asymmetric(map=(("cat", "dog"),))


@pytest.mark.parametrize("options", [{}, {"map": "cifar10"}, {"map": "cifar100-blocks"}, {"map": {0: 99}}])
def test_a_map_must_fit_the_classes(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match=r"asymmetric noise: .*(dict|the classes are 0, 1, 2)"):
        add_noise([0, 1, 2], "asymmetric", **options)


def test_missing_classes_can_be_named() -> None:
    assert add_noise([9, 2, 0], "asymmetric", 1.0, classes=range(10)).tolist() == [1, 0, 0]


def test_names_of_maps_and_draws_are_checked() -> None:
    with pytest.raises(InvalidOption, match="did you mean 'cifar10'"):
        Asymmetric(map="cifar_10")
    with pytest.raises(InvalidOption, match=r"draw must be one of auto, chained, .*, got 'row'"):
        Asymmetric(draw="row")  # type: ignore[arg-type]
