"""Files that a run writes after every epoch: a checkpoint and a line of metrics."""

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
    """Saves the whole state after every epoch, so that a killed run can be resumed with the same result.

    Args:
        folder: where ``checkpoint.safetensors`` is written.
        identity: JSON values that a resumed run must share; recipe, seed and data are added.
        every: epochs between checkpoints; the last epoch is always saved.
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
        """The argument of `Engine.fit` that restores the checkpoint; None when there is none yet."""
        from eigenclean.train.storage.checkpoint import load_checkpoint

        path = self.folder / CHECKPOINT
        if not path.exists():
            return None
        return lambda engine: load_checkpoint(engine, path, self._identity(engine))

    def on_train_begin(self, engine: "Engine") -> None:
        """Remove files that a killed run has left incomplete."""
        if engine.is_main:
            clear_leftovers(self.folder / CHECKPOINT)

    def on_epoch_end(self, engine: "Engine", record: dict[str, Any]) -> None:
        """Save a checkpoint if one is due."""
        from eigenclean.train.storage.checkpoint import save_checkpoint

        due = record["epoch"] % self.every == 0 or record["epoch"] == engine.recipe.epochs
        if due and engine.is_main:
            save_checkpoint(engine, self.folder / CHECKPOINT, self._identity(engine))

    def _identity(self, engine: "Engine") -> dict[str, Any]:
        if self._digests is None:  # a checkpoint belongs to one engine, whose data do not change
            pools = {
                "training data": engine.pool,
                **{f"{name} data": pool for name, pool in engine.evaluation_pools.items()},
            }
            self._digests = {name: pool.digest() for name, pool in pools.items()}
        return {
            **self.identity,
            "recipe": {**engine.recipe.to_dict(), "name": None},  # its name does not matter
            "seed": engine.seed,
            "precision": str(engine.accelerator.mixed_precision),
            **self._digests,
        }


class MetricsFile(Callback):
    """Writes the history as one JSON object per line, atomically, after every epoch."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder) / METRICS

    def on_train_begin(self, engine: "Engine") -> None:
        """Remove files that a killed run has left incomplete."""
        if engine.is_main:
            clear_leftovers(self.path)

    def on_epoch_end(self, engine: "Engine", record: dict[str, Any]) -> None:
        """Rewrite all lines: the file of a killed run may have one more than its checkpoint."""
        if engine.is_main:
            write_text(self.path, "".join(json.dumps(line, allow_nan=False) + "\n" for line in engine.history))


def clear_leftovers(path: Path) -> None:
    """Remove temporary files beside ``path`` whose writer was killed before it could rename or remove them."""
    for leftover in path.parent.glob(f".{path.name}.*.tmp"):
        leftover.unlink(missing_ok=True)
