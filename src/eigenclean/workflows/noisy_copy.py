"""A noisy copy of a data set; the truth goes into a file of its own, where no learner looks."""

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
    """Write ``out`` (.npz) with noisy labels and ``out`` with the suffix .truth.npy; return what was done."""
    out = Path(out)
    if out.suffix != ".npz":
        raise InvalidOption(f"noise: --out must be an .npz file, got {out}")
    arrays: dict[str, Any] = {}
    if source.images is not None:
        arrays["images"] = np.asarray(source.images)
    if not isinstance(source, RawSource):
        arrays["features"] = source.features()
    # Noise that depends on the sample looks at its features, or else at its pixels.
    seen = arrays.get("features", arrays.get("images"))
    vectors = None if seen is None else seen.reshape(len(seen), -1)
    made = corrupt(source.labels, kind, rate, random_state=seed, features=vectors, **options)
    arrays |= {"labels": made.labels, "ids": source.ids}
    if source.texts is not None:
        arrays["texts"] = np.asarray(source.texts, dtype=np.str_)
    truth = out.with_suffix(".truth.npy")
    with replacing(out) as temporary, open(temporary, "wb") as file:
        np.savez(file, **arrays)
    made.truth.save(truth)
    return {
        "out": str(out),
        "truth": str(truth),
        "noise": str(made.noise),
        "n_samples": len(made.labels),
        "true_rate": made.true_rate,
    }
