"""Seeds: the library draws other numbers than a user who has the same seed."""

import ast
from pathlib import Path

import numpy as np
import pytest

from eigenclean import add_noise
from eigenclean.errors import InvalidOption
from eigenclean.sample_map import choose_rows
from eigenclean.sampling import held_out
from eigenclean.seeds import tagged_generator
from eigenclean.workflows.self_test import plant

_SOURCES = Path(__file__).resolve().parents[1] / "src"
_NORMAL = {"normal", "standard_normal"}  # what other methods draw may pick rows


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


def test_rows_on_the_map_are_not_those_that_a_user_draws_with_the_seed_0() -> None:
    n, m = 20_000, 2000
    own = np.random.default_rng(0).choice(n, m, replace=False)
    on_map, _ = choose_rows(n, np.array([], dtype=int), most=m)
    assert len(on_map) == m
    assert np.isin(on_map, own).mean() < 0.2  # a tenth is expected by chance


def last_name(node: ast.expr) -> str:
    """Of ``a.b.c`` and of ``c``: "c"; empty for other expressions."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def untagged_draws(source: str) -> list[str]:
    """What is drawn from generators without a tag, but for normal numbers from a fixed seed.

    A generator that is handed on is listed as "elsewhere", because anything may be drawn from it there.

    >>> untagged_draws("def f(): return np.random.default_rng(0).choice(n, 5)")
    ['choice']
    >>> untagged_draws("def f(seed): rng = default_rng(seed); return rng.normal(), g(rng)")
    ['elsewhere', 'normal']
    >>> untagged_draws("def f(): rng = default_rng(0); return rng.normal()")
    []
    """
    nodes = [*ast.walk(ast.parse(source))]
    parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
    found: list[str] = []
    for call in nodes:
        if not isinstance(call, ast.Call) or last_name(call.func) != "default_rng":
            continue
        uses: list[ast.AST] = [call]
        match parents[call]:
            case ast.Assign(targets=[ast.Name(id=name)]):
                scope = parents[call]
                while not isinstance(scope, ast.FunctionDef | ast.Module):
                    scope = parents[scope]
                names = (node for node in ast.walk(scope) if isinstance(node, ast.Name) and node.id == name)
                uses = [node for node in names if isinstance(node.ctx, ast.Load)]
        methods = [getattr(parents[use], "attr", "elsewhere") for use in uses]
        fixed = bool(call.args) and isinstance(call.args[0], ast.Constant) and call.args[0].value is not None
        found += [method for method in methods if not (fixed and method in _NORMAL)]
    return sorted(found)


def test_every_seed_of_a_user_and_every_draw_of_rows_gets_a_tag() -> None:
    untagged = {
        str(path.relative_to(_SOURCES / "eigenclean")): drawn
        for path in _SOURCES.rglob("*.py")
        if path.name != "seeds.py" and (drawn := untagged_draws(path.read_text(encoding="utf-8")))
    }
    assert untagged == {
        "detect/folds.py": ["integers"],  # multipliers of a hash
        "detect/judge/discriminants.py": ["choice"],  # signs
        "detect/judge/unit_rows.py": ["choice", "permutation"],  # signs and the order of columns
        # Of rows in the order of their content hashes, which says nothing about the order of the user.
        "detect/judge/views/neighbours.py": ["permutation", "permutation"],
        "workflows/training/export_model.py": ["random"],  # pixels
    }
