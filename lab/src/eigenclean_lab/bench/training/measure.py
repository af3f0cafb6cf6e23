"""Train one recipe on one case of `eigenclean bench train` and collect its figures."""

import time
from typing import Any

from eigenclean.train import Callback, RobustClassifier
from eigenclean.workflows import SelectionQuality
from eigenclean_lab.bench.training.recipes import make_recipe
from eigenclean_lab.bench.training.settings import TrainingCase

FIGURES = ("last", "best", "f", "kept", "noise_rate", "seconds")


def measure(
    name: str,
    case: TrainingCase,
    seed: int = 0,
    schedule: str = "preset",
    epochs: int | None = None,
    device: str | None = None,
) -> dict[str, float]:
    """Train once; figures of the last epoch, and as "best" the highest test accuracy of all epochs.

    The right labels are used only to score the selections. Methods whose published form expects the true noise rate
    are given it, as their authors did.
    """
    rate = case.truth.noise_rate(case.labels)
    clock = TrainingClock()
    model = RobustClassifier(
        make_recipe(name, schedule, epochs, rate, case.net),
        net=case.net,
        random_state=seed,
        device=device,
        callbacks=[clock, SelectionQuality(case.truth, case.labels)],
    )
    model.fit(case.inputs, case.labels, test=case.test)
    last = model.history_[-1]
    figures = {
        "last": last["test_accuracy"],
        "best": max(record["test_accuracy"] for record in model.history_),
        "f": last["f"],
        "kept": last["kept_fraction"],
        "noise_rate": rate,
        "seconds": clock.seconds,
    }
    return {figure: float(figures[figure]) for figure in FIGURES}


class TrainingClock(Callback):
    """Measures the seconds of the training alone, without preparing data before and predicting after it."""

    seconds: float

    def on_train_begin(self, engine: Any) -> None:
        """Start the clock."""
        self._started = time.perf_counter()

    def on_train_end(self, engine: Any) -> None:
        """Stop the clock."""
        self.seconds = time.perf_counter() - self._started
