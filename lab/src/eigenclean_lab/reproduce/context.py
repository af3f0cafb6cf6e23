"""Where cells are measured, and what comes of one."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eigenclean_lab.bench.quality_data import MissingData
from eigenclean_lab.reproduce.profiles import PROFILES, Data, Profile
from eigenclean_lab.reproduce.values import Task


@dataclass(frozen=True)
class Context:
    """What a worker must know beside its task; plain values, so that it can go to another process.

    Attributes:
        profile_name: the size.
        folder: of the data; None for nowhere.
        cache: folder for features of trained networks, which several analyses share; None keeps none.
        device: "cpu", or None for the best there is.
        runs: folder for checkpoints of a long training; None makes none.
    """

    profile_name: str
    folder: Path | None = None
    cache: Path | None = None
    device: str | None = None
    runs: Path | None = None

    @property
    def profile(self) -> Profile:
        """The size."""
        return PROFILES[self.profile_name]

    def data(self, task: Task) -> Data:
        """What stands for the data of the task; `MissingData` when nobody would wait for it here."""
        found = self.profile.data(task.part.kind, task.data)
        if self.profile.gpu and self.device is None and not _has_gpu():
            raise MissingData(f"needs a GPU, and {found.needs}; --device cpu tries it without a GPU")
        return found


@dataclass(frozen=True)
class Measured:
    """The numbers of a cell.

    Attributes:
        figures: single numbers.
        curves: lists of them, over epochs or angles or fractions.
        noise_hash: fingerprint of the noisy labels.
    """

    figures: Mapping[str, float]
    curves: Mapping[str, Any] = field(default_factory=dict)
    noise_hash: str = ""


def cache_folder(given: Path | None) -> Path:
    """Where features of trained networks are kept: as given, or with other programs' caches."""
    if given is not None:
        return given
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eigenclean" / "reproduce"


def _has_gpu() -> bool:
    from eigenclean.extras import require

    torch: Any = require("torch", extra="train", caller="reproduce")
    return bool(torch.cuda.is_available())
