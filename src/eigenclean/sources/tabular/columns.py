"""Which columns of a table are labels, features, ids, texts and images."""

import difflib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from eigenclean.arrays import preview
from eigenclean.errors import InvalidData

LABEL_NAMES = ("label", "labels", "given_label", "y", "target", "class")
ID_NAMES = ("id", "ids")
TEXT_NAMES = ("text", "texts", "sentence")  # only where there are no numeric columns
IMAGE_NAMES = ("image", "images", "img")


@dataclass(frozen=True)
class TableOptions:
    """What the caller says about the columns of a table; None leaves the choice to `choose_columns`.

    Attributes:
        label_column: column of the labels.
        feature_columns: columns of the features, or patterns such as "f*".
        id_column: column of unique ids.
        text_column: column of texts.
        image_column: column of images.
        image_root: folder that paths of images are relative to.
        prefer_raw: prefer images and texts to numeric columns that were not named.
        follow_links: paths of images may be links that lead out of that folder.
    """

    label_column: str | None = None
    feature_columns: str | Sequence[str] | None = None
    id_column: str | None = None
    text_column: str | None = None
    image_column: str | None = None
    image_root: Path | None = None
    prefer_raw: bool = False
    follow_links: bool = False

    def set_options(self) -> list[str]:
        """Names of the options that only tables have and that were given.

        >>> TableOptions(id_column="key").set_options()
        ['id_column']
        """
        names = [field.name for field in fields(self) if field.name not in ("prefer_raw", "follow_links")]
        return [name for name in names if getattr(self, name) is not None]


@dataclass(frozen=True)
class Columns:
    """The columns to read, by name; ``label`` is None when the labels are not in the table.

    Without ``features`` there is an ``image`` or else a ``text``, to be turned into features.
    """

    features: tuple[str, ...]
    label: str | None = None
    id: str | None = None
    text: str | None = None
    image: str | None = None


def choose_columns(schema: pa.Schema, options: TableOptions, *, by: str, need_label: bool = True) -> Columns:
    """Check the names in ``options`` and fill in the others by convention.

    >>> schema = pa.schema({"id": pa.int64(), "f0": pa.float32(), "f1": pa.float32(), "label": pa.string()})
    >>> choose_columns(schema, TableOptions(), by="x.csv")
    Columns(features=('f0', 'f1'), label='label', id='id', text=None, image=None)
    """
    label, id = options.label_column, options.id_column
    text, image, raw = options.text_column, options.image_column, options.prefer_raw
    for name in (label, id, text, image):
        if name is not None:
            _check_name(schema, name, by=by)
    if need_label:
        label = label or _first_of(LABEL_NAMES, schema)
    if need_label and label is None:
        raise InvalidData(
            f"{by} has no column named {LABEL_NAMES[0]!r}; its columns are {_names(schema)}; "
            "choose the labels with --label-column"
        )
    taken = {name for name in (label, id, text, image) if name is not None}
    # Columns with the name of a label or id become features only on request; "y" may well be a coordinate.
    excluded = taken | {*LABEL_NAMES, *ID_NAMES} - {"y"}
    chosen: tuple[str, ...] = ()
    if options.feature_columns is None:
        numbers = _number_columns(schema, excluded)
        content = _content(schema, text, image, numbers, taken, raw=raw)
        if content is not None:
            text, image = content
        else:
            chosen = _default_features(schema, numbers, by=by)
    else:
        wanted = options.feature_columns
        names = [wanted] if isinstance(wanted, str) else wanted
        chosen = _named_features(schema, names, taken, excluded, by=by)
    id = id or _first_of([name for name in ID_NAMES if name not in {*chosen, *taken}], schema)
    used = {*chosen, *taken, *(name for name in (id, text, image) if name is not None)}
    repeated = [name for name, count in Counter(schema.names).items() if name in used and count > 1]
    if repeated:
        raise InvalidData(f"{by} has more than one column named {repeated[0]!r}; rename them")
    return Columns(features=chosen, label=label, id=id, text=text, image=image)


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


