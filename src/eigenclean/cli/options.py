"""Options that several commands have: one name, one default, one sentence of help; and groups of them."""

import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenclean.cli.hints.completion import names_of
from eigenclean.errors import InvalidOption

if TYPE_CHECKING:
    from eigenclean.workflows.embedding import EmbeddingOptions
    from eigenclean.workflows.options import PatchFile, SourceOptions

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="x.npz (arrays features, labels) · x.npy with --labels · .parquet .arrow .csv .tsv .jsonl .json "
        "(the last four also .gz) .xlsx · "
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
        help="Use only this column as a feature, or a pattern such as 'f*'; may be repeated.",
    ),
]
CategoryColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--category-column",
        help="Column whose values are names even if they are numbers, or a pattern; may be repeated.",
    ),
]
LeaveOut = Annotated[
    list[str] | None,
    typer.Option(help="Column that is not to be a feature, or a pattern; may be repeated."),
]
AnnotatorColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--annotator-columns",
        help="Columns of labels by one annotator each, or a pattern such as 'rater_*'; may be repeated.",
    ),
]
AnnotatorColumn = Annotated[
    str | None,
    typer.Option(help="Column that names the annotator, in a table with one row per label and a column of ids."),
]
GroupColumn = Annotated[
    str | None,
    typer.Option(help="Column that says which rows belong together (scene, patient, user): others judge them."),
]
IdColumn = Annotated[str | None, typer.Option(help="Column of unique row ids.")]
TextColumn = Annotated[
    str | None, typer.Option(help="Column of texts to embed, beside the other columns of the table.")
]
ImageColumn = Annotated[
    str | None, typer.Option(help="Column of images to embed: paths, or the bytes of image files.")
]
ImageRoot = Annotated[
    Path | None,
    typer.Option(help="Folder that paths of images are relative to and stay in; by default that of the table."),
]
FollowLinks = Annotated[
    bool,
    typer.Option("--follow-links", help="In a folder of data, follow symbolic links that lead out of it."),
]
Encoder = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[:MODEL][?size=N]",
        autocompletion=names_of("encoders"),
        help="What turns images or texts into features; see `eigenclean list encoders`. By default the best that "
        "is installed, when there are no features.",
    ),
]
EncoderOfRun = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[:MODEL][?size=N]",
        help="The encoder that made the features of the run, if it is not a bundled one: a run may be somebody "
        "else's, and never chooses code, files or downloads by itself.",
    ),
]
ImageRootOfRun = Annotated[
    Path | None, typer.Option(help="Folder of the images, if it is not below that of the data.")
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


@dataclass(frozen=True)
class TableOptions:
    """Where labels, features and ids are in the source."""

    labels: Labels = None
    label_column: LabelColumn = None
    feature_columns: FeatureColumns = None
    category_columns: CategoryColumns = None
    leave_out: LeaveOut = None
    id_column: IdColumn = None
    follow_links: FollowLinks = False

    def source_options(self) -> "SourceOptions":
        """These options for a workflow."""
        from eigenclean.workflows.options import SourceOptions

        return SourceOptions(**vars(self))


@dataclass(frozen=True)
class TextTableOptions(TableOptions):
    """Options of tables that may have texts."""

    text_column: TextColumn = None


@dataclass(frozen=True)
class RawTableOptions(TextTableOptions):
    """Options of tables that may have texts or images."""

    image_column: ImageColumn = None
    image_root: ImageRoot = None


@dataclass(frozen=True)
class AnnotatedTableOptions(RawTableOptions):
    """Options of tables that may have labels by several annotators."""

    annotator_columns: AnnotatorColumns = None
    annotator_column: AnnotatorColumn = None


@dataclass(frozen=True)
class GroupedTableOptions(AnnotatedTableOptions):
    """Options of tables that may have groups of rows."""

    group_column: GroupColumn = None


@dataclass(frozen=True)
class PatchOptions:
    """A patch of decisions by people."""

    patch: PatchOption = None
    by_id: ById = False

    def patch_options(self) -> "PatchFile | None":
        """These options for a workflow; None without a patch."""
        from eigenclean.workflows.options import PatchFile

        return None if self.patch is None else PatchFile(self.patch, self.by_id)


@dataclass(frozen=True)
class EncoderOptions:
    """How images and texts become features."""

    encoder: Encoder = None
    device: Device = None
    half: Half = False
    batch: Batch = None
    cache: Cache = None
    no_cache: NoCache = False
    strict: Strict = False

    def embedding_options(self) -> "EmbeddingOptions":
        """These options for a workflow."""
        from eigenclean.workflows.embedding import EmbeddingOptions

        return EmbeddingOptions(
            self.encoder, self.device, self.half, self.batch, self.cache, not self.no_cache, self.strict
        )


def command_line() -> str:
    """The command as it was typed, for the report."""
    return shlex.join(["eigenclean", *sys.argv[1:]])


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
