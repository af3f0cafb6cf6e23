"""The data behind a run, opened again to show images, texts and neighbours.

A run can be reviewed without its source. So nothing here raises when the data are gone or have changed: what is
missing is left out, and a note says why.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.errors import EigencleanError
from eigenclean.paths import FOLLOW
from eigenclean.review.explanation import FILE, Explanation, explain, load_explanation, save_explanation
from eigenclean.review.images import SampleImages
from eigenclean.review.suspects import Suspects
from eigenclean.review.table import TableRows, table_rows
from eigenclean.sources import Source
from eigenclean.sources.record import reopen
from eigenclean.verdict import SUMMARY, Verdict


@dataclass(frozen=True)
class DataChoices:
    """What the user says about the data of a run, because a run of somebody else may not decide it.

    Attributes:
        encoder: what turns images and texts into features; None for that of the run, if it is a bundled one.
        cache: folder of features that were computed before; None for the default.
        image_root: folder of the images, if it is not below that of the data.
        follow_links: read links that lead out of the folder of the data.
    """

    encoder: str | None = None
    cache: Path | None = None
    image_root: Path | None = None
    follow_links: bool = False


@dataclass
class ReopenedSource:
    """Parts of a source that could be opened again for a review.

    Attributes:
        data: the source, if it can be opened and has the labels and ids that were judged.
        explanation: alignments and neighbours of the suspects, if the features are those that were judged.
        images: images of suspects and neighbours, if the source has images.
        table: values by column name, if the source is a table and has the features that were judged.
        notes: what is missing and why, in sentences.
    """

    data: Source | None = None
    explanation: Explanation | None = None
    images: SampleImages | None = None
    table: TableRows | None = None
    notes: list[str] = field(default_factory=list)


def reopen_source(
    record: dict[str, Any],
    embedding: Any,
    *,
    folder: Path,
    suspects: Suspects,
    data_hash: str,
    choices: DataChoices | None = None,
    data: Source | None = None,
) -> ReopenedSource:
    """Open the source that ``record`` describes, unless it is given, and collect what can be shown of it."""
    notes: list[str] = []
    if data is None:
        data, notes = _open(record, embedding, suspects.verdict, folder / SUMMARY, choices or DataChoices())
    reopened = ReopenedSource(data, notes=notes)
    if data is None:
        return reopened
    if not notes:
        reopened.explanation, missing = _explanation(folder / FILE, suspects, data, data_hash)
        notes += missing
        if reopened.explanation is not None:
            reopened.table, missing = _table(data, suspects, reopened.explanation)
            notes += missing
    if data.images is not None and len(suspects):
        rows = suspects.rows
        if reopened.explanation is not None:
            rows = np.concatenate([rows, reopened.explanation.neighbour_rows()])
        try:
            reopened.images = SampleImages(data.images, rows)
        except EigencleanError as error:
            notes.append(f"There are no images: {error}.")
    return reopened


def _open(
    record: dict[str, Any], embedding: Any, verdict: Verdict, summary: Path, choices: DataChoices
) -> tuple[Source | None, list[str]]:
    consequence = "so there are no images, texts or neighbours to show"
    notes: list[str] = []
    if not record:
        return None, [f"The run does not say which source it was made from, {consequence}."]
    try:
        data = reopen(record, image_root=choices.image_root, follow_links=choices.follow_links)
    except EigencleanError as error:
        return None, [f"The source cannot be opened ({error}), {consequence}."]
    if isinstance(embedding, dict):
        data, notes = _with_features(data, embedding, summary, choices)
    same = np.array_equal(data.labels, verdict.labels) and np.array_equal(data.ids, verdict.ids)
    if not same:
        hint = ""
        if record.get("follow_links") and not choices.follow_links:
            hint = f"; it was read with {FOLLOW}, so add that if you trust the links in it"
        return None, [f"{record['name']} has other labels or ids now than were judged, {consequence}{hint}."]
    return data, notes


def _with_features(
    data: Source, embedding: dict[str, Any], summary: Path, choices: DataChoices
) -> tuple[Source, list[str]]:
    """The source with the embedding that was judged; without features when it cannot be recomputed."""
    from eigenclean.features import recompute_features

    try:
        embedded = recompute_features(
            data, embedding, encoder=choices.encoder, cache=choices.cache, by=str(summary)
        )
    except EigencleanError as error:
        if choices.encoder is not None:
            raise  # the user's own mistake, not something that the run lacks
        return data, [f"There are no neighbours to show: {error}."]
    same = json.loads(json.dumps(embedded.facts()["preprocessing"])) == embedding.get("preprocessing")
    if same or choices.encoder is None:
        return embedded, []
    return embedded, [f"{choices.encoder} is another encoder than that of the run, so there are no neighbours."]


def _table(data: Source, suspects: Suspects, explanation: Explanation) -> tuple[TableRows | None, list[str]]:
    try:
        return table_rows(data, suspects, explanation.neighbour_rows()), []
    except EigencleanError as error:
        return None, [f"There are no values to show: {error}."]


def _explanation(
    path: Path, suspects: Suspects, data: Source, data_hash: str
) -> tuple[Explanation | None, list[str]]:
    key = f"{data_hash} {suspects.key}"
    cached = load_explanation(path, key)
    if cached is not None and not cached.fits(len(suspects), len(data), len(suspects.classes)):
        cached = None
    if cached is not None or len(suspects) == 0:
        return cached, []
    try:
        features = data.features()
        if data.data_hash() != data_hash:
            return None, [f"{data.name} has other features now than were judged, so there are no neighbours."]
    except EigencleanError as error:
        return None, [f"There are no neighbours to show: {error}."]
    trusted = ~np.asarray(suspects.verdict.flagged)
    trusted[suspects.rows] = False  # a label that is looked at is no evidence about itself
    explanation = explain(
        features,
        suspects.codes,
        trusted,
        suspects.rows,
        suspects.suggested,
        len(suspects.classes),
        strips=data.images is None and data.texts is None,
    )
    try:
        save_explanation(path, key, explanation)
    except EigencleanError as error:  # a full disk, or a folder of somebody else: it is only a cache
        return explanation, [f"The neighbours are computed again at the next start: {error}."]
    return explanation, []
