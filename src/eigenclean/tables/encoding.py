"""The columns of a table as one matrix of numbers: fitted once, saved as JSON, applied to any rows."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from eigenclean.arrays import Floats, Ints, row_chunks
from eigenclean.errors import InvalidData
from eigenclean.files import json_text, parse_json, write_text
from eigenclean.tables.encoders import ENCODERS, CategoryEncoder, ColumnEncoder, NumberEncoder
from eigenclean.tables.names import is_numbered_family, numbered_columns
from eigenclean.tables.roles import USED, InferredRole, Role, find_role, named_role
from eigenclean.tables.sample import ColumnSample, sample_table
from eigenclean.tables.values import as_floats, as_texts, is_quantity, missing_texts, spelled_numbers, to_arrow

_FORMAT = "eigenclean table encoding"
_VERSION = 1
_COPY_ROWS = 2048  # stay in the cache of a core
_MAX_COPIES = 5  # columns that repeat the label and are named
MAX_RATIO = 100.0  # of the spreads of columns that are used as they are


@dataclass(frozen=True)
class ColumnChoices:
    """What the user says about columns.

    Attributes:
        features: columns that are used whatever they look like.
        categories: columns whose values are names, even if they are numbers.
    """

    features: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TableEncoding:
    """How the columns of a table become numbers.

    Attributes:
        encoders: one for each column that is used, by name; columns of a matrix in their order in the table.
        left_out: the other columns, with the reason.
        n_filled: missing and infinite values that were filled.
        n_infinite: how many of them were infinite.
        notes: what else the user should know, in phrases.
        content_hash: a hash of the cells of all columns that it was fitted on.
    """

    encoders: tuple[ColumnEncoder, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    n_filled: int = 0
    n_infinite: int = 0
    notes: tuple[str, ...] = ()
    content_hash: str = ""

    @property
    def columns(self) -> list[str]:
        """Names of the columns that are used."""
        return [encoder.name for encoder in self.encoders]

    @property
    def feature_names(self) -> list[str]:
        """A name for each column of the matrix."""
        return [name for encoder in self.encoders for name in encoder.feature_names]

    def transform(self, rows: pa.RecordBatch | pa.Table, *, by: str = "the table") -> Floats:
        """The rows as an n x d matrix of finite numbers, encoded like those of `fit_encoding`."""
        absent = [name for name in self.columns if name not in rows.schema.names]
        if absent:
            raise InvalidData(f"{by} has no column {absent[0]!r}, which the encoding was fitted on; add it")
        blocks = []
        for encoder in self.encoders:
            try:
                blocks.append(encoder.transform(_joined(rows.column(encoder.name))))
            except pa.ArrowException as error:
                raise InvalidData(
                    f"{by}: the column {encoder.name!r} must hold values that are read as {encoder.role}, "
                    f"got {rows.schema.field(encoder.name).type} ({str(error).splitlines()[0]})"
                ) from None
        return _side_by_side(blocks, rows.num_rows)

    @property
    def is_as_is(self) -> bool:
        """Whether the numbers of the columns are the features, without any change."""
        return all(isinstance(encoder, NumberEncoder) and encoder.as_is for encoder in self.encoders)

    def sentence(self) -> str:
        """What was used, filled and left out, in one line.

        >>> table = pa.table({"width": [1.0, None, 3.0], "colour": ["red", "blue", "red"], "unit": ["cm"] * 3})
        >>> fit_encoding(table.to_batches, table.schema).sentence()
        'features: 1 number, 1 category (2 values); filled 1 missing value; left out: unit (constant)'
        """
        used = []
        for role, plural in ((Role.NUMBER, "numbers"), (Role.CATEGORY, "categories"), (Role.BOOLEAN, "booleans")):
            encoders = [encoder for encoder in self.encoders if encoder.role == role]
            if encoders:
                values = sum(len(e.values) for e in encoders if isinstance(e, CategoryEncoder))
                more = f" ({values} values)" if role == Role.CATEGORY else ""
                used.append(f"{len(encoders)} {role.value if len(encoders) == 1 else plural}{more}")
        n_dates = sum(encoder.role == Role.DATE for encoder in self.encoders)
        used += [f"{n_dates} date{'s' * (n_dates != 1)}"] * bool(n_dates)
        phrases = [f"features: {', '.join(used) or 'none'}"]
        if self.n_filled:
            infinite = f", {self.n_infinite} of them infinite" if self.n_infinite else ""
            phrases.append(f"filled {self.n_filled} missing value{'s' * (self.n_filled != 1)}{infinite}")
        phrases += self.notes
        others = {name: reason for name, reason in self.left_out.items() if name not in self.label_copies}
        if others:
            phrases.append(f"left out: {_listed(others)}")
        copies = self.label_copies
        phrases += [f"column '{_shown(name)}' repeats the label; left out" for name in copies[:_MAX_COPIES]]
        if len(copies) > _MAX_COPIES:
            phrases.append(f"so do {len(copies) - _MAX_COPIES} more")
        return "; ".join(phrases)

    def sentence_left_out(self) -> str:
        """The columns that were left out, with the reasons."""
        return f"left out: {_listed(self.left_out)}" if self.left_out else "it has no other columns"

    @property
    def label_copies(self) -> list[str]:
        """Columns that were left out because they repeat the label."""
        return [name for name, reason in self.left_out.items() if reason == Role.LABEL_COPY]

    def facts(self) -> dict[str, Any]:
        """For the summary of a run."""
        return {
            "sentence": self.sentence(),
            "columns": {encoder.name: encoder.role.value for encoder in self.encoders},
            "n_features": len(self.feature_names),
            "n_filled": self.n_filled,
            "left_out": dict(self.left_out),
        }

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values, from which `from_dict` builds an equal encoding."""
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "encoders": [encoder.to_dict() for encoder in self.encoders],
            "left_out": dict(self.left_out),
            "n_filled": self.n_filled,
            "n_infinite": self.n_infinite,
            "notes": list(self.notes),
            "content_hash": self.content_hash,
        }

    @classmethod
    def from_dict(cls, record: Any) -> Self:
        """The encoding that `to_dict` described; `InvalidData` for anything else."""
        try:
            if record["format"] != _FORMAT or record["version"] != _VERSION:
                raise ValueError(f"format {record['format']!r}, version {record['version']!r}")
            encoders = tuple(ENCODERS[Role(entry["role"])].from_dict(entry) for entry in record["encoders"])
            json.dumps([encoder.to_dict() for encoder in encoders], allow_nan=False)
            return cls(
                encoders,
                {str(name): str(reason) for name, reason in record["left_out"].items()},
                int(record["n_filled"]),
                int(record["n_infinite"]),
                tuple(map(str, record["notes"])),
                str(record["content_hash"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidData(f"this is no {_FORMAT} of version {_VERSION}: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as JSON."""
        write_text(Path(path), json_text(self.to_dict()))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote."""
        try:
            return cls.from_dict(parse_json(Path(path).read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise InvalidData(f"{os.fspath(path)} is no readable encoding of a table: {error}") from None


def fit_encoding(
    batches: Callable[[], Iterable[pa.RecordBatch]],
    schema: pa.Schema,
    *,
    labels: Ints | None = None,
    choices: ColumnChoices | None = None,
) -> TableEncoding:
    """Find the role of each column and how it becomes numbers, in one pass over the batches.

    Args:
        batches: gives the columns of ``schema``.
        schema: the columns that may be features; labels, ids and named texts are not among them.
        labels: the class of each row as a number: a column that repeats it is left out. Nothing else uses it.
        choices: what the user says about columns.
    """
    choices = choices or ColumnChoices()
    sample = sample_table(batches(), schema)
    classes = None if labels is None else labels[sample.rows]
    numbered = numbered_columns([column.name for column in sample.columns if is_quantity(column.values.type)])
    encoders: list[ColumnEncoder] = []
    left_out: dict[str, str] = {}
    notes: list[str] = []
    n_filled = n_infinite = 0
    for column in sample.columns:
        try:
            inferred = _choose(column, classes, choices, numbered=column.name in numbered)
        except pa.ArrowException as error:  # texts that are not UTF-8, which a file may hold
            reason = str(error).splitlines()[0]
            raise InvalidData(
                f"the column {column.name!r} cannot be read: {reason}; leave it out (--leave-out), or mend it"
            ) from None
        if inferred.role not in USED:
            left_out[column.name] = _reason(column, inferred.role)
            continue
        encoder = ENCODERS[inferred.role].fit(column, inferred)
        encoders.append(encoder)
        if not isinstance(encoder, CategoryEncoder):
            n_infinite += column.n_infinite
            n_filled += column.n_missing + column.n_infinite
            if isinstance(encoder, NumberEncoder) and encoder.style is not None:
                n_texts, example = _no_numbers(column, encoder.style)
                n_filled += n_texts
                if example is not None:
                    notes.append(
                        f"'{_shown(example)}' among the numbers of {_shown(column.name)} is read as missing"
                    )
    if _is_matrix(encoders, {column.name: column for column in sample.columns}):
        encoders = [replace(encoder, as_is=True) for encoder in encoders if isinstance(encoder, NumberEncoder)]
    else:
        encoders.sort(key=lambda encoder: encoder.name)  # the order of the columns in the file must not matter
    return TableEncoding(tuple(encoders), left_out, n_filled, n_infinite, tuple(notes), sample.content_hash)


def comparable_scales(columns: Sequence[Floats]) -> bool:
    """Whether columns of numbers have spreads of the same order: then nobody measured them in different units.

    >>> x = np.linspace(-1, 1, 50)
    >>> comparable_scales([x, 5 * x, 0 * x]), comparable_scales([x, x, 1000 * x])
    (True, False)
    """
    spreads = np.array([np.subtract(*np.percentile(values, [95, 5])) for values in columns])
    spreads = spreads[spreads > 0]
    if len(spreads) < 2:
        return True
    return bool(spreads.max() <= MAX_RATIO * np.median(spreads) and np.median(spreads) <= MAX_RATIO * spreads.min())


def _is_matrix(encoders: Sequence[ColumnEncoder], columns: Mapping[str, ColumnSample]) -> bool:
    """Whether all are complete numbers of one matrix (f0, f1, f2 and so on), which is used as it is."""
    if not is_numbered_family([encoder.name for encoder in encoders]):
        return False
    if not all(isinstance(encoder, NumberEncoder) and encoder.missing_share is None for encoder in encoders):
        return False
    values = [columns[encoder.name].values for encoder in encoders]
    return all(is_quantity(cells.type) for cells in values) and comparable_scales([as_floats(c) for c in values])


def _choose(column: ColumnSample, classes: Ints | None, choices: ColumnChoices, *, numbered: bool) -> InferredRole:
    if column.name in choices.categories:
        return named_role(column, category=True)
    if column.name in choices.features:
        return named_role(column)
    return find_role(column, classes, numbered=numbered)


def _reason(column: ColumnSample, role: Role) -> str:
    if role == Role.TEXT:
        return "text: name it with --text-column"
    if role == Role.UNSUPPORTED:
        return f"cells of type {column.values.type}"
    if role == Role.CONSTANT and column.n_missing == column.n_rows:
        return "empty"
    return role.value


def _no_numbers(column: ColumnSample, style: str) -> tuple[int, str | None]:
    """How many texts among numbers are no numbers, nulls apart, and one that does not say that it is missing."""
    texts = as_texts(column.values)
    gaps = np.isnan(spelled_numbers(texts, style))
    unexpected: Any = texts.filter(to_arrow(gaps & ~missing_texts(texts)))
    n_texts = int(gaps.sum()) - int(texts.null_count)
    return n_texts, unexpected[0].as_py() if len(unexpected) else None


def _listed(left_out: Mapping[str, str], most: int = 20) -> str:
    named = [f"{_shown(name) or 'the column without a name'} ({reason})" for name, reason in left_out.items()]
    more = [f"and {len(named) - most} more"] if len(named) > most else []
    return ", ".join(named[:most] + more)


def _shown(name: str, most: int = 40) -> str:
    """A name as it is shown in a line: of some length, and without control characters."""
    plain = "".join(letter if letter.isprintable() else " " for letter in name[: most + 1])
    return plain if len(name) <= most else plain[: most - 1] + "…"


def _side_by_side(blocks: Sequence[Floats], n_rows: int) -> Floats:
    """The blocks as one matrix, filled some rows at a time: whole columns would be written past the cache."""
    joined = np.empty((n_rows, sum(block.shape[1] for block in blocks)))
    for chunk in row_chunks(n_rows, 1, _COPY_ROWS):
        start = 0
        for block in blocks:
            joined[chunk, start : start + block.shape[1]] = block[chunk]
            start += block.shape[1]
    return joined


def _joined(column: Any) -> "pa.Array[Any]":
    if not isinstance(column, pa.ChunkedArray):
        return column  # type: ignore[no-any-return]
    joined: Any = column.combine_chunks()
    return pa.concat_arrays(joined.chunks) if isinstance(joined, pa.ChunkedArray) else joined


def class_numbers(labels: Any) -> Ints:
    """Labels of any kind as class numbers."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
