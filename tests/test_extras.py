"""Optional libraries: there, missing, or broken."""

import sys
from pathlib import Path

import pytest

from eigenclean.errors import EigencleanError, MissingExtra
from eigenclean.extras import require


def test_what_is_there_is_returned() -> None:
    assert require("os.path", extra="train", caller="test") is sys.modules["os.path"]


@pytest.mark.parametrize("module", ["no_such_library", "no_such_library.inner", "json.no_such_part"])
def test_what_is_missing_is_named_with_the_command(module: str) -> None:
    with pytest.raises(MissingExtra) as error:
        require(module, extra="dask", caller="eigenclean detect --engine dask")
    assert str(error.value) == (
        f"eigenclean detect --engine dask needs {module}, which is not installed: pip install 'eigenclean[dask]'"
    )
    assert isinstance(error.value, EigencleanError)
    assert isinstance(error.value, ImportError)


def test_a_broken_library_says_itself_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "half_a_library.py").write_text("import what_it_needs_is_missing\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="what_it_needs_is_missing") as error:
        require("half_a_library", extra="train", caller="test")
    assert not isinstance(error.value, MissingExtra)
