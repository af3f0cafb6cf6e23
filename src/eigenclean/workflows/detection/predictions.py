"""Predicted probabilities in `eigenclean detect`: what they exclude, and the rows that they belong to."""

import os
from typing import Any

from eigenclean.arrays import Float64s
from eigenclean.errors import InvalidOption
from eigenclean.features import EmbeddedSource
from eigenclean.sources import Source
from eigenclean.sources.predictions.reading import read_probabilities
from eigenclean.workflows.options import Notify, SourceOptions, refuse_blocks


def check_excluded(engine: str | None, *, judges_once: bool) -> None:
    """Raise `InvalidOption` for options that have no meaning with ``--pred-probs``."""
    refuse_blocks(engine, by="--pred-probs needs")
    if not judges_once:
        raise InvalidOption(
            "--self-test and --method auto plant errors that the model behind --pred-probs has never seen: "
            "leave one out"
        )


def load_probabilities(
    source: Any, data: Source, reading: SourceOptions, *, notify: Notify
) -> tuple[Float64s, dict[str, Any]]:
    """Probabilities for the rows of a source, columns in the order of the sorted classes, and the summary's entry.

    An embedding may have left rows out; without ids, the rows of the file are those of the source before that.
    """
    raw = data.raw if isinstance(data, EmbeddedSource) else data
    matched = read_probabilities(source, id_column=reading.id_column).match(raw.labels, raw.ids)
    for notice in matched.notices:
        notify(notice)
    name = str(source) if isinstance(source, str | os.PathLike) else type(source).__name__
    values = matched.values[data.rows] if isinstance(data, EmbeddedSource) else matched.values
    return values, {"pred_probs": {"name": name, "notices": list(matched.notices)}}
