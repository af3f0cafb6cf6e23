"""Save a classifier: networks are written by one module, which needs torch, the heads of the probe by another."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenclean.publication import publication

if TYPE_CHECKING:
    from eigenclean.train.estimator import RobustClassifier


def save_model(model: "RobustClassifier", folder: str | os.PathLike[str], run: Mapping[str, Any]) -> None:
    """Replace the classifier, the verdict and the summary in a folder as one."""
    check_can_be_saved(model)
    with publication(folder, removes=model_files()) as staging:
        write_model(model, staging, run)


def write_model(model: "RobustClassifier", folder: Path, run: Mapping[str, Any]) -> None:
    """Write a fitted classifier into an empty folder."""
    if hasattr(model, "model_"):
        from eigenclean.train.storage.probe_files import write_probe

        write_probe(model, folder, run)
        return
    from eigenclean.train.storage import model_files

    model_files.write_model(model, folder, run)


def check_can_be_saved(model: "RobustClassifier") -> None:
    """Raise `InvalidOption` for an estimator of the user, which only pickle could save."""
    if hasattr(model, "model_"):
        from eigenclean.train.storage.probe_files import probe_model

        probe_model(model)


def model_files() -> list[str]:
    """Files of weights, of which a folder has one."""
    return ["model.safetensors", "model.npz"]
