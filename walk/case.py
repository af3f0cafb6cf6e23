"""What the walk knows about one kind of data: where it is, how it is opened, and the right labels."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cells:
    """Python code of the walk in a notebook.

    Attributes:
        load: statements that load the data.
        audit: arguments of `eigenclean.audit`, in which ``labels`` are the labels.
        labels: the given labels; "None" where several people gave some.
        right: the right labels.
        rows: features of these rows, to train on.
        new: features of new rows, in the order of `Case.new_truth`.
    """

    load: str
    audit: str
    labels: str
    right: str
    rows: str
    new: str


@dataclass(frozen=True)
class Case:
    """Data of one kind, written into a folder; paths are relative to it.

    Attributes:
        source: what the commands open.
        truth: the right label of each id, as texts.
        new: rows to predict.
        new_truth: their right labels, in order.
        cells: the same in Python.
        columns: options that say where labels and features are.
        judging: options of `detect` alone.
        train: arguments of `train`, if it does not take the patched data.
        is_patched: whether there is a copy of the data with corrected labels; several annotators have no label to
            correct, and their decisions are given to `detect` and `train`.
        least: share of new rows that must be predicted correctly.
    """

    source: str
    truth: Mapping[str, str]
    new: str
    new_truth: tuple[str, ...]
    cells: Cells
    columns: tuple[str, ...] = ()
    judging: tuple[str, ...] = ()
    train: tuple[str, ...] = ()
    is_patched: bool = True
    least: float = 0.75


@dataclass(frozen=True)
class Kind:
    """A kind of data: what it is, and a function that writes a case of it into a folder."""

    summary: str
    write: Callable[[Path], Case]
