"""The circumstances of a run: profile, folders and device."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eigenclean.extras import require
from eigenclean_lab.reproduce.profile import Profile, ProfileData
from eigenclean_lab.reproduce.profiles import PROFILES
from eigenclean_lab.reproduce.values import Task
from eigenclean_lab.store import MissingData


@dataclass(frozen=True)
class Context:
    """Where and how large cells are measured; plain values, so that it can be sent to another process.

    Attributes:
        profile_name: name of the profile.
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
        """The profile of that name."""
        return PROFILES[self.profile_name]

    def data(self, task: Task) -> ProfileData:
        """What stands for the data of the task; `MissingData` when it needs a GPU that is not there."""
        data = self.profile.data(task.spec.kind, task.data)
        if self.profile.gpu and self.device is None and not _has_gpu():
            raise MissingData(f"needs a GPU, and {data.needs}; --device cpu tries it without a GPU")
        return data


def cache_folder(given: Path | None) -> Path:
    """Where features of trained networks are cached: as given, or in the user's cache folder."""
    if given is not None:
        return given
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eigenclean" / "reproduce"


def _has_gpu() -> bool:
    torch: Any = require("torch", extra="train", caller="reproduce")
    return bool(torch.cuda.is_available())
