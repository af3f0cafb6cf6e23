"""What a run leaves behind while it goes on: checkpoints and a line of metrics per epoch."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenclean.errors import InvalidOption
from eigenclean.files import write_text
from eigenclean.train.callbacks import Callback

if TYPE_CHECKING:
    from eigenclean.train.engine import Engine

CHECKPOINT = "checkpoint.safetensors"
METRICS = "metrics.jsonl"


class Checkpoints(Callback):
    """Saves the whole state after every epoch, so that a killed run goes on with `resume` to the same numbers.

    Args:
        folder: where ``checkpoint.safetensors`` is.
        identity: what must be the same to go on: plain values for JSON. Recipe, seed and data are added.
        every: epochs from one checkpoint to the next; the last epoch is always saved.
    """

    def __init__(
        self, folder: str | os.PathLike[str], identity: Mapping[str, Any] | None = None, every: int = 1
    ) -> None:
        if every < 1:
            raise InvalidOption(f"checkpoints: every must be at least 1, got {every}")
        self.folder = Path(folder)
        self.identity = dict(identity or {})
        self.every = every
        self._digests: dict[str, str] | None = None

    def resume(self) -> "Callable[[Engine], None] | None":
        """What `Engine.fit` takes to go on from the checkpoint; None when there is none yet."""
        from eigenclean.train.storage.checkpoint import load_checkpoint

        path = self.folder / CHECKPOINT
        if not path.exists():
            return None
        return lambda engine: load_checkpoint(engine, path, self._identity(engine))

    def on_train_begin(self, engine: "Engine") -> None:
        """Clear away what a killed run has left half-written."""
        if engine.is_main:
            clear_leftovers(self.folder / CHECKPOINT)

    def on_epoch_end(self, engine: "Engine", record: dict[str, Any]) -> None:
        """Save."""
        from eigenclean.train.storage.checkpoint import save_checkpoint

        due = record["epoch"] % self.every == 0 or record["epoch"] == engine.recipe.epochs
        if due and engine.is_main:
            save_checkpoint(engine, self.folder / CHECKPOINT, self._identity(engine))

    def _identity(self, engine: "Engine") -> dict[str, Any]:
        if self._digests is None:  # a checkpoint belongs to one engine, whose data do not change
            pools = {"training data": engine.pool, **{f"{name} data": pool for name, pool in engine.apart.items()}}
            self._digests = {name: pool.digest() for name, pool in pools.items()}
        return {
            **self.identity,
            "recipe": {**engine.recipe.to_dict(), "name": None},  # whatever it is called
            "seed": engine.seed,
            "precision": str(engine.accelerator.mixed_precision),
            **self._digests,
        }


class MetricsFile(Callback):
    """Writes the history as one JSON object per line; whole or not at all, after every epoch."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder) / METRICS

    def on_train_begin(self, engine: "Engine") -> None:
        """Clear away what a killed run has left half-written."""
        if engine.is_main:
            clear_leftovers(self.path)

    def on_epoch_end(self, engine: "Engine", record: dict[str, Any]) -> None:
        """Write all lines anew: after a kill there may have been one more than the checkpoint knows."""
        if engine.is_main:
            write_text(self.path, "".join(json.dumps(line, allow_nan=False) + "\n" for line in engine.history))


def clear_leftovers(path: Path) -> None:
    """Remove temporary files beside ``path`` whose writer was killed before it could rename or remove them."""
    for leftover in path.parent.glob(f".{path.name}.*.tmp"):
        leftover.unlink(missing_ok=True)
