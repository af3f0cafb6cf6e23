"""Options that several commands have: one name, one default, one sentence of help."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenclean.errors import InvalidOption

if TYPE_CHECKING:
    from eigenclean.sources import Source
    from eigenclean.sources.relabel import ReviewedLabels

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
TextColumn = Annotated[
    str | None, typer.Option(help="Column of texts: embedded when the table has no features, else only shown.")
]
ImageColumn = Annotated[
    str | None, typer.Option(help="Column of images to embed: paths, or the bytes of image files.")
]
ImageRoot = Annotated[
    Path | None,
    typer.Option(help="Folder that paths of images are relative to and stay in; by default that of the table."),
]
Encoder = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[:MODEL][?size=N]",
        help="What turns images or texts into features; see `eigenclean list encoders`. By default the best that "
        "is installed, when there are no features.",
    ),
]
Device = Annotated[
    str | None, typer.Option(help="Where the encoder runs: cpu, cuda, …; by default the best there is.")
]
Half = Annotated[
    bool, typer.Option("--half", help="Embed with 16 bits: faster, and half the disk; hardly less exact.")
]
Batch = Annotated[int | None, typer.Option(help="Images or texts that are embedded at a time.")]
Cache = Annotated[
    Path | None,
    typer.Option(help="Folder of features computed before; by default EIGENCLEAN_CACHE, then the user's own."),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither look up nor keep features.")]
Strict = Annotated[
    bool, typer.Option("--strict", help="Stop at the first image or text that cannot be read; else it is left out.")
]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of a table.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="OPTION=VALUE", help="Any option of the method, such as subset=0.01; may be repeated."
    ),
]


PatchOption = Annotated[
    Path | None,
    typer.Option(
        "--patch",
        help="What people decided (see `eigenclean patch`): their labels count, what they removed is left out.",
    ),
]
ById = Annotated[
    bool,
    typer.Option(
        "--by-id",
        help="Equal ids and old labels are enough, though the patch was made for other data, "
        "such as features made of these images.",
    ),
]


def read_decisions(data: "Source", patch: Path, *, by_id: bool) -> "ReviewedLabels":
    """What people decided about these data; one sentence when it was about others."""
    from eigenclean.patch import Patch
    from eigenclean.sources.relabel import reviewed_labels

    return reviewed_labels(data, Patch.load(patch), by_id=by_id, name=str(patch))


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
