"""`eigenclean export`: the verdict of a run as a file for another tool; for models see `training.export_model`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.errors import EigencleanError, InvalidOption
from eigenclean.files import parse_json
from eigenclean.names import check_name
from eigenclean.paths import FOLLOW
from eigenclean.publication import read_together
from eigenclean.report.exports import EXPORTS, Rows
from eigenclean.sources import Source, reopen
from eigenclean.sources.record import NeedsPermission
from eigenclean.train.export import FORMATS
from eigenclean.verdict import FILE, SUMMARY, Verdict
from eigenclean.workflows.options import Notify, ignore

# All names that `--to` takes: tools that take a verdict, and formats of trained models.
NAMES: dict[str, Any] = {**EXPORTS, **FORMATS}


@dataclass(frozen=True)
class Exported:
    """How many rows were written, and whether these are all samples or the flagged ones."""

    n_rows: int
    all_rows: bool


def export_run(
    run: Path,
    to: str,
    out: Path,
    *,
    all_rows: bool | None = None,
    images: Path | None = None,
    image_root: Path | None = None,
    follow_links: bool = False,
    notify: Notify = ignore,
) -> Exported:
    """Write the verdict in the folder ``run`` for the tool ``to``.

    Args:
        run: folder that `run_detect` wrote.
        to: a name in `EXPORTS`.
        out: the file to write.
        all_rows: all samples in their order, or the flagged ones, worst first; None for what the tool is used for.
        images: folder in which the ids are names of image files.
        image_root: folder of the images of the run, if it is not below that of its data.
        follow_links: read links that lead out of the folder of the data.
        notify: told when texts and images are left out, because the data have changed.
    """
    check_name(to, NAMES, by="eigenclean export", what="--to")
    if to not in EXPORTS:
        raise InvalidOption(f"eigenclean export: {to} is a format of trained models, see `export_model`")
    export = EXPORTS[to]
    export.check_path(out, to)
    verdict, summary = read_together(run, [FILE, SUMMARY], lambda: (Verdict.load(run), _summary(run)))
    everything = export.everything if all_rows is None else all_rows
    rows = np.arange(len(verdict)) if everything else verdict.suspects()
    export.write(Rows(verdict, rows, _source(summary, image_root, follow_links, notify), images), out)
    return Exported(len(rows), everything)


def _summary(run: Path) -> Any:
    """The summary of the run; None when it cannot be read."""
    try:
        return parse_json((run / SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _source(summary: Any, image_root: Path | None, follow_links: bool, notify: Notify) -> Source | None:
    """The data of the run, for their texts and images, if they can be opened and have not changed."""
    if not isinstance(summary, dict):
        return None
    try:
        record = summary.get("source")
        if not isinstance(record, dict):
            return None
        source = reopen(record, image_root=image_root, follow_links=follow_links)
        if source.data_hash() != summary.get("data_hash"):
            linked = record.get("follow_links") and not follow_links
            hint = f"; it was read with {FOLLOW}, so add that if you trust the links in it" if linked else ""
            notify(f"note: {source.name} has changed since the run, so its texts and images are left out{hint}")
            return None
        return source
    except NeedsPermission as error:
        notify(f"note: texts and images are left out: {error}")
        return None
    except (OSError, ValueError, EigencleanError):
        return None
