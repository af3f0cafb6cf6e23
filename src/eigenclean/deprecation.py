"""Old public names keep working for one release, each with a DeprecationWarning that names the new one.

What changed, and what to write where it changed:

* a **module** moved: add a line to `MOVED_MODULES`. The old import path then gives the very same module.
* a **function, class or constant** of a module was renamed or moved: in that module
  ``__getattr__ = renamed_names(__name__, {"old_name": "new_name", "moved": "eigenclean.other.module:moved"})``
* a **parameter** was renamed: ``@renamed_arguments(old="new")`` above the function, or above a class for its
  constructor (and above its ``@dataclass``, which writes the constructor).
* an **attribute** was renamed: ``old = RenamedAttribute("new")`` in the body of the class.
* anything else (an option of a command, a column or field of a file, an entry of a table): accept both and call
  `warn_renamed`, or show `renaming_notice` where warnings are not shown to users.

Old names are not listed in ``__all__`` nor in the documentation, and no code of ours may use them: the test suite
turns warnings into errors. `docs/reference/stability.md` states the policy.
"""

import functools
import sys
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, TypeVar, cast

REMOVED_IN = "0.3.0"

# Documented modules that have moved, with everything below them; the longest matching prefix counts.
MOVED_MODULES = {
    "eigenclean.experiments.analyses": "eigenclean_lab.analyses",
    "eigenclean.experiments.theory": "eigenclean_lab.theory",
    "eigenclean.experiments.training": "eigenclean.workflows.train",
    "eigenclean.train.features": "eigenclean.train.encoder",
    "eigenclean.features.torch_module": "eigenclean.features.encoders.torch_module",
    "eigenclean.sources.memory": "eigenclean.sources.arrays.memory",
}
# Packages all of whose modules have moved: importable, but empty.
EMPTIED_PACKAGES = ("eigenclean.experiments",)

_Callable = TypeVar("_Callable", bound=Callable[..., object])


def renaming_notice(old: str, new: str) -> str:
    """Return the sentence that tells a user about a renaming.

    >>> renaming_notice("the column 'alignment'", "'score'")
    "the column 'alignment' is now 'score'; the old name is removed in eigenclean 0.3.0"
    """
    return f"{old} is now {new}; the old name is removed in eigenclean {REMOVED_IN}"


def warn_renamed(old: str, new: str, *, stacklevel: int = 2) -> None:
    """Issue the DeprecationWarning for a renaming; ``stacklevel`` counts from the caller, as in `warnings.warn`."""
    warnings.warn(renaming_notice(old, new), DeprecationWarning, stacklevel=stacklevel + 1)


def renamed_names(module: str, renamed: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for ``module`` that answers its old names.

    A new name without a colon is in the same module; ``"package.module:name"`` is a name of another one.
    """

    def __getattr__(name: str) -> Any:
        if name not in renamed:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, _, new_name = renamed[name].rpartition(":")
        home = home or module
        warn_renamed(f"{module}.{name}", f"{home}.{new_name}")
        return getattr(import_module(home), new_name)

    return __getattr__


def renamed_arguments(**renamed: str) -> Callable[[_Callable], _Callable]:
    """Decorate a function or a class so that it still takes keyword arguments by their old names.

    >>> @renamed_arguments(colour="color")
    ... def paint(color: str) -> str:
    ...     return color
    >>> paint(color="red")
    'red'
    """

    def decorate(function: _Callable) -> _Callable:
        decorated: Any = function
        called = decorated.__init__ if isinstance(function, type) else decorated

        @functools.wraps(called)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            for old in renamed.keys() & kwargs.keys():
                new = renamed[old]
                if new in kwargs:
                    raise TypeError(f"{function.__qualname__}() got both {new!r} and its old name {old!r}")
                warn_renamed(f"the argument {old!r} of {function.__qualname__}", repr(new))
                kwargs[new] = kwargs.pop(old)
            return called(*args, **kwargs)

        if isinstance(function, type):
            decorated.__init__ = wrapper
            return function
        return cast("_Callable", wrapper)

    return decorate


class RenamedAttribute:
    """A descriptor that forwards reading and writing of an old attribute to the new one.

    >>> class Verdict:
    ...     score = 0.5
    ...     alignment = RenamedAttribute("score")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     Verdict().alignment
    0.5
    >>> print(caught[0].message)
    Verdict.alignment is now Verdict.score; the old name is removed in eigenclean 0.3.0
    """

    def __init__(self, new: str) -> None:
        self.new = new

    def __set_name__(self, owner: type, name: str) -> None:
        self.old = name

    def __get__(self, instance: object | None, owner: type) -> Any:
        warn_renamed(f"{owner.__name__}.{self.old}", f"{owner.__name__}.{self.new}")
        return getattr(owner if instance is None else instance, self.new)

    def __set__(self, instance: object, value: object) -> None:
        name = type(instance).__name__
        warn_renamed(f"{name}.{self.old}", f"{name}.{self.new}")
        setattr(instance, self.new, value)


class MovedModules:
    """Imports a moved module by its old path: ``sys.modules`` holds the one module under both names.

    It is a finder and a loader by its methods alone: their base classes in `importlib.abc` would take a third of
    the time of ``import eigenclean``.
    """

    def __init__(self, moved: Mapping[str, str], emptied: Collection[str] = ()) -> None:
        self.moved = dict(moved)
        self.emptied = frozenset(emptied)
        self._roots = tuple(f"{old}." for old in moved)

    def new_path(self, path: str) -> str | None:
        """Return where the module with the old ``path`` is now, or None if it has not moved."""
        if not f"{path}.".startswith(self._roots):
            return None
        old = max((old for old in self.moved if f"{path}.".startswith(f"{old}.")), key=len)
        return self.moved[old] + path[len(old) :]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Claim the import of a module that has moved, or of the package that it was in."""
        if fullname in self.emptied:
            return ModuleSpec(fullname, None, is_package=True)  # a namespace package without folders
        return None if self.new_path(fullname) is None else ModuleSpec(fullname, cast("Any", self))

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to the import system to make the module, which `exec_module` then replaces."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the module of the new path into the place of the empty one that the import system made."""
        old = module.__name__
        new = cast("str", self.new_path(old))
        warn_renamed(old, new)  # frames of the import system do not count
        try:
            sys.modules[old] = import_module(new)
        except ModuleNotFoundError as error:
            if error.name != "eigenclean_lab":
                raise
            raise ModuleNotFoundError(
                f"{old} is now {new}, which is a package of its own: pip install eigenclean-lab", name=old
            ) from None


def install() -> None:
    """Let the old paths of `MOVED_MODULES` be imported.

    The finder goes to the front. Otherwise the submodules of a moved package would be found a second time below
    its old name, and there would be two of every class.
    """
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.insert(0, MovedModules(MOVED_MODULES, EMPTIED_PACKAGES))
