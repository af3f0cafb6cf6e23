"""A noisy copy of a data set; the truth goes into a file of its own, where no learner looks."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.errors import InvalidOption
from eigenclean.files import replacing
from eigenclean.noise import corrupt
from eigenclean.sources import Source


def write_noisy_copy(
    source: Source, out: str | os.PathLike[str], *, kind: str, rate: float, seed: int, **options: Any
) -> dict[str, Any]:
    """Write ``out`` (.npz) with noisy labels and ``out`` with the suffix .truth.npy; return what was done."""
    out = Path(out)
    if out.suffix != ".npz":
        raise InvalidOption(f"noise: --out must be an .npz file, got {out}")
    features = source.features()
    made = corrupt(source.labels, kind, rate, random_state=seed, features=features, **options)
    arrays: dict[str, Any] = {"features": features, "labels": made.labels, "ids": source.ids}
    if source.images is not None:
        arrays["images"] = source.images
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
