"""What the workflows share: how a source is opened, decisions of people about it, and messages to the user."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eigenclean.errors import InvalidOption
from eigenclean.patch import Patch
from eigenclean.paths import FOLLOW
from eigenclean.scale.resources import ENGINES_IN_BLOCKS
from eigenclean.sources import Source, open_source, source_record
from eigenclean.sources.record import memory_record
from eigenclean.sources.relabel import ReviewedLabels, reviewed_labels

# Takes one message: the command line prints it, Python code may do what it likes.
Notify = Callable[[str], None]


MAX_LISTED = 1000  # links that a summary lists


def ignore(message: str) -> None:
    """Drop a message: the default of every workflow."""


def refuse_blocks(engine: str | None, *, by: str) -> None:
    """Raise `InvalidOption` if an engine was named that never holds all rows, which ``by`` needs."""
    if engine in ENGINES_IN_BLOCKS:
        raise InvalidOption(f"{by} all rows in memory: leave out --engine {engine}")


@dataclass(frozen=True)
class SourceOptions:
    """What `eigenclean.sources.open_source` is told beside the data; see there."""

    labels: Any = None
    label_column: str | None = None
    feature_columns: Sequence[str] | None = None
    id_column: str | None = None
    text_column: str | None = None
    image_column: str | None = None
    image_root: Path | None = None
    follow_links: bool = False
    category_columns: Sequence[str] | None = None
    leave_out: Sequence[str] | None = None
    split: str | None = None
    annotator_columns: Sequence[str] | None = None
    annotator_column: str | None = None
    group_column: str | None = None

    @property
    def has_annotators(self) -> bool:
        """Whether columns of annotators are named."""
        return self.annotator_columns is not None or self.annotator_column is not None

    def open(
        self,
        source: Any,
        *,
        raw: bool = False,
        split: str | None = None,
        need_features: bool = True,
        notify: Notify = ignore,
    ) -> Source:
        """Open a source; with ``raw`` as images or texts, though it may have features.

        Without ``need_features``, labels alone are enough. ``notify`` is told about links that lead out of the
        folder of the data and were left out, and what became of the columns of a table.
        """
        data = open_source(
            source,
            labels=self.labels,
            label_column=self.label_column,
            feature_columns=self.feature_columns,
            category_columns=self.category_columns,
            leave_out=self.leave_out,
            annotator_columns=self.annotator_columns,
            annotator_column=self.annotator_column,
            group_column=self.group_column,
            id_column=self.id_column,
            text_column=self.text_column,
            image_column=self.image_column,
            image_root=self.image_root,
            raw=raw,
            split=self.split if split is None else split,
            follow_links=self.follow_links,
            need_features=need_features,
        )
        if data.skipped_links:
            n = len(data.skipped_links)
            notify(
                f"{n} link{'s' * (n != 1)} out of {data.name} {'is' if n == 1 else 'are'} left out, such as "
                f"{data.skipped_links[0]}; {FOLLOW} reads what {'it leads' if n == 1 else 'they lead'} to"
            )
        if data.found_label:
            notify(
                f"labels: the column {data.label_column!r}, the only one that can hold labels; choose another with "
                "--label-column"
            )
        if data.annotations is not None:
            for note in data.annotations.check(by=data.name):
                notify(f"{data.name}: {note}")
        if data.n_unlabelled:
            n = data.n_unlabelled
            left_out = "1 row has" if n == 1 else f"{n} rows have"
            notify(f"{data.name}: {left_out} no label by any annotator and {'is' if n == 1 else 'are'} left out")
        if data.encoding is not None:
            notify(data.encoding.sentence())
        return data

    def record(self, source: Any, *, name: str = "", need_features: bool = True) -> dict[str, Any]:
        """The source and these options for ``summary.json``, so that review and export can open it again.

        Python objects cannot be opened again; ``name`` is what to call them.
        """
        if not all(isinstance(value, str | os.PathLike | None) for value in (source, self.labels)):
            return memory_record(name)
        flags = {"follow_links": self.follow_links or None, "need_features": None if need_features else False}
        return source_record(source, **{**vars(self), **flags})


def link_facts(data: Source) -> dict[str, Any]:
    """The entry of a summary about links that lead out of the folder of the data; empty when there are none."""
    if not data.skipped_links:
        return {}
    return {"skipped_links": {"n": len(data.skipped_links), "names": list(data.skipped_links[:MAX_LISTED])}}


@dataclass(frozen=True)
class PatchFile:
    """A patch of decisions by people, and whether equal ids are enough to match it to the data."""

    path: Path
    by_id: bool = False

    def decisions(self, data: Source) -> ReviewedLabels:
        """What people decided about these data; `InvalidData` when the patch is about others."""
        return reviewed_labels(data, Patch.load(self.path), by_id=self.by_id, name=str(self.path))
