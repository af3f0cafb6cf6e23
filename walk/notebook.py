"""The walk in a real Jupyter kernel: audit, review in the browser, patch, audit again, train, predict."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbclient
import nbformat
from playwright.sync_api import Browser

from walk.case import Case
from walk.commands import check_predictions
from walk.program import Broken, Times
from walk.reviewer import Reviewer

TIMEOUT = 600  # seconds of a cell
_IMPORTS = """import json
import numpy as np
import pandas as pd
import eigenclean
from eigenclean import RobustClassifier, open_source
from eigenclean.features import best_encoder, embed_source, make_encoder
"""
_FRAME = re.compile(r'<iframe data-eigenclean="([^"]+)"')


class Kernel:
    """A kernel that runs one cell after the other, as in a notebook that somebody works in."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def run(self, code: str) -> str:
        """Run a cell; return its last HTML, or its text."""
        cell = nbformat.v4.new_code_cell(code)  # type: ignore[no-untyped-call]
        self._client.nb.cells.append(cell)
        self._client.execute_cell(cell, len(self._client.nb.cells) - 1)
        shown = [output for output in cell.outputs if "data" in output]
        html = [output["data"]["text/html"] for output in shown if "text/html" in output["data"]]
        printed = "".join(output["text"] for output in cell.outputs if output.get("name") == "stdout")
        return str(html[-1]) if html else printed


@contextmanager
def kernel(folder: Path) -> Iterator[Kernel]:
    """A Python kernel that works in a folder."""
    notebook = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    client = nbclient.NotebookClient(
        notebook, timeout=TIMEOUT, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    with client.setup_kernel():
        yield Kernel(client)


def walk_notebook(case: Case, folder: Path, browser: Browser, *, method: str = "") -> Times:
    """Take the walk in ``folder``, which holds the case; return how long each step took.

    ``method`` is more code among the arguments of `audit`.
    """
    cells, times = case.cells, Times()
    arguments = f"{cells.audit}{method}"
    with kernel(folder) as session:
        with times.step("kernel"):
            session.run(f"{_IMPORTS}{cells.load}\nlabels, right = {cells.labels}, {cells.right}")
        with times.step("detect"):
            _expect("labels look wrong", session.run(f"result = eigenclean.audit({arguments})\nresult"))
        with times.step("review"):
            frame = _FRAME.search(session.run("server = result.review(port=0, folder='notebook-run')\nserver"))
            if frame is None:
                raise Broken("the cell of the review shows no frame")
            ids = json.loads(session.run("print(json.dumps([str(id) for id in result.verdict.ids.tolist()]))"))
            known = json.loads(session.run("print(json.dumps(right.tolist()))"))
            truth = dict(zip(ids, map(str, known), strict=True))
            Reviewer(browser, truth).decide(frame[1].replace("&amp;", "&"))
        with times.step("patch"):
            session.run("server.stop()\npatch = result.patch()\npatch.save('notebook-patch.jsonl')")
            session.run(
                "chosen, verdict = patch.is_('relabel'), result.verdict\n"
                "consensus = getattr(verdict, 'consensus_label', None)\n"
                "fixed = np.array(verdict.labels if consensus is None else consensus)\n"
                "place = {id: row for row, id in enumerate(verdict.ids.tolist())}\n"
                "fixed[[place[id] for id in patch.ids[chosen].tolist()]] = patch.new[chosen]"
            )
        with times.step("detect again"):
            if case.is_patched:
                session.run(
                    f"labels = fixed\nagain = eigenclean.audit({arguments})\n"
                    "assert again.verdict.n_flagged < result.verdict.n_flagged\nagain"
                )
        with times.step("train"):
            session.run(f"model = RobustClassifier('probe').fit({cells.rows}, fixed)")
        with times.step("predict"):
            predicted = session.run(f"print(json.dumps(model.predict({cells.new}).tolist()))")
    check_predictions(list(map(str, json.loads(predicted))), case)
    return times


def _expect(text: str, shown: str) -> None:
    if text not in shown:
        raise Broken(f"the cell should show {text!r}, but shows {shown[:200]!r}")
