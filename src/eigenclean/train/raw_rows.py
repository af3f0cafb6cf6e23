"""Raw rows for a saved classifier: tables, texts and images become the features that it was trained on."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.files import parse_json
from eigenclean.sources import Source, open_source
from eigenclean.sources.tabular.frames import FrameTable, is_frame
from eigenclean.tables import TableEncoding
from eigenclean.verdict import SUMMARY

ENCODING = "encoding.json"  # beside the model, as the workflows write it
_CHUNK_ROWS = 65_536


@dataclass(frozen=True, eq=False)
class RawRows:
    """How the rows of a run became features.

    Attributes:
        encoding: of the columns of a table; None if there are no columns.
        embedding: the record of the encoder; None if nothing was embedded.
        by: what to call the run in messages.
    """

    encoding: TableEncoding | None
    embedding: Mapping[str, Any] | None
    by: str

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> "RawRows":
        """From the folder of a run."""
        path = Path(folder)
        encoding = TableEncoding.load(path / ENCODING) if (path / ENCODING).exists() else None
        try:
            record = parse_json((path / SUMMARY).read_text(encoding="utf-8")).get("embedding")
        except (OSError, ValueError, AttributeError):
            record = None
        return cls(encoding, record if isinstance(record, Mapping) else None, os.fspath(folder))

    def accepts(self, X: Any) -> bool:
        """Whether X are raw rows: a data frame with the columns of the run, or texts or images to embed."""
        if self.encoding is not None and is_frame(X):
            return True
        if self.embedding is None or is_frame(X):
            return False
        return _are_texts(X) if self.embedding.get("kind") == "text" else np.ndim(X) > 2

    def features(self, X: Any) -> Array:
        """Turn raw rows into features, by the encoding of the table or the encoder of the run."""
        if self.embedding is not None:
            name = "texts" if self.embedding.get("kind") == "text" else "images"
            rows = list(X) if name == "texts" else np.asarray(X)
            placeholders = np.zeros(len(rows), dtype=np.int64)
            return self.embedded(open_source({name: rows, "labels": placeholders}), strict=True).features()
        assert self.encoding is not None
        table, by = FrameTable(X), "RobustClassifier"
        absent = [column for column in self.encoding.columns if column not in table.schema.names]
        if absent:
            raise InvalidData(f"{by}: the data frame has no column {absent[0]!r}, which the model was trained on")
        batches = table.stream(self.encoding.columns, _CHUNK_ROWS)
        blocks = [self.encoding.transform(batch, by=by) for batch in batches]
        return np.concatenate(blocks) if blocks else np.empty((0, len(self.encoding.feature_names)))

    def embedded(
        self, source: Source, *, encoder: str | None = None, cache: Path | None = None, strict: bool = False
    ) -> Source:
        """The source with the features of the run's encoder; rows that cannot be read are left out, or an error."""
        from eigenclean.features.source import recompute_features  # torch

        assert self.embedding is not None
        embedded = recompute_features(source, self.embedding, encoder=encoder, cache=cache, by=self.by)
        if strict and embedded.skipped:
            raise InvalidData(embedded.skipped[0].reason)
        return embedded


def _are_texts(X: Any) -> bool:
    return isinstance(X, list | tuple | np.ndarray) and len(X) > 0 and all(isinstance(each, str) for each in X)
