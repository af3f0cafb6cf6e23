"""The files of a training run: where its progress is saved, and how its results replace earlier ones as one."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eigenclean.errors import InvalidOption
from eigenclean.files import remove, write_text
from eigenclean.publication import finish_publication, publication
from eigenclean.report.html import report_data_path
from eigenclean.report.run_folder import ENCODING
from eigenclean.tables import TableEncoding
from eigenclean.train import CHECKPOINT, Callback, RobustClassifier
from eigenclean.train.storage.record import RECORD
from eigenclean.train.storage.run_files import METRICS
from eigenclean.train.storage.writing import model_files, write_model
from eigenclean.verdict import CSV, FILE
from eigenclean.workflows.train_callbacks import ROUNDS
from eigenclean.workflows.train_report import REPORT, write_run_report
from eigenclean.workflows.training.model_card import MODEL_CARD, model_card

PROGRESS = ".training"  # inside a folder whose results are to be replaced


def progress_folder(folder: Path, *, resume: bool = False, force: bool = False) -> Path:
    """Where a training that writes its results to ``folder`` saves its state after every epoch.

    This is the folder itself, unless it has the results of a finished run. These are replaced with ``force`` only,
    and stay complete until the training is over, so that its state is saved in a folder of its own.

    Raises:
        InvalidOption: when there are results, and neither ``resume`` nor ``force`` is given.
    """
    finish_publication(folder)
    progress = folder / PROGRESS
    if resume and progress.is_dir():
        return progress
    finished = [name for name in (RECORD, FILE) if (folder / name).exists()]
    if not finished or (resume and (folder / CHECKPOINT).exists()):
        return folder
    if not force:
        raise InvalidOption(
            f"{folder} has the results of a finished run ({finished[0]}); choose another folder, or add --force to "
            "replace them when the training is over"
        )
    return progress


def publish_training(
    folder: Path,
    progress: Path,
    model: RobustClassifier,
    facts: Mapping[str, Any],
    callbacks: Sequence[Callback],
    *,
    source: str,
    command: str | None,
    encoding: TableEncoding | None = None,
) -> None:
    """Replace model, verdict, summary, metrics and report in ``folder`` as one, and remove the saved progress.

    ``encoding`` is saved with the model of a table: rows to predict must become numbers in the same way.
    """
    with publication(folder, removes=[CSV, report_data_path(REPORT).name, ENCODING, *model_files()]) as staging:
        write_model(model, staging, facts)
        if encoding is not None:
            encoding.save(staging / ENCODING)
        write_text(staging / MODEL_CARD, model_card(model, facts, source=source, encoding=encoding))
        write_run_report(staging, model, facts, callbacks, source=source, command=command)
        # Not copied: a training that was killed right after its last checkpoint has a line less in its file.
        write_text(staging / METRICS, "".join(json.dumps(line, allow_nan=False) + "\n" for line in model.history_))
        for name in (ROUNDS, *[CHECKPOINT] * (progress != folder)):
            if (progress / name).exists():
                shutil.copyfile(progress / name, staging / name)
    if progress != folder:
        remove(progress)


def is_main_process() -> bool:
    """Whether this is the process of a distributed training that writes files."""
    return int(os.environ.get("RANK", "0")) == 0
