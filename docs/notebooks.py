"""The tutorials, notebooks in docs/tutorials/. `python docs/notebooks.py [NAME ...]` runs them and keeps outputs.

The site shows them as pages (docs/hooks.py); the tests run them and compare what they print with what is kept.
"""

import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "tutorials"
TIMEOUT = 600  # seconds of a cell
_SPEED = re.compile(r" in [\d.]+ s \([\d.]+ a second\)")  # of embedding, which depends on the machine
_HEAD = re.compile(r"^# .*$", re.MULTILINE)


def names() -> list[str]:
    """The tutorials, by the names of their files."""
    return sorted(path.stem for path in FOLDER.glob("*.ipynb"))


def read(name: str) -> dict[str, Any]:
    """A notebook as it is kept."""
    record: dict[str, Any] = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    return record


def run(name: str) -> dict[str, Any]:
    """Run a notebook in a kernel of its own, in an empty folder; return it with its outputs."""
    import nbclient
    import nbformat

    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        client = nbclient.NotebookClient(
            notebook, timeout=TIMEOUT, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        client.execute()
    ran: dict[str, Any] = json.loads(nbformat.writes(notebook))  # type: ignore[no-untyped-call]
    for cell in ran["cells"]:
        cell["metadata"] = {}
        if cell["cell_type"] == "code":
            cell["outputs"] = [_steady(output) for output in cell["outputs"] if _is_shown(output)]
    ran["metadata"] = read(name)["metadata"]  # the version of this Python is not part of the tutorial
    return ran


def printed(notebook: Mapping[str, Any]) -> list[str]:
    """What each code cell prints as text, one entry for each cell; tables and pictures are left out."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return ["".join(_text(output) for output in cell["outputs"]) for cell in cells]


def notebook_page(name: str) -> str:
    """A notebook as a page of the site, in Markdown with HTML."""
    link = f"This page is a notebook: [download it]({name}.ipynb){{ download }} and run it."
    parts: list[str] = []
    for cell in read(name)["cells"]:
        source = _joined(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_shown(output) for output in cell["outputs"]]
    text = "\n\n".join(parts) + "\n"
    return _HEAD.sub(lambda head: f"{head[0]}\n\n{link}", text, count=1)


def _is_shown(output: Mapping[str, Any]) -> bool:
    """Whether an output is part of the result: no bar of progress that has gone, no note about the machine."""
    if output["output_type"] == "stream":
        return bool(output["name"] == "stdout")
    return bool(_joined(output.get("data", {}).get("text/html", "x")).strip())


def _steady(output: dict[str, Any]) -> dict[str, Any]:
    """The output without what differs in every run."""
    data = output.get("data", {})
    if "text/html" in data:
        data["text/html"] = _SPEED.sub("", _joined(data["text/html"]))
    if "text/html" in data and "text/plain" in data:
        data["text/plain"] = re.sub(r" at 0x[0-9a-f]+", "", _joined(data["text/plain"]))
    return output


def _text(output: Mapping[str, Any]) -> str:
    if output["output_type"] == "stream":
        return _joined(output["text"])
    data = output.get("data", {})
    return "" if "text/html" in data or "image/png" in data else _joined(data.get("text/plain", ""))


def _shown(output: Mapping[str, Any]) -> str:
    """One output as a block of a page."""
    data = output.get("data", {})
    if "text/html" in data:
        html = "\n".join(line for line in _joined(data["text/html"]).splitlines() if line.strip())
        return f'<div class="notebook-output">\n{html}\n</div>'
    if "image/png" in data:
        picture = "".join(_joined(data["image/png"]).split())
        return f'<div class="notebook-output"><img alt="Plot" src="data:image/png;base64,{picture}"></div>'
    return f"```text\n{_text(output).rstrip()}\n```"


def _joined(text: str | Sequence[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


def write(name: str, notebook: Mapping[str, Any]) -> None:
    """Keep a notebook that was run."""
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
    (FOLDER / f"{name}.ipynb").write_text(text + "\n", encoding="utf-8")


def refreshed(wanted: Sequence[str]) -> Iterator[str]:
    """Run the notebooks of those names, or all; give each name when it is written."""
    for name in wanted or names():
        write(name, run(name))
        yield name


if __name__ == "__main__":
    for done in refreshed(sys.argv[1:]):
        sys.stdout.write(f"{done} was run\n")
