"""People have the last word: what they confirmed is always learned, what they removed never."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from eigenclean.arrays import Array, Bools, Ints
from eigenclean.cli.train import train
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.patch import Patch
from eigenclean.sources import open_source
from eigenclean.train import RobustClassifier, recipe
from eigenclean.train.callbacks import Callback
from eigenclean.train.selection import Selection
from eigenclean.verdict import Verdict

app = typer.Typer()
app.command()(train)


class Watch(Callback):
    """Remembers what was learned in each epoch, and what was meant to be."""

    def __init__(self) -> None:
        self.trained_on: list[Bools] = []
        self.selections: list[Selection] = []

    def on_selection(self, engine: Any, epoch: int, selections: Any) -> None:
        self.selections += selections

    def on_epoch_end(self, engine: Any, record: dict[str, Any]) -> None:
        self.trained_on += [state.trained_on.copy() for state in engine.network_states]


@pytest.mark.parametrize("name", ["fine", "co-teaching", "dividemix", "dst", "crust"])
def test_confirmed_labels_are_always_learned(name: str, blobs: tuple[Array, Ints]) -> None:
    features, given = blobs
    trusted = np.zeros(len(given), dtype=bool)
    trusted[:9] = True  # the very ones that are wrong, so no selector would take them all
    kept = {}
    for mask in (None, trusted):
        watch = Watch()
        chosen = recipe(name).with_epochs(6)
        RobustClassifier(chosen, callbacks=[watch], device="cpu").fit(features, given, trusted=mask)
        kept[mask is None] = np.array(watch.trained_on)[:, :9].all()
        for selection in watch.selections if mask is not None else ():
            assert selection.keep[:9].all() and (selection.weight[:9] == 1).all()
            if selection.target is not None:
                sure = given if selection.target.ndim == 1 else np.eye(3)[given]
                assert (selection.target[:9] == sure[:9]).all()
    assert kept[False]
    assert name == "dst" or not kept[True]  # which keeps them too, with labels of its own


def test_targets_of_both_kinds() -> None:
    codes, trusted = np.array([2, 0]), np.array([True, False])
    numbers = Selection(np.array([False, True]), np.full(2, 0.5), np.array([1, 1])).with_trusted(trusted, codes)
    assert numbers.target is not None and numbers.target.tolist() == [2, 1]
    assert numbers.weight.tolist() == [1.0, 0.5] and numbers.keep.all()
    shares = Selection(np.array([False, True]), np.ones(2), np.full((2, 4), 0.25)).with_trusted(trusted, codes)
    assert shares.target is not None and shares.target.tolist() == [[0, 0, 1, 0], [0.25] * 4]


def test_a_wrong_mask(blobs: tuple[Array, Ints]) -> None:
    with pytest.raises(
        InvalidData, match=r"trusted must be true or false for each of the 120 rows, got shape \(3,\)"
    ):
        RobustClassifier().fit(*blobs, trusted=[True] * 3)


def test_the_command(blobs: tuple[Array, Ints], tmp_path: Path) -> None:
    source = tmp_path / "data.npz"
    np.savez(source, features=blobs[0], labels=blobs[1], ids=np.arange(120) + 500)
    data = open_source(source)
    line = {"data_hash": data.data_hash()}
    records = [
        {**line, "id": 500 + row, "decision": "relabel", "old": int(blobs[1][row]), "new": row % 3}
        for row in range(6)
    ]
    records += [{**line, "id": 500 + row, "decision": "remove", "old": int(blobs[1][row])} for row in (6, 7, 30)]
    records += [{**line, "id": 600, "decision": "keep", "old": int(blobs[1][100])}]
    patch = Patch.from_records(records).save(tmp_path / "patch.jsonl")

    def run(*more: object) -> str:
        arguments = [
            source,
            "--out",
            tmp_path / "run",
            "--epochs",
            6,
            "--device",
            "cpu",
            "--json",
            "--force",
            *more,
        ]
        done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
        return done.stdout

    shown = json.loads(run("--patch", patch))
    assert (shown["n_settled"], shown["n_removed"], shown["n_samples"]) == (7, 3, 117)
    verdict = Verdict.load(tmp_path / "run")
    assert not {506, 507, 530} & set(verdict.ids.tolist())
    assert verdict.labels[:6].tolist() == [0, 1, 2, 0, 1, 2]
    np.savez(source, features=blobs[0] + 1, labels=blobs[1], ids=np.arange(120) + 500)
    with pytest.raises(InvalidData, match=r"is not what .*patch\.jsonl was made for"):
        run("--patch", patch)
    run("--patch", patch, "--by-id")
    with pytest.raises(InvalidOption, match="give --noise or --patch, not both"):
        run("--patch", patch, "--by-id", "--noise", "symmetric:0.2")
