"""A summary as one HTML page that needs nothing but itself."""

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from numpy.typing import ArrayLike

from eigenclean.arrays import Array
from eigenclean.files import write_text
from eigenclean.metrics.calibration import Reliability
from eigenclean.report import figures
from eigenclean.report import formatting as words
from eigenclean.report.figures.scatter import MOST_COLOURS
from eigenclean.report.summarize import summarize
from eigenclean.verdict import Verdict

OPEN_CLASSES = 30  # bars shown before the fold
OPEN_SUSPECTS = 24


def write_report(
    path: str | os.PathLike[str],
    verdict: Verdict,
    *,
    features: ArrayLike | None = None,
    images: Sequence[Any] | Array | None = None,
    texts: Sequence[Any] | Array | None = None,
    run: Mapping[str, Any] | None = None,
    quality: Mapping[str, Any] | None = None,
    reliability: Reliability | None = None,
) -> Path:
    """Write the report of ``verdict`` to ``path``, whole or not at all; the arguments are those of `summarize`."""
    summary = summarize(
        verdict,
        features=features,
        images=images,
        texts=texts,
        run=run,
        quality=quality,
        reliability=reliability,
    )
    write_text(path, render(summary))
    return Path(path)


def render(summary: Mapping[str, Any]) -> str:
    """The page for what `summarize` gave: style, script and pictures inside, nothing fetched from anywhere."""
    style, script = _part("report.css"), _part("report.js")
    return (
        _environment()
        .get_template("report.html")
        .render(
            **summary,
            style=Markup(style),  # our own files, not a user's words
            script=Markup(script),
            policy=content_policy(style, script),
            open_classes=OPEN_CLASSES,
            open_suspects=OPEN_SUSPECTS,
        )
    )


def render_slot(name: str, measured: Mapping[str, Any]) -> str:
    """One of the parts of the page that say something else when the truth becomes known, between its marks."""
    return _environment().get_template(f"{name}.html").render(measured=measured).strip()


def content_policy(style: str, script: str) -> str:
    """What the browser may load: this style, this script, pictures in the page; and nothing else.

    >>> content_policy("", "")[:34]
    "default-src 'none'; img-src data:;"
    """
    return (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _part(name: str) -> str:
    environment = _environment()
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0].strip()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("eigenclean.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        name: getattr(words, name)
        for name in ("between", "count", "percent", "plural", "probability", "short", "score")
    }
    environment.globals["figures"] = figures
    environment.globals["most_colours"] = MOST_COLOURS
    return environment
