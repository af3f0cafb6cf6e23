"""Which columns of a table are labels, features, ids, texts and images."""

import difflib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from eigenclean.arrays import preview
from eigenclean.errors import InvalidData
from eigenclean.tables import ColumnChoices
from eigenclean.tables.names import is_numbered_family
from eigenclean.tables.values import is_string

LABEL_NAMES = ("label", "labels", "given_label", "y", "target", "class")
ID_NAMES = ("id", "ids")
TEXT_NAMES = ("text", "texts", "sentence")  # only where there are no numeric columns
IMAGE_NAMES = ("image", "images", "img")
MIN_EMBEDDING = 16  # numbered columns from which a matrix is taken for an embedding of the texts beside it


@dataclass(frozen=True)
class ColumnOptions:
    """What the caller says about the columns of a table; None leaves the choice to `choose_columns`.

    Attributes:
        label_column: column of the labels.
        feature_columns: columns of the features, or patterns such as "f*".
        category_columns: columns, or patterns, whose values are names even if they are numbers.
        leave_out: columns, or patterns, that are not features.
        id_column: column of unique ids.
        text_column: column of texts.
        image_column: column of images.
        image_root: folder that paths of images are relative to.
        prefer_raw: prefer images and texts to numeric columns that were not named.
        follow_links: paths of images may be links that lead out of that folder.
        need_features: whether there must be features, images or texts beside the labels.
        annotator_columns: columns, or patterns, of labels by one annotator each.
        annotator_column: column that names the annotator, where a row is one label.
        group_column: column that says which rows belong together.
    """

    label_column: str | None = None
    feature_columns: str | Sequence[str] | None = None
    category_columns: str | Sequence[str] | None = None
    leave_out: str | Sequence[str] | None = None
    id_column: str | None = None
    text_column: str | None = None
    image_column: str | None = None
    image_root: Path | None = None
    prefer_raw: bool = False
    follow_links: bool = False
    need_features: bool = True
    annotator_columns: str | Sequence[str] | None = None
    annotator_column: str | None = None
    group_column: str | None = None

    def set_options(self) -> list[str]:
        """Names of the options that only tables have and that were given.

        >>> ColumnOptions(id_column="key").set_options()
        ['id_column']
        """
        flags = ("prefer_raw", "follow_links", "need_features")
        names = [option.name for option in fields(self) if option.name not in flags]
        return [name for name in names if getattr(self, name) is not None]


@dataclass(frozen=True)
class Columns:
    """The columns to read, by name; ``label`` is None when the labels are not in the table.

    Without ``features`` there is an ``image`` or else a ``text``, to be turned into features, unless the labels are
    enough.

    Attributes:
        is_matrix: the features are one matrix of numbers, by their types and names: a column of lists, or columns
            whose names differ only by a number.
        embeds_text: the texts are embedded beside the features.
        choices: what was said about single columns.
        skipped: columns that are not features because of their names, with the reason.
    """

    features: tuple[str, ...]
    label: str | None = None
    id: str | None = None
    text: str | None = None
    image: str | None = None
    is_matrix: bool = False
    embeds_text: bool = False
    choices: ColumnChoices = field(default_factory=ColumnChoices)
    skipped: Mapping[str, str] = field(default_factory=dict)


