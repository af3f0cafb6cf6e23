"""Keys of cells of trainings and of the paper: they follow the components that a cell names, and no others."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eigenclean.train.recipes.dividemix import DIVIDEMIX_PRESETS
from eigenclean_lab.bench.training.measure import measure as measure_training
from eigenclean_lab.bench.training.recipes import make_recipe
from eigenclean_lab.components import component_modules
from eigenclean_lab.reproduce.catalogue import EXPERIMENTS
from eigenclean_lab.reproduce.context import Context
from eigenclean_lab.reproduce.data import loader_module
from eigenclean_lab.reproduce.profiles import SMALL, SMOKE
from eigenclean_lab.reproduce.suite import KINDS, PaperSuite, task_key
from eigenclean_lab.reproduce.values import Task, method_spec
from eigenclean_lab.store import code_key, registered
from eigenclean_lab.store.fingerprints import graph, names_in
from eigenclean_lab.store.import_graph import ImportGraph, parse

VALUES, RECIPE = "eigenclean_lab.reproduce.profiles", "eigenclean.train.recipes.dividemix"


def training_closure(name: str, net: str) -> set[str]:
    chosen = make_recipe(name, net=net).to_dict()
    return graph().closure([measure_training.__module__, *component_modules([chosen, net])])


@pytest.mark.parametrize(
    ("name", "needed", "foreign"),
    [
        ("gce", ["eigenclean.losses.gce"], ["eigenclean.losses.elr", "eigenclean.detect.fine"]),
        ("elr", ["eigenclean.losses.elr"], ["eigenclean.losses.gce", "eigenclean.losses.sce"]),
        ("fine", ["eigenclean.detect.fine", "eigenclean.mixture"], ["eigenclean.losses.elr"]),
    ],
)
def test_a_training_depends_on_its_own_components(name: str, needed: list[str], foreign: list[str]) -> None:
    modules = training_closure(name, "mlp")

    def reached(prefix: str) -> bool:
        return any(module == prefix or module.startswith(f"{prefix}.") for module in modules)

    assert all(map(reached, needed)) and not any(map(reached, foreign))
    assert any(module.startswith("eigenclean.train.") for module in modules)


def test_a_training_depends_on_its_network() -> None:
    head, images = training_closure("standard", "mlp"), training_closure("standard", "small-cnn")
    assert images - head and all(module.startswith("eigenclean.nets.") for module in images - head)
    assert "eigenclean.nets.mlp" in head and not any("cnn" in module or "resnet" in module for module in head)


def paper_code(kind: str, method: str, noise: str = "symmetric:0.5", **options: Any) -> str:
    task = Task(method_spec(kind, method, **options), "cifar10", noise)
    return PaperSuite(Context("smoke")).new_request(task, 0, "how").code


def test_cells_of_the_paper_differ_in_code_by_kind_and_method() -> None:
    codes = {
        paper_code("train", "standard"),
        paper_code("train", "gce"),
        paper_code("train", "fine"),
        paper_code("judge", "fine"),
        paper_code("judge", "mcd"),
        paper_code("shift", "eigenvector", component=1),
        paper_code("filter", "fine"),
        paper_code("theory", "theorem1"),
    }
    # Analyses of features share one module, so two of them are equal unless they name other components.
    assert len(codes) == 8


def test_options_and_seeds_change_the_key_and_not_the_code() -> None:
    suite = PaperSuite(Context("smoke"))
    first, second = (
        suite.new_request(Task(method_spec("judge", "fine", threshold=zeta), "cifar10", "symmetric:0.5"), 0, "how")
        for zeta in (0.4, 0.6)
    )
    assert first.code == second.code and first.key != second.key
    again = suite.new_request(Task.from_dict(first.task), 1, "how")
    assert again.code == first.code and again.key != first.key


def test_a_simulation_depends_on_no_data_and_no_torch() -> None:
    modules = graph().closure([KINDS["theory"][0]])
    assert {"eigenclean_lab.theory.theorem1", "eigenclean_lab.theory.theorem2", "eigenclean.moments"} <= modules
    assert not any(
        module.startswith(("eigenclean.train", "eigenclean.nets", "eigenclean.detect.judge")) for module in modules
    )
    assert paper_code("theory", "theorem1") == code_key(KINDS["theory"][0], without=(VALUES, RECIPE))


def test_the_values_of_the_profiles_are_in_the_key_and_not_in_the_code() -> None:
    suite, task = PaperSuite(Context("small")), Task(method_spec("train", "standard"), "cifar10", "symmetric:0.5")
    request = suite.new_request(task, 0, "how")
    changed = replace(
        SMALL, training={**SMALL.training, "cifar10": replace(SMALL.training["cifar10"], samples=4999)}
    )
    assert task_key(task, changed, 0) != request.key
    modules = graph().closure([KINDS["train"][0]])
    counted = graph().closure([KINDS["train"][0]], without=(VALUES,))
    assert VALUES in modules and VALUES not in counted and "eigenclean_lab.reproduce.profile" in counted


def test_a_recipe_counts_by_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: paper_code("train", name) for name in ("dividemix", "fine")}
    analysed = paper_code("judge", "fine")
    monkeypatch.setitem(DIVIDEMIX_PRESETS, "small", {"refresh": 2})
    assert paper_code("train", "dividemix") != before["dividemix"]
    assert paper_code("train", "fine") == before["fine"] and paper_code("judge", "fine") == analysed


def test_cells_depend_on_the_loader_of_their_data_only() -> None:
    assert loader_module("fashion") == loader_module("cifar100") != loader_module("cifar10-maps")
    measured = graph().closure([KINDS["train"][0], loader_module("cifar100")], without=(VALUES,))
    maps = graph().closure([loader_module("cifar10-maps")])
    encoder = "eigenclean.features.encoders.efficientnet_lite"
    assert encoder in maps and encoder not in measured


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_cell_names_a_module_and_a_function_that_exist(kind: str) -> None:
    module, function = KINDS[kind]
    assert module in graph().closure([module])
    source = Path(__file__).parents[2] / "src" / Path(*module.split(".")).with_suffix(".py")
    assert f"def {function}(" in source.read_text(encoding="utf-8")


def test_every_kind_in_the_catalogue_can_be_measured() -> None:
    kinds = {spec.kind for experiment in EXPERIMENTS.values() for row in experiment.rows for spec in row.specs}
    assert kinds == set(KINDS)


def test_profiles_give_equal_code_and_other_keys_where_only_sizes_differ() -> None:
    task = Task(method_spec("judge", "fine"), "cifar10", "symmetric:0.5")
    small, smoke = (PaperSuite(Context(profile.name)).new_request(task, 0, "how") for profile in (SMALL, SMOKE))
    assert small.key != smoke.key and small.task["profile"] != smoke.task["profile"]


def test_names_are_found_however_deep_they_are() -> None:
    described = {"stages": [{"loss": {"name": "gce"}}, ("fine", {"cut": "gaussian"})], "epochs": 3}
    assert {"gce", "fine", "gaussian"} <= set(names_in(described))
    assert registered(described, {"gce": ("eigenclean.losses.gce", "GCE")}) == {"eigenclean.losses.gce"}


# The parser of the import graph.


def test_names_of_imports_are_their_aliases() -> None:
    source = parse("import numpy as np\nfrom pkg.a import b as c\n\n\ndef f():\n    return np, c\n")
    assert {(used.module, used.name) for used in source.used} == {("numpy", None), ("pkg.a", "b")}


def test_an_import_that_is_not_used_is_a_reexport() -> None:
    source = parse("from pkg.a import b\nfrom pkg.c import d\nx = d\n")
    assert {used.name for used in source.used} == {"d"}
    assert {exported.name for exported in source.reexported} == {"b"}


@pytest.mark.parametrize(
    ("other", "equal"),
    [
        ("def f(x):\n    '''Other words.'''\n    return x + 1\n", True),
        ("# a comment\ndef f(x):\n    return x+1\n", True),
        ("def f(x):\n    return x + 2\n", False),
        ("def f(y):\n    return y + 1\n", False),
        ("class A:\n    def f(x):\n        return x + 1\n", False),
    ],
)
def test_a_digest_ignores_what_does_not_run(other: str, equal: bool) -> None:
    text = "def f(x):\n    '''Some words.'''\n    return x + 1\n"
    assert (parse(text).digest == parse(other).digest) == equal


def test_cycles_end_and_unknown_modules_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from pkg.b import y\nx = 1\nz = y\n")
    (tmp_path / "b.py").write_text("def y():\n    from pkg.a import x\n\n    return x\n")
    cyclic = ImportGraph({"pkg": tmp_path})
    assert cyclic.closure(["pkg.a"]) == cyclic.closure(["pkg.b"]) == {"pkg.a", "pkg.b"}
    with pytest.raises(KeyError, match=r"no module pkg\.c"):
        cyclic.closure(["pkg.c"])


def test_a_fingerprint_does_not_depend_on_the_order_of_the_entries() -> None:
    names = ["eigenclean.losses.gce", "eigenclean.mixture", "eigenclean.moments"]
    assert graph().fingerprint(names) == graph().fingerprint(names[::-1]) == graph().fingerprint(names * 2)
    assert len(graph().fingerprint(names)) == 16
