"""Exports of annotation tools as sources: tasks of Label Studio, records of Argilla, with all their annotators."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from eigenclean.arrays import preview
from eigenclean.errors import InvalidData
from eigenclean.evidence import Annotations
from eigenclean.sources.annotated import with_annotations
from eigenclean.sources.base import Source
from eigenclean.sources.tabular.columns import ColumnOptions, is_list
from eigenclean.sources.tabular.json_records import JsonTable
from eigenclean.sources.tabular.table import Table

_TASKS, _CONTENT = "annotations", "data."  # columns of Label Studio
_RESPONSES, _FIELDS = "responses.", "fields."  # of Argilla


class Answer(NamedTuple):
    """One label that somebody gave."""

    row: int
    question: str
    annotator: str
    label: Any


def is_annotation_export(table: Table) -> bool:
    """Whether the table is a JSON export of Label Studio or Argilla."""
    return isinstance(table, JsonTable) and (_is_label_studio(table) or bool(_questions(table)))


def open_annotation_export(table: Table, options: ColumnOptions) -> Source:
    """The samples of an export with the majority's labels and, if there are several annotators, all of theirs.

    ``label_column`` names the question, where there are several.
    """
    chosen = read_answers(table, options.label_column)
    names = list(dict.fromkeys(answer.annotator for answer in chosen))
    annotations = Annotations.from_labels(
        np.array([answer.row for answer in chosen], dtype=np.intp),
        np.array([names.index(answer.annotator) for answer in chosen], dtype=np.intp),
        np.array([str(answer.label) for answer in chosen]),
        np.array(names),
        table.count(),
        by=table.name,
    )
    prefix = _CONTENT if _is_label_studio(table) else _FIELDS
    columns = {name: name.removeprefix(prefix) for name in table.schema.names if name.startswith(prefix)}
    if "id" in table.schema.names and "id" not in columns.values():
        columns["id"] = "id"
    items = table.read(list(columns)).rename_columns(list(columns.values()))
    return with_annotations(items, annotations, options, name=table.name, compare=False)


def read_answers(table: Table, question: str | None = None) -> list[Answer]:
    """The answers of all annotators to the question, which may be left out where there is only one."""
    answers = [*(_label_studio(table) if _is_label_studio(table) else _argilla(table))]
    questions = list(dict.fromkeys(answer.question for answer in answers))
    if not questions:
        raise InvalidData(f"{table.name} is an export of annotations, but nobody has chosen a label in it yet")
    if (question or questions[0]) not in questions or (question is None and len(questions) > 1):
        listed = preview(np.array(questions))
        raise InvalidData(f"{table.name} has answers to {listed}; choose one of these with --label-column")
    return [answer for answer in answers if answer.question == (question or questions[0])]


def answered_ids(table: Table) -> list[str]:
    """The id of every sample as `eigenclean export` wrote it; "" where there is none."""
    column = f"{_CONTENT}id" if _is_label_studio(table) else "id"
    if column not in table.schema.names:
        raise InvalidData(
            f"{table.name} has no ids of samples; only tasks that `eigenclean export` wrote have them"
        )
    return ["" if value is None else str(value) for value in table.read([column]).column(0).to_pylist()]


def _is_label_studio(table: Table) -> bool:
    fields = _item_fields(table, _TASKS)
    return {"completed_by", "result"} <= fields and any(name.startswith(_CONTENT) for name in table.schema.names)


def _questions(table: Table) -> list[str]:
    """Columns of answers in an export of Argilla."""
    names = [name for name in table.schema.names if name.startswith(_RESPONSES)]
    return [name for name in names if {"value", "user_id"} <= _item_fields(table, name)]


def _item_fields(table: Table, column: str) -> set[str]:
    """Names of the fields of the objects in a column of lists."""
    if column not in table.schema.names:
        return set()
    kind: Any = table.schema.field(column).type
    if not is_list(kind) or not pa.types.is_struct(kind.value_type):
        return set()
    return {field.name for field in kind.value_type}


def _label_studio(table: Table) -> Iterator[Answer]:
    for row, annotations in enumerate(table.read([_TASKS]).column(0).to_pylist()):
        for annotation in annotations or ():
            if annotation.get("was_cancelled"):
                continue
            for result in annotation["result"] or ():
                value = result.get("value") if isinstance(result, Mapping) else None
                choices = value.get("choices") if isinstance(value, Mapping) else None
                if not choices:
                    continue
                if len(choices) > 1:
                    raise InvalidData(f"{table.name}: task {row} has several choices at once; one label is needed")
                question = str(result.get("from_name") or "label")
                yield Answer(row, question, _person(annotation["completed_by"]), choices[0])


def _argilla(table: Table) -> Iterator[Answer]:
    for column in _questions(table):
        for row, responses in enumerate(table.read([column]).column(0).to_pylist()):
            for response in responses or ():
                value = response["value"]
                if value is None or isinstance(value, list | dict) or response.get("status") == "discarded":
                    continue
                yield Answer(row, column.removeprefix(_RESPONSES), _person(response["user_id"]), value)


def _person(value: Any) -> str:
    """The name of an annotator: Label Studio writes a number, or an object with the address."""
    if isinstance(value, Mapping):
        value = value.get("email") or value.get("id")
    return "unknown" if value is None else str(value)
