"""Seeds: the library draws other numbers than a user who has the same seed."""

import re
from pathlib import Path

import numpy as np
import pytest

from eigenclean import add_noise
from eigenclean.errors import InvalidOption
from eigenclean.sampling import held_out
from eigenclean.seeds import tagged_generator
from eigenclean.workflows.self_test import plant

_SOURCES = Path(__file__).resolve().parents[1] / "src"
_BARE = re.compile(r"default_rng\((?!\d+\))")  # a fixed number is no seed of a user


@pytest.mark.parametrize("seed", range(5))
def test_noise_is_spread_over_a_split_with_the_same_seed(seed: int) -> None:
    labels = np.arange(8000) % 10
    for kind, rate in (("symmetric", 0.2), ("pair", 0.2), ("asymmetric", 0.4)):
        wrong = add_noise(labels, kind, rate=rate, random_state=seed) != labels
        order = np.random.default_rng(seed).permutation(len(labels))
        quarters = [float(wrong[rows].mean()) for rows in np.array_split(order, 4)]
        assert max(quarters) - min(quarters) < 0.05


def test_noise_and_hold_out_of_one_seed_have_nothing_in_common() -> None:
    labels = np.arange(8000) % 10
    wrong = add_noise(labels, "symmetric", rate=0.5, random_state=3) != labels
    mask = held_out(labels, 0.25, random_state=3)
    assert abs(wrong[mask].mean() - wrong[~mask].mean()) < 0.05


def test_generators_are_taken_as_they_are_and_seeds_are_tagged() -> None:
    generator = np.random.default_rng(1)
    assert tagged_generator(generator, "noise") is generator
    draws = {tag: tagged_generator(0, tag).integers(0, 1 << 40) for tag in ("noise", "folds", "subset")}
    assert len({*draws.values(), np.random.default_rng(0).integers(0, 1 << 40)}) == 4
    assert tagged_generator(0, "noise").integers(0, 1 << 40) == draws["noise"]
    assert tagged_generator(None, "noise").integers(0, 1 << 40) != tagged_generator(None, "noise").integers(
        0, 1 << 40
    )
    with pytest.raises(InvalidOption, match="random_state must be an integer from 0"):
        add_noise([0, 1], random_state=-1)


def test_errors_of_the_self_test_are_not_in_the_rows_that_noise_of_the_same_seed_made_wrong() -> None:
    labels = np.arange(8000) % 10
    noisy = add_noise(labels, "symmetric", rate=0.2, random_state=0, inclusive=False)
    planted = plant(noisy, 0.2, seed=0).wrong
    assert abs((noisy != labels)[planted].mean() - 0.2) < 0.05


def test_every_seed_of_a_user_gets_a_tag() -> None:
    bare = [
        f"{path.relative_to(_SOURCES)}: {line.strip()}"
        for path in _SOURCES.rglob("*.py")
        if path.name != "seeds.py"
        for line in path.read_text(encoding="utf-8").splitlines()
        if _BARE.search(line) and ">>>" not in line
    ]
    # Hashes of a row's values, and the random signs of a width: no rows are drawn.
    assert sorted(line.partition(":")[0] for line in bare) == [
        "eigenclean/detect/folds.py",
        "eigenclean/detect/judge/unit_rows.py",
    ]
