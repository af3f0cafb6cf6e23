"""Facts about this machine that are stored with measurements: times and last digits depend on them."""

import os
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import sklearn

from eigenclean_lab.bench.speed.timing import blas_libraries


def detection_facts() -> dict[str, Any]:
    """What measurements of detectors depend on."""
    return {**_facts("cpu_count", "python", "numpy"), "scikit_learn": sklearn.__version__}


def training_facts(device: str | None = None) -> dict[str, Any]:
    """What measurements of trainings depend on; without torch, those of the probe."""
    facts = _facts("cpu_count", "python", "numpy")
    if find_spec("torch") is None:
        return facts
    import torch

    best = "cuda" if torch.cuda.is_available() else "cpu"
    return {**facts, "torch": torch.__version__, "threads": torch.get_num_threads(), "device": device or best}


def timing_facts(threads: int) -> dict[str, Any]:
    """What ratios of times depend on."""
    return {
        **_facts("cpu_count"),
        "threads": threads,
        **_facts("numpy"),
        "scikit_learn": sklearn.__version__,
        "blas": blas_libraries(),
    }


def _facts(*names: str) -> dict[str, Any]:
    known = {"cpu_count": os.cpu_count(), "python": sys.version.split()[0], "numpy": np.__version__}
    return {name: known[name] for name in names}
