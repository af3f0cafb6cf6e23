"""`eigenclean noise`: a noisy copy of a data set, with the truth in a file of its own that no detector reads."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.errors import InvalidOption
from eigenclean.files import replacing
from eigenclean.noise import corrupt
from eigenclean.sources import Source
from eigenclean.sources.raw import RawSource


def write_noisy_copy(
    source: Source, out: str | os.PathLike[str], *, kind: str, rate: float, seed: int, **options: Any
) -> dict[str, Any]:
    """Write ``out`` (.npz) with noisy labels and ``out`` with the suffix .truth.npy; return a record."""
    out = Path(out)
    if out.suffix != ".npz":
        raise InvalidOption(f"noise: --out must be an .npz file, got {out}")
    arrays: dict[str, Any] = {}
    if source.images is not None:
        arrays["images"] = np.asarray(source.images)
    if not isinstance(source, RawSource):
        arrays["features"] = source.features()
    # Instance-dependent noise is drawn from the features, or else from the pixels.
    inputs = arrays.get("features", arrays.get("images"))
    vectors = None if inputs is None else inputs.reshape(len(inputs), -1)
    corrupted = corrupt(source.labels, kind, rate, random_state=seed, features=vectors, **options)
    arrays |= {"labels": corrupted.labels, "ids": source.ids}
    if source.texts is not None:
        arrays["texts"] = np.asarray(source.texts, dtype=np.str_)
    truth = out.with_suffix(".truth.npy")
    with replacing(out) as temporary, open(temporary, "wb") as file:
        np.savez(file, **arrays)
    corrupted.truth.save(truth)
    return {
        "out": str(out),
        "truth": str(truth),
        "noise": str(corrupted.noise),
        "n_samples": len(corrupted.labels),
        "true_rate": corrupted.true_rate,
    }
