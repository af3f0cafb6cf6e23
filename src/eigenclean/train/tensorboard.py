"""Metrics for TensorBoard, if it is installed."""

import os
from typing import TYPE_CHECKING, Any

from eigenclean.extras import require
from eigenclean.train.callbacks import Callback

if TYPE_CHECKING:
    from eigenclean.train.engine import Engine


class TensorBoard(Callback):
    """Writes every number of an epoch's record as a scalar.

    Args:
        folder: log directory of TensorBoard.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        require("tensorboard", extra=None, caller="TensorBoard logging")
        self.folder = folder
        self._writer: Any = None

    def on_train_begin(self, engine: "Engine") -> None:
        """Open the log; a resumed run continues the curves after its last epoch."""
        from torch.utils.tensorboard import SummaryWriter

        if engine.is_main:
            self._writer = SummaryWriter(os.fspath(self.folder), purge_step=engine.epochs_done + 1)

    def on_epoch_end(self, engine: "Engine", record: dict[str, Any]) -> None:
        """Write the numbers of this epoch."""
        if self._writer is not None:
            for name, value in record.items():
                if name != "epoch" and isinstance(value, int | float):
                    self._writer.add_scalar(name, value, record["epoch"])

    def on_train_end(self, engine: "Engine") -> None:
        """Close the log."""
        if self._writer is not None:
            self._writer.close()
