"""Figures as SVG text, which can say what results it was drawn from, so that a test can tell an old figure."""

import json
from io import BytesIO
from typing import TYPE_CHECKING, Any

from eigenclean_lab.store import short_hash

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Text stays text, and nothing depends on the time or a random number: equal results, equal file.
SVG_STYLE: dict[Any, Any] = {"svg.hashsalt": "eigenclean", "svg.fonttype": "none", "font.size": 8}


def svg_text(figure: "Figure", drawn_from: str | None = None) -> str:
    """The figure, with the fingerprint of its results as description, if there is one; without trailing blanks."""
    content = BytesIO()
    metadata = {"Date": None, "Creator": "eigenclean", "Description": drawn_from}
    figure.savefig(content, format="svg", metadata=metadata)
    lines = content.getvalue().decode("utf-8").splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def results_fingerprint(results: Any) -> str:
    """Stands for plain values that a figure shows.

    >>> results_fingerprint({"fine": 0.5}) == results_fingerprint({"fine": 0.6})
    False
    """
    return f"results {short_hash(json.dumps(results, sort_keys=True))}"
