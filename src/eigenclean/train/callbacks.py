"""Callbacks hear what the engine does; what is not training itself is one of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from eigenclean.train.selection import Selection

if TYPE_CHECKING:
    from eigenclean.train.engine import Engine

__all__ = ["Callback"]


class Callback:
    """Override what you want to hear."""

    def on_train_begin(self, engine: "Engine") -> None:
        """The first epoch is about to begin."""

    def on_selection(self, engine: "Engine", epoch: int, selections: Sequence[Selection]) -> None:
        """Each network has selected from all samples, before ``epoch``; one selection per network."""

    def on_epoch_end(self, engine: "Engine", record: dict[str, Any]) -> None:
        """An epoch is over; what is added to ``record`` stays in the history."""

    def on_train_end(self, engine: "Engine") -> None:
        """The last epoch is over."""
