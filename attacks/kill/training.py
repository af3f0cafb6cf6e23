"""Kills of `train`: a resumed training ends with the same bits, and a model is the old one or the new one."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from attacks import seeds, table_seeds
from attacks.kill.scenario import Scenario, run_again
from eigenclean.cli.app import run
from eigenclean.errors import EigencleanError

_TIMES = ("seconds", "time", "created")


class Train(Scenario):
    """`train` into a new folder, resumed after the kill."""

    name = "train"

    def build(self, folder: Path) -> None:
        """The data alone."""
        table_seeds.write_npz(folder)

    def command(self, folder: Path) -> list[str]:
        """The command line that is killed."""
        return ["train", str(folder / "data.npz"), "--out", str(folder / "model"), *seeds.TRAINING]

    def work(self, folder: Path) -> None:
        """Train two epochs."""
        assert run(self.command(folder)) == 0

    def check(self, folder: Path, done: Path) -> Iterable[str]:
        """A model that can be loaded is whole; the resumed training equals one that was never killed."""
        expected = outcome(done / "model")
        actual = _loaded(folder / "model")
        if actual is not None and actual != _loaded(done / "model"):
            yield "a model can be loaded that is not the one that was trained"
        yield from run_again([*self.command(folder), "--resume"], folder)
        yield from _unequal(outcome(folder / "model"), expected)


class Retrain(Train):
    """`train --force` over the finished model of another training."""

    name = "retrain"
    kills = 20

    def build(self, folder: Path) -> None:
        """The data, and a model of another seed."""
        super().build(folder)
        assert run([*super().command(folder), "--seed", "7"]) == 0
        (folder / "old.json").write_text(json.dumps(_loaded(folder / "model")), encoding="utf-8")

    def command(self, folder: Path) -> list[str]:
        """The same with another seed, and with `--force`, without which a finished model is not replaced."""
        return [*super().command(folder), "--force"]

    def check(self, folder: Path, done: Path) -> Iterable[str]:
        """What can be loaded is the old or the new model; training again gives the new one."""
        old, new = json.loads((folder / "old.json").read_text(encoding="utf-8")), _loaded(done / "model")
        if _loaded(folder / "model") not in (None, old, new):
            yield "a model can be loaded that is neither the old one nor the new one"
        yield from run_again(self.command(folder), folder)
        yield from _unequal(outcome(folder / "model"), outcome(done / "model"))


def outcome(model: Path) -> dict[str, Any]:
    """Everything about a training that must be equal, bit by bit: weights, metrics, verdict."""
    from eigenclean.verdict import Verdict

    if not (model / "metrics.jsonl").exists():
        return {}
    metrics = [json.loads(line) for line in (model / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    verdict = Verdict.load(model)
    return {
        "weights": (model / "model.safetensors").read_bytes().hex(),
        "metrics": [{key: value for key, value in record.items() if key not in _TIMES} for record in metrics],
        "verdict": [np.asarray(values).tolist() for values in (verdict.ids, verdict.p_clean, verdict.flagged)],
    }


def _unequal(actual: dict[str, Any], expected: dict[str, Any]) -> Iterable[str]:
    unequal = [name for name in expected if actual.get(name) != expected[name]]
    if unequal:
        yield f"after a second try the {' and '.join(unequal)} differ from a training that was not killed"


def _loaded(model: Path) -> list[Any] | None:
    """What a model predicts; None if it is refused."""
    from eigenclean import RobustClassifier

    try:
        classifier = RobustClassifier.load(model)
    except EigencleanError:
        return None
    predicted: list[Any] = np.asarray(classifier.predict_proba(table_seeds.numbers()[0])).tolist()
    return [predicted, np.asarray(classifier.verdict_.p_clean).tolist()]
