"""The fuzzer itself: enough cases, each with a name under which it can be repeated."""

import random
from pathlib import Path

import pytest

from attacks.fuzz import run as fuzz
from attacks.fuzz.mutations import BYTES, Mutation
from attacks.fuzz.targets import TARGETS


def test_a_case_is_the_same_every_time(tmp_path: Path) -> None:
    (target,) = [target for target in TARGETS if target.name == "npy"]
    (tmp_path / "npy").mkdir()
    target.build(tmp_path / "npy")
    contents = []
    for name in ("a", "b"):
        (case,) = [case for case in fuzz.cases(tmp_path, 1.0, seed=3) if case.id == "fuzz/npy/4"]
        assert isinstance(case.attack, fuzz.FuzzCase)
        case.attack.prepare(tmp_path / name)
        contents.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert contents[0] == contents[1] != {path.name: path.read_bytes() for path in (tmp_path / "npy").iterdir()}


@pytest.mark.parametrize("mutate", dict.fromkeys(BYTES), ids=lambda mutate: mutate.__name__)
def test_mutations_take_any_bytes(mutate: Mutation) -> None:
    for content in (b"", b"x", bytes(range(256))):
        assert isinstance(mutate(content, random.Random(0)), bytes)


def test_the_full_attack_has_at_least_1500_mutated_inputs_with_names_of_their_own(tmp_path: Path) -> None:
    names = {case.id for case in fuzz.cases(tmp_path, 1.0)}
    assert len(names) >= 1500
    assert {name.split("/")[1] for name in names} == {target.name for target in TARGETS}
