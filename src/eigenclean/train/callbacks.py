"""Callbacks of the engine: logging, checkpoints and everything else that is not training itself."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from eigenclean.train.selection import Selection

if TYPE_CHECKING:
    from eigenclean.train.engine import Engine

__all__ = ["Callback"]


class Callback:
    """Base class; override the events of interest."""

    def on_train_begin(self, engine: "Engine") -> None:
        """Called before the first epoch, after a resumed state has been restored."""

    def on_selection(self, engine: "Engine", epoch: int, selections: Sequence[Selection]) -> None:
        """Called before ``epoch`` when the networks have new selections, one per network."""

    def on_epoch_end(self, engine: "Engine", record: dict[str, Any]) -> None:
        """Called after an epoch; what is added to ``record`` stays in the history."""

    def on_train_end(self, engine: "Engine") -> None:
        """Called after the last epoch."""
