"""An audit in a real Jupyter kernel: what the cells show, progress, and the review beside it."""

from typing import Any

import pytest

nbformat: Any = pytest.importorskip("nbformat")
nbclient: Any = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytestmark = pytest.mark.slow

CELLS = [
    "import eigenclean\n"
    "from sklearn.datasets import load_digits\n"
    "X, y = load_digits(return_X_y=True)\n"
    "y[::18] = (y[::18] + 1) % 10\n"
    "result = eigenclean.audit(X, label=y)\nresult",
    "result.suspects(3)",
    "result.verdict",
    "server = result.review(port=0)\nserver",
    "server.stop()\nresult.patch(accept=0.9).save('patch.jsonl')\nresult.save('run')\neigenclean.Audit.load('run')",
]


def html_of(cell: Any) -> list[str]:
    return [output["data"]["text/html"] for output in cell.outputs if "text/html" in output.get("data", {})]


def test_the_walk_in_a_notebook(tmp_path: Any) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in CELLS])
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    first, suspects, verdict, server, loaded = notebook.cells
    assert "labels look wrong" in html_of(first)[-1] and "eigenclean-audit" in html_of(first)[-1]
    assert "<progress" not in "".join(html_of(first))  # the bars have gone
    assert "given_label" in html_of(suspects)[0]
    assert "P(right)" in html_of(verdict)[0]
    assert "<iframe" in html_of(server)[0]
    assert "labels look wrong" in html_of(loaded)[0]
    assert (tmp_path / "patch.jsonl").is_file()
    assert not [output for cell in notebook.cells for output in cell.outputs if output.output_type == "error"]
