"""Old names work for one release, say so once, and lead to the very same objects."""

import inspect
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sklearn.base import BaseEstimator, clone

from eigenclean import deprecation
from eigenclean.deprecation import (
    MOVED_MODULES,
    REMOVED_IN,
    MovedModules,
    RenamedAttribute,
    renamed_arguments,
    renamed_names,
)
from eigenclean.version import __version__

# Arguments by their old names, which the type checker rightly does not know.
COLOUR: dict[str, Any] = {"colour": "red"}
NEIGHBOURS: dict[str, Any] = {"neighbours": 7}


@pytest.fixture
def moved_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package ``old_home.box`` has moved to ``new_home.crate``; ``old_home`` is empty."""
    for name, text in {"__init__": "", "crate/__init__": "", "crate/thing": "class Thing: pass"}.items():
        path = tmp_path / "new_home" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    before = set(sys.modules)
    finder = MovedModules({"old_home.box": "new_home.crate", "old_home.lab": "eigenclean_lab.theory"}, ["old_home"])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("old_home", "new_home")):
            del sys.modules[name]


@pytest.mark.usefixtures("moved_package")
def test_a_moved_module_is_one_module_under_both_paths() -> None:
    with pytest.warns(DeprecationWarning) as caught:
        old = import_module("old_home.box.thing")
    assert [str(warning.message).partition(";")[0] for warning in caught] == [
        "old_home.box is now new_home.crate",
        "old_home.box.thing is now new_home.crate.thing",
    ]
    assert old is import_module("new_home.crate.thing")
    assert old.__spec__ is not None
    assert old.__spec__.name == old.__name__ == "new_home.crate.thing"


@pytest.mark.usefixtures("moved_package")
def test_the_warning_points_at_the_line_that_imports() -> None:
    with pytest.warns(DeprecationWarning) as caught:
        exec(compile("from old_home.box.thing import Thing", "user_code.py", "exec"), {})
    assert {warning.filename for warning in caught} == {"user_code.py"}


@pytest.mark.usefixtures("moved_package")
def test_unknown_modules_below_a_moved_one_stay_unknown() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"old_home\.nothing"):
        import_module("old_home.nothing")
    with pytest.warns(DeprecationWarning), pytest.raises(ModuleNotFoundError, match=r"new_home\.crate\.nothing"):
        import_module("old_home.box.nothing")


@pytest.mark.usefixtures("moved_package")
def test_without_the_laboratory_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_laboratory(name: str) -> ModuleType:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name.split(".")[0])

    monkeypatch.setattr(deprecation, "import_module", no_laboratory)
    with (
        pytest.warns(DeprecationWarning),
        pytest.raises(ModuleNotFoundError, match=r"is now eigenclean_lab\.theory.*pip install eigenclean-lab"),
    ):
        import_module("old_home.lab")


@pytest.mark.parametrize("old", sorted(MOVED_MODULES))
def test_every_moved_module_of_ours_is_found(old: str) -> None:
    for library in ("torch", "matplotlib"):  # the lowest versions are tested without these
        pytest.importorskip(library)
    code = f"import {old}, {MOVED_MODULES[old]}, sys; assert {old} is {MOVED_MODULES[old]}"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_old_names_are_gone_when_the_announced_version_comes() -> None:
    def numbers(version: str) -> list[int]:
        return [int(number) for number in version.split(".")]

    assert numbers(__version__) < numbers(REMOVED_IN)


def test_renamed_names_of_a_module() -> None:
    lookup = renamed_names("math", {"square_root": "sqrt", "dump": "json:dumps"})
    with pytest.warns(DeprecationWarning, match=r"math\.square_root is now math\.sqrt") as caught:
        assert lookup("square_root")(9.0) == 3.0
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match=r"math\.dump is now json\.dumps"):
        assert lookup("dump")([1]) == "[1]"
    with pytest.raises(AttributeError, match="module 'math' has no attribute 'cube_root'"):
        lookup("cube_root")


def test_renamed_arguments_of_a_function() -> None:
    @renamed_arguments(colour="color")
    def paint(wall: str, color: str = "white") -> tuple[str, str]:
        return wall, color

    with pytest.warns(DeprecationWarning, match=r"the argument 'colour' of .*paint is now 'color'") as caught:
        assert paint("left", **COLOUR) == ("left", "red")
    assert caught[0].filename == __file__
    assert list(inspect.signature(paint).parameters) == ["wall", "color"]
    with pytest.raises(TypeError, match="got both 'color' and its old name 'colour'"):
        paint("left", color="red", **COLOUR)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert paint("left", color="red") == ("left", "red")


def test_renamed_arguments_of_a_dataclass() -> None:
    @renamed_arguments(colour="color")
    @dataclass(frozen=True)
    class Paint:
        color: str = "white"

    with pytest.warns(DeprecationWarning):
        assert Paint(**COLOUR) == Paint(color="red")


def test_renamed_arguments_of_an_estimator_that_scikit_learn_clones() -> None:
    @renamed_arguments(neighbours="n_neighbors")
    class Estimator(BaseEstimator):  # type: ignore[misc, unused-ignore]
        def __init__(self, n_neighbors: int = 5) -> None:
            self.n_neighbors = n_neighbors

    with pytest.warns(DeprecationWarning):
        estimator = Estimator(**NEIGHBOURS)
    assert clone(estimator).get_params() == {"n_neighbors": 7}


def test_a_renamed_attribute_is_read_and_written() -> None:
    class Result:
        score = 1.0
        alignment = RenamedAttribute("score")

    result = Result()
    with pytest.warns(DeprecationWarning, match=r"Result\.alignment is now Result\.score") as caught:
        result.alignment = 2.0
        assert result.alignment == result.score == 2.0
        assert Result.alignment == 1.0
    assert {warning.filename for warning in caught} == {__file__}
    assert len(caught) == 3
