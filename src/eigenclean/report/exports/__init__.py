"""A verdict for other people's tools: one file per tool, one line in `EXPORTS`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from eigenclean.errors import InvalidOption
from eigenclean.report.exports.argilla import to_argilla
from eigenclean.report.exports.cleanlab import to_cleanlab
from eigenclean.report.exports.fiftyone import to_fiftyone
from eigenclean.report.exports.label_studio import to_label_studio
from eigenclean.report.exports.rows import Rows
from eigenclean.report.exports.spreadsheet import to_spreadsheet

__all__ = ["EXPORTS", "Export", "Rows"]


@dataclass(frozen=True)
class Export:
    """A file format for another tool.

    Attributes:
        write: writes the rows to a file, whole or not at all.
        suffixes: of the file.
        everything: whether all samples are of interest by default, and not just the flagged ones.
    """

    write: Callable[[Rows, Path], None]
    suffixes: tuple[str, ...]
    everything: bool

    def check_path(self, path: Path, name: str) -> None:
        """Raise `InvalidOption` unless the file has a name that the tool expects."""
        if path.suffix.lower() not in self.suffixes:
            raise InvalidOption(
                f"eigenclean export: --to {name} writes a {' or '.join(self.suffixes)} file, got --out {path}"
            )


EXPORTS: dict[str, Export] = {
    "csv": Export(to_spreadsheet, (".csv",), everything=True),
    "cleanlab": Export(to_cleanlab, (".csv", ".parquet"), everything=True),
    "label-studio": Export(to_label_studio, (".json",), everything=False),
    "argilla": Export(to_argilla, (".json",), everything=False),
    "fiftyone": Export(to_fiftyone, (".json",), everything=True),
}