def choose_columns(
    schema: pa.Schema,
    options: ColumnOptions,
    *,
    by: str,
    need_label: bool = True,
    label_candidates: Sequence[str] = (),
) -> Columns:
    """Check the names in ``options`` and fill in the others by convention.

    ``label_candidates`` are columns that may be meant when none has the name of a label; an error names them.

    >>> schema = pa.schema({"id": pa.int64(), "f0": pa.float32(), "f1": pa.float32(), "label": pa.string()})
    >>> columns = choose_columns(schema, ColumnOptions(), by="x.csv")
    >>> columns.features, columns.label, columns.id, columns.is_matrix
    (('f0', 'f1'), 'label', 'id', True)
    """
    label, id, text, image = options.label_column, options.id_column, options.text_column, options.image_column
    group = options.group_column
    for name in (label, id, text, image, group):
        if name is not None:
            check_name(schema, name, by=by)
    if need_label:
        label = label or _first_of(LABEL_NAMES, schema)
    if need_label and label is None:
        columns = f"its columns are {_names(schema)}"
        if label_candidates:
            columns = f"those that can hold labels are {preview(np.array(label_candidates, dtype=np.str_))}"
        raise InvalidData(
            f"{by} has no column named {LABEL_NAMES[0]!r}; {columns}; choose the labels with --label-column"
        )
    taken = {name for name in (label, id, text, image, group) if name is not None}
    left_out = set(matching(schema, options.leave_out, set(), by=by))
    # Columns with the name of a label or id become features only on request; "y" may well be a coordinate.
    excluded = taken | {*LABEL_NAMES, *ID_NAMES} - {"y"}
    categories = matching(schema, options.category_columns, excluded, by=by)
    named = None if options.feature_columns is None else matching(schema, options.feature_columns, excluded, by=by)
    if named is not None and not named:
        raise InvalidData(f"{by}: --feature-columns is empty; its columns are {_names(schema)}")
    for name in (*(named or ()), *categories):
        if name in taken or name in left_out:
            use = "left out" if name in left_out else "label, id, text or group"
            raise InvalidData(f"{by}: the column {name!r} cannot be a feature and {use} at once")
    free = excluded - set(categories) | left_out | index_columns(schema)
    if schema.names.count("") > 1:  # nobody could name one of them
        free.add("")
    candidates = [column for column in schema if column.name not in free]
    chosen: tuple[str, ...] = ()
    embeds_text = False
    if named is None:
        chosen, text, image, embeds_text = _default_features(schema, candidates, options, taken, by=by)
    else:
        chosen = tuple(dict.fromkeys((*named, *categories)))
        embeds_text = text is not None and not _is_embedding(schema, chosen)
    id = id or _first_of([name for name in ID_NAMES if name not in {*chosen, *taken, *left_out}], schema)
    used = {*chosen, *taken, *(name for name in (id, text, image) if name is not None)}
    repeated = [name for name, count in Counter(schema.names).items() if name in used and count > 1]
    if repeated:
        raise InvalidData(f"{by} has more than one column named {repeated[0]!r}; rename them")
    skipped = dict.fromkeys((name for name in schema.names if name in left_out - taken), "--leave-out")
    if named is None:
        skipped |= {name: "name of a label" for name in schema.names if name in {*LABEL_NAMES} & excluded - taken}
    return Columns(
        features=chosen,
        label=label,
        id=id,
        text=text,
        image=image,
        is_matrix=not categories and _is_matrix(schema, chosen),
        embeds_text=embeds_text,
        choices=ColumnChoices(frozenset(named or ()), frozenset(categories)),
        skipped={name: reason for name, reason in skipped.items() if name not in chosen},
    )


def is_list(kind: pa.DataType) -> bool:
    """Whether each cell holds a list."""
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def is_number(kind: pa.DataType) -> bool:
    """Whether each cell holds a number, or nothing at all (so that the missing values are reported)."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_null)
    return any(test(kind) for test in tests)


def are_features(kind: pa.DataType) -> bool:
    """Whether each cell holds a number or a (nested) list of numbers."""
    inner: Any = storage(kind)
    while is_list(inner):
        inner = storage(inner.value_type)
    return is_number(inner)


def storage(kind: pa.DataType) -> pa.DataType:
    """The plain type behind an extension type, such as a tensor's list."""
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def index_columns(schema: pa.Schema) -> set[str]:
    """Columns that pandas wrote for its index: row names, not features."""
    try:
        described: Any = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        return {name for name in described.get("index_columns", []) if isinstance(name, str)}
    except (ValueError, AttributeError, TypeError):
        return set()


