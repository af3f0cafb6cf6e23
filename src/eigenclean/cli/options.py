"""Options that several commands have: one name, one default, one sentence of help."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenclean.errors import InvalidOption

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="x.npz (arrays features, labels) · x.npy with --labels · .parquet .arrow .csv · "
        "a folder of such files · the folder of a saved Hugging Face data set · "
        "a folder of class folders of images · "
        "a data set as its authors hand it out, such as cifar10:PATH (eigenclean list layouts) · "
        "a bundled data set (eigenclean list datasets)",
        show_default=False,
    ),
]
Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.", show_default=False)]
Labels = Annotated[
    Path | None, typer.Option("--labels", help="Labels that are not in the source: .npy, .txt or .csv.")
]
LabelColumn = Annotated[str | None, typer.Option(help="Column of the labels.")]
FeatureColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--feature-column",
        "--feature-columns",
        help="Column of features, or a pattern such as 'f*'; may be repeated.",
    ),
]
IdColumn = Annotated[str | None, typer.Option(help="Column of unique row ids.")]
TextColumn = Annotated[str | None, typer.Option(help="Column of texts to show in the report.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of a table.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="OPTION=VALUE", help="Any option of the method, such as subset=0.01; may be repeated."
    ),
]


def parse_settings(settings: list[str] | None) -> dict[str, Any]:
    """``["subset=0.01", "cut=beta"]`` as a dict; values are JSON where they can be, text otherwise.

    >>> parse_settings(["subset=0.01", "cut=beta", "cut.monotone=false"])
    {'subset': 0.01, 'cut': 'beta', 'cut.monotone': False}
    """
    parsed: dict[str, Any] = {}
    for setting in settings or []:
        name, equals, text = setting.partition("=")
        if not equals or not name.strip():
            raise InvalidOption(f"--set must look like option=value, got {setting!r}")
        try:
            parsed[name.strip()] = json.loads(text)
        except json.JSONDecodeError:
            parsed[name.strip()] = text
    return parsed
