"""The line "Next:" at the end of a command: the exact command that usually follows."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eigenclean.cli.console import mention

_FLAGS = {  # option of a source in the program and in summary.json: on the command line
    "labels": "--labels",
    "label_column": "--label-column",
    "feature_columns": "--feature-column",
    "category_columns": "--category-column",
    "leave_out": "--leave-out",
    "id_column": "--id-column",
    "text_column": "--text-column",
    "image_column": "--image-column",
    "image_root": "--image-root",
    "annotator_columns": "--annotator-columns",
    "annotator_column": "--annotator-column",
    "group_column": "--group-column",
}
ANNOTATORS = ("annotator_columns", "annotator_column")
# Options that `patch` does not have.
IMAGES = ("image_column", "image_root", *ANNOTATORS, "group_column")


def say_next(*words: object) -> None:
    """Print the command that usually follows, quoted as a shell needs it."""
    mention(f"Next: {shlex.join(str(word) for word in words)}")


def source_words(source: object, options: Mapping[str, Any], *, without: Sequence[str] = ()) -> list[str]:
    """A source and how it is opened, as words of a command line.

    >>> source_words("x.csv", {"label_column": "y", "leave_out": ["a", "b"], "labels": None})
    ['x.csv', '--label-column', 'y', '--leave-out', 'a', '--leave-out', 'b']
    """
    words = [str(source)]
    for option, flag in _FLAGS.items():
        value = options.get(option)
        if value is None or option in without:
            continue
        for item in value if isinstance(value, list | tuple) else [value]:
            words += [flag, str(item)]
    return [*words, "--follow-links"] if options.get("follow_links") else words


def recorded_source(summary: Mapping[str, Any], *, without: Sequence[str] = IMAGES) -> list[str] | None:
    """The source in the summary of a run, as words of a command line; None if it was no file."""
    record = summary.get("source")
    if not isinstance(record, Mapping) or not isinstance(record.get("name"), str) or record.get("in_memory"):
        return None
    return source_words(record["name"], record, without=without)


def after_patch(summary: Mapping[str, Any], patch: object) -> list[str]:
    """What follows when the decisions about a run are in a patch, as words of a command line.

    Labels by several annotators have no column that a patch could correct: training takes it beside them.

    >>> after_patch({"source": {"name": "x.csv", "label_column": "y"}}, "patch.jsonl")
    ['patch', 'diff', 'x.csv', '--label-column', 'y', 'patch.jsonl']
    """
    source = recorded_source(summary)
    if source is None:
        return ["patch", "show", str(patch)]
    if any(summary["source"].get(option) for option in ANNOTATORS):
        whole = recorded_source(summary, without=["group_column"]) or source
        return ["train", *whole, "--patch", str(patch), "--out", "model"]
    return ["patch", "diff", *source, str(patch)]


def fixed_words(source: str, out: object, options: Mapping[str, Any]) -> list[str]:
    """The corrected copy of a source and how it is opened, as words of a command line.

    >>> fixed_words("x.csv", "y.csv", {"label_column": "kind"})
    ['y.csv', '--label-column', 'kind']
    >>> fixed_words("x.npy", "y.npy", {"labels": "labels.npy"})
    ['x.npy', '--labels', 'y.npy']
    """
    if options.get("labels") is not None:
        return source_words(source, {**options, "labels": out})
    if Path(source).is_dir() and Path(str(out)).suffix.lower() == ".csv":  # a list of images and their labels
        columns = {"label_column": "label", "image_column": "file", "image_root": source}
        return source_words(out, {**options, **columns})
    return source_words(out, options)


def sibling_name(source: str, ending: str) -> str:
    """A name beside that of a file, with another ending of its stem: ``x.csv`` and "-fixed" give ``x-fixed.csv``.

    >>> sibling_name("data/x.csv.gz", "-fixed"), sibling_name("photos", "-fixed")
    ('data/x-fixed.csv.gz', 'photos-fixed')
    """
    path = Path(source)
    stem, dot, suffix = path.name.partition(".")
    return str(path.with_name(f"{stem}{ending}{dot}{suffix}")) if stem else f"{source}{ending}"