def _default_features(
    schema: pa.Schema, candidates: list[Any], options: ColumnOptions, taken: set[str], *, by: str
) -> tuple[tuple[str, ...], str | None, str | None, bool]:
    """Features, texts and images when no features were named, and whether texts are embedded beside the features.

    Named images are always meant. Named texts are embedded, beside the other columns if there are any; with an
    embedding in the table (lists of numbers, or many numbered columns) they are only shown.
    """
    text, image, raw = options.text_column, options.image_column, options.prefer_raw
    numbers = [column for column in candidates if are_features(column.type)]
    lists = tuple(column.name for column in numbers if is_list(storage(column.type)))
    scalars = tuple(column.name for column in candidates if column.name not in lists)
    if image is not None:
        return (), text, image, False
    if text is None and (raw or not numbers):
        content = _content(schema, taken)
        if content is not None:
            return (), *content, False
    if len(lists) > 1 and not (raw and text is not None):
        raise InvalidData(
            f"{by} has {len(lists)} columns with lists of numbers: {preview(np.array(lists))}; "
            "choose the features with --feature-columns"
        )
    if text is None:
        if not (lists or scalars) and options.need_features:
            raise no_features(schema, by=by)
        return lists or scalars, None, None, False
    if raw and (lists or _is_matrix(schema, scalars)):
        return (), text, None, False
    shown_only = bool(lists) or _is_embedding(schema, scalars)
    return lists or scalars, text, None, bool(scalars) and not shown_only


def no_features(schema: pa.Schema, *, by: str, left_out: str = "") -> InvalidData:
    """The error for a table without a column that can be a feature."""
    return InvalidData(
        f"{by} has no column of numbers or categories for the features; its columns are "
        f"{_names(schema)}{left_out}; "
        "name texts with --text-column, images with --image-column, or numbers with --feature-column"
    )


def _is_matrix(schema: pa.Schema, names: Sequence[str]) -> bool:
    """Whether the columns hold lists of numbers, or only numbers and have names that differ by a number.

    A single column of numbers is a matrix as well: there is nothing that its scale could be compared with.
    """
    types = dict(zip(schema.names, schema.types, strict=True))  # asked for once: each access builds the whole list
    if any(is_list(storage(types[name])) for name in names):
        return all(are_features(types[name]) for name in names)
    if not (len(names) == 1 or is_numbered_family(names)):
        return False
    return all(is_number(types[name]) and not pa.types.is_null(types[name]) for name in names)


def _is_embedding(schema: pa.Schema, names: Sequence[str]) -> bool:
    has_list = len(names) == 1 and is_list(storage(schema.types[schema.names.index(names[0])]))
    return has_list or (len(names) >= MIN_EMBEDDING and _is_matrix(schema, names))


def _content(schema: pa.Schema, taken: set[str]) -> tuple[str | None, str | None] | None:
    """The column of texts or of images to embed, by its name or type; None when there is none."""
    free = [column for column in schema if column.name not in taken]
    structs = [column.name for column in free if is_image_struct(column.type)]
    named = [column.name for column in free if column.name in IMAGE_NAMES and _may_be_image(column)]
    if len(structs) == 1 or named:
        return None, structs[0] if len(structs) == 1 else named[0]
    written = next((column.name for column in free if column.name in TEXT_NAMES and is_string(column.type)), None)
    return None if written is None else (written, None)


def is_image_struct(kind: Any) -> bool:
    """Whether a column is of the kind that Hugging Face stores images in: ``bytes`` and ``path``."""
    return bool(pa.types.is_struct(kind)) and {field.name for field in kind} == {"bytes", "path"}


def _may_be_image(column: Any) -> bool:
    return bool(pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type) or is_string(column.type))


def matching(
    schema: pa.Schema, patterns: str | Sequence[str] | None, excluded: set[str], *, by: str
) -> tuple[str, ...]:
    """The columns of these names, and those that match these patterns and are not excluded."""
    names = () if patterns is None else [patterns] if isinstance(patterns, str) else patterns
    chosen: dict[str, None] = {}  # a set that keeps the order
    known = dict.fromkeys(schema.names)  # asked for once: each access builds the whole list
    for name in names:
        if name in known:
            chosen[name] = None
            continue
        matches = [other for other in known if fnmatchcase(other, name) and other not in excluded]
        if not matches:
            check_name(schema, name, by=by)
        chosen.update(dict.fromkeys(matches))
    return tuple(chosen)


def check_name(schema: pa.Schema, name: str, *, by: str) -> None:
    """Raise `InvalidData` unless there is a column of that name."""
    if name not in schema.names:
        close = difflib.get_close_matches(name, schema.names, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise InvalidData(f"{by} has no column {name!r}{hint}; its columns are {_names(schema)}")


def _first_of(names: Sequence[str], schema: pa.Schema) -> str | None:
    return next((name for name in names if name in schema.names), None)


def _names(schema: pa.Schema) -> str:
    return preview(np.array(schema.names, dtype=np.str_))