def _number_columns(schema: pa.Schema, excluded: set[str]) -> list[Any]:
    excluded = excluded | index_columns(schema)
    return [field for field in schema if field.name not in excluded and are_features(field.type)]


def _content(
    schema: pa.Schema, text: str | None, image: str | None, numbers: list[Any], taken: set[str], *, raw: bool
) -> tuple[str | None, str | None] | None:
    """The columns of texts and images to embed, or None when there are features, or nothing to embed.

    Named images are always meant. Named texts may be for showing only: then there are lists of numbers, or several
    columns of numbers.
    """
    lists = any(is_list(storage(field.type)) for field in numbers)
    if image is not None or (text is not None and (raw or len(numbers) < 2) and not (lists and not raw)):
        return text, image
    if numbers and not raw:
        return None
    free = [field for field in schema if field.name not in taken]
    structs = [field.name for field in free if is_image_struct(field.type)]
    named = [field.name for field in free if field.name in IMAGE_NAMES and _may_be_image(field)]
    if len(structs) == 1 or named:
        return text, structs[0] if len(structs) == 1 else named[0]
    written = next((field.name for field in free if field.name in TEXT_NAMES and _is_text(field.type)), None)
    return None if written is None else (written, None)


def is_image_struct(kind: Any) -> bool:
    """Whether a column is of the kind that Hugging Face stores images in: ``bytes`` and ``path``."""
    return bool(pa.types.is_struct(kind)) and {field.name for field in kind} == {"bytes", "path"}


def _may_be_image(field: Any) -> bool:
    return bool(pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type) or _is_text(field.type))


def _is_text(kind: pa.DataType) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _default_features(schema: pa.Schema, usable: list[Any], *, by: str) -> tuple[str, ...]:
    lists = tuple(field.name for field in usable if is_list(storage(field.type)))
    if len(lists) == 1:
        return lists
    if lists:
        raise InvalidData(
            f"{by} has {len(lists)} columns with lists of numbers: {preview(np.array(lists))}; "
            "choose the features with --feature-columns"
        )
    if not usable:
        raise InvalidData(
            f"{by} has no column of numbers for the features; its columns are {_names(schema)}; "
            "name texts with --text-column, images with --image-column, or numbers with --feature-columns"
        )
    return tuple(field.name for field in usable)


def _named_features(
    schema: pa.Schema, names: Sequence[str], taken: set[str], excluded: set[str], *, by: str
) -> tuple[str, ...]:
    chosen: dict[str, None] = {}  # a set that keeps the order
    types = dict(zip(schema.names, schema.types, strict=True))  # asked for once: each access builds the whole list
    for name in names:
        if name in types:
            chosen[name] = None
            continue
        matches = [other for other in types if fnmatchcase(other, name) and other not in excluded]
        if not matches:
            _check_name(schema, name, by=by)
        chosen.update(dict.fromkeys(matches))
    if not chosen:
        raise InvalidData(f"{by}: --feature-columns is empty; its columns are {_names(schema)}")
    for name in chosen:
        if name in taken:
            raise InvalidData(f"{by}: the column {name!r} cannot be a feature and label, id or text at once")
        kind = types[name]
        if not are_features(kind):
            raise InvalidData(
                f"{by}: features must be numbers, but the column {name!r} holds {kind}; embed or encode it first"
            )
    return tuple(chosen)


def _check_name(schema: pa.Schema, name: str, *, by: str) -> None:
    if name not in schema.names:
        close = difflib.get_close_matches(name, schema.names, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise InvalidData(f"{by} has no column {name!r}{hint}; its columns are {_names(schema)}")


def _first_of(names: Sequence[str], schema: pa.Schema) -> str | None:
    return next((name for name in names if name in schema.names), None)


def _names(schema: pa.Schema) -> str:
    return preview(np.array(schema.names, dtype=np.str_))
