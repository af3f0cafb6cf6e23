"""The notebooks in docs/tutorials/ run, print what they show, and are pages of the site."""

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("annotators", "images", "larger-than-memory", "tables", "texts", "training")


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in NAMES])
def test_a_notebook_shows_what_comes_out(name: str, notebooks: ModuleType, examples: ModuleType) -> None:
    pytest.importorskip("ipykernel")
    kept, fresh = notebooks.read(name), notebooks.run(name)
    for before, now in zip(notebooks.printed(kept), notebooks.printed(fresh), strict=True):
        again = f"run python docs/notebooks.py {name}: it shows\n{before}\nbut this came out\n{now}"
        assert examples.matches(before.splitlines(), now, approx=True), again
    assert outputs(kept) == outputs(fresh)


def outputs(notebook: dict[str, Any]) -> list[set[str]]:
    """The kinds of the outputs of each cell; what is printed may come in several pieces."""
    return [{output["output_type"] for output in cell.get("outputs", ())} for cell in notebook["cells"]]


def test_all_notebooks_are_kept_with_outputs_and_listed(notebooks: ModuleType) -> None:
    assert notebooks.names() == sorted(NAMES)
    index = (ROOT / "docs" / "tutorials" / "index.md").read_text(encoding="utf-8")
    for name in NAMES:
        notebook, page = notebooks.read(name), notebooks.notebook_page(name)
        assert f"](../img/tutorial-{name}.png)]({name}.md)" in index
        assert 1_000 < (ROOT / "docs" / "img" / f"tutorial-{name}.png").stat().st_size < 60_000
        assert sum(map(bool, notebooks.printed(notebook))) >= 1, "it was never run"
        assert not [o for cell in notebook["cells"] for o in cell.get("outputs", ()) if o["output_type"] == "error"]
        assert f"[download it]({name}.ipynb)" in page and page.startswith("# ")
        assert not re.search(r"/(?:tmp|home|root)/", page)
