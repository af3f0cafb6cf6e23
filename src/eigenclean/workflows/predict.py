"""`eigenclean predict`: labels and probabilities for new rows by the model of a training run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from eigenclean.arrays import Array, Bools, Float64s
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.files import replacing
from eigenclean.sources import LazyImages, RawSource, Source
from eigenclean.sources.unlabelled import open_unlabelled
from eigenclean.train import RobustClassifier
from eigenclean.verdict.record import NONE_THRESHOLD
from eigenclean.workflows.embedding import EmbeddingOptions
from eigenclean.workflows.options import Notify, SourceOptions, ignore
from eigenclean.workflows.training.image_sizes import in_one_size

_SUFFIXES = (".parquet", ".csv")


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of a model for rows.

    Attributes:
        ids: of the rows.
        classes: of the model.
        probabilities: n x K, of the classes, if the row belongs to one of them.
        none: probability that a row belongs to none of the classes; None if the run knows no such samples.
    """

    ids: Array
    classes: Array
    probabilities: Float64s
    none: Float64s | None = None

    @property
    def is_none(self) -> Bools:
        """True where a row probably belongs to none of the classes."""
        return np.zeros(len(self.ids), dtype=bool) if self.none is None else np.asarray(self.none > NONE_THRESHOLD)

    @property
    def labels(self) -> Array:
        """The most likely class of each row."""
        return np.asarray(self.classes[self.probabilities.argmax(axis=1)])

    def table(self) -> pa.Table:
        """Columns ``id``, ``label``, ``probability`` (of that label), and one for each class.

        If the run knows samples of no class, ``p_none`` is the probability that a row is one of them.
        """
        columns: dict[str, Any] = {
            "id": self.ids,
            "label": self.labels,
            "probability": self.probabilities.max(axis=1),
        }
        if self.none is not None:
            columns["p_none"] = self.none
        columns |= {f"probability {name}": self.probabilities[:, k] for k, name in enumerate(self.classes.tolist())}
        return pa.table({name: pa.array(np.asarray(values).tolist()) for name, values in columns.items()})

    def write(self, path: Path) -> None:
        """As Parquet or CSV, by the suffix."""
        check_output(path)
        with replacing(path) as temporary:
            if path.suffix == ".csv":
                pyarrow.csv.write_csv(self.table(), temporary)
            else:
                pq.write_table(self.table(), temporary)


def check_output(path: Path) -> None:
    """Raise `InvalidOption` unless predictions can be written to a file of that name."""
    if path.suffix not in _SUFFIXES:
        raise InvalidOption(f"predict: --out must be a .parquet or .csv file, got {path}")


def run_predict(
    run: Path,
    source: str,
    *,
    reading: SourceOptions | None = None,
    embedding: EmbeddingOptions | None = None,
    notify: Notify = ignore,
) -> Predictions:
    """Predict the rows of a source with the model in the folder of a training run.

    The run says how the columns of a table become numbers and which encoder embeds images and texts. It may be
    somebody else's: an encoder that is not a bundled one must be named in ``embedding``.

    Args:
        run: folder that `run_training` or `RobustClassifier.save` wrote.
        source: the rows, as `open_source` takes them; labels in it are not used and may be missing.
        reading: how the source is opened.
        embedding: the encoder, if the run may not choose it, and the cache.
        notify: told what is left out.
    """
    model = RobustClassifier.load(run)
    ids, inputs = run_inputs(model, source, reading or SourceOptions(), embedding or EmbeddingOptions(), notify)
    return Predictions(ids, model.classes_, model.predict_proba(inputs), model.none_probability(inputs))


def run_inputs(
    model: RobustClassifier,
    source: str,
    reading: SourceOptions,
    embedding: EmbeddingOptions,
    notify: Notify = ignore,
) -> tuple[Array, Any]:
    """Ids of the rows of a source, and what the model of a run takes of them."""
    values = {name: value for name, value in vars(reading).items() if value is not None}
    raw = model.raw_rows_
    data = open_unlabelled(source, encoding=raw.encoding, raw=raw.embedding is not None, **values)
    return _inputs(model, data, embedding, notify)


def _inputs(
    model: RobustClassifier, data: Source, embedding: EmbeddingOptions, notify: Notify
) -> tuple[Array, Any]:
    """Ids and what the model takes: features, embedded if need be, or images."""
    raw = model.raw_rows_
    if raw.embedding is not None:
        embedded = raw.embedded(data, encoder=embedding.encoder, cache=embedding.cache, strict=embedding.strict)
        n_skipped = len(data) - len(embedded)
        if n_skipped:
            notify(f"{n_skipped} of {len(data)} rows are left out, because they cannot be read")
        return embedded.ids, embedded.features()
    if hasattr(model, "model_") or not model.inputs_.are_images:
        if isinstance(data, RawSource):
            raise InvalidData(
                f"{data.name} holds {data.holds}, but the model was trained on features; embed them with the same "
                "encoder first, or train on the images or texts themselves"
            )
        return data.ids, data.features()
    if data.images is None:
        raise InvalidData(f"the model was trained on images, but {data.name} has none")
    shape = model.inputs_.shape
    if isinstance(data.images, LazyImages) and not isinstance(shape, int) and shape[-1] == shape[-2]:
        return data.ids, in_one_size(data.images, shape[-1])
    return data.ids, data.images
