"""A run that is stopped goes on to the same numbers, wherever it was stopped."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.train import Callback, FromDetector, Optimiser, Recipe, Stage, recipe
from eigenclean.train.data.pool import Pool
from eigenclean.train.engine import Engine
from eigenclean.train.storage.checkpoint import differences, load_checkpoint
from eigenclean.train.storage.run_files import CHECKPOINT, METRICS, Checkpoints, MetricsFile

Make = Callable[[], torch.nn.Module]


class Stopped(Exception):
    """Someone pulled the plug."""


class Plug(Callback):
    """Stops before the selection of an epoch, or after its end."""

    def __init__(self, epoch: int, *, after: bool) -> None:
        self.epoch, self.after = epoch, after

    def on_selection(self, engine: Engine, epoch: int, selections: Any) -> None:
        if epoch >= self.epoch and not self.after:
            raise Stopped

    def on_epoch_end(self, engine: Engine, record: dict[str, Any]) -> None:
        if record["epoch"] >= self.epoch and self.after:
            raise Stopped


def run(chosen: Recipe, make: Make, pool: Pool, *callbacks: Callback, **options: Any) -> Engine:
    return Engine(chosen, make, pool, validation=pool, device="cpu", callbacks=callbacks, **options)


def equal(first: Engine, other: Engine) -> bool:
    pairs = zip(first.networks, other.networks, strict=True)
    return all(
        torch.equal(a, b)
        for ours, theirs in pairs
        for a, b in zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True)
    )


NAMES = [
    *("fine", "co-teaching", "f-coteaching", "dividemix", "dst", "elr+fine", "forward", "cores2"),
    pytest.param("longremix", marks=pytest.mark.slow),
]
NAMES += ["aum", "topofilter", "in parts"]


def short_recipe(name: str) -> Recipe:
    if name == "in parts":
        chosen = recipe("f-dividemix")
        return replace(chosen, stages=tuple(replace(stage, subset_size=60) for stage in chosen.stages))
    return recipe("standard").with_selector(name) if name == "aum" else recipe(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_stopped_run_goes_on_to_the_same_numbers(name: str, pool: Pool, small_net: Make, tmp_path: Path) -> None:
    chosen = short_recipe(name)
    chosen = chosen.with_epochs(2 * len(chosen.stages) + 1)
    whole = run(chosen, small_net, pool).fit()
    for epoch in range(1, chosen.epochs + 1):
        for after in (False, True):
            folder = tmp_path / f"{epoch}-{after}"
            stopped = run(chosen, small_net, pool, Checkpoints(folder), Plug(epoch, after=after))
            with pytest.raises(Stopped):
                stopped.fit()
                raise Stopped  # a rhythm without a selection in the last epochs is never stopped before one
            kept = Checkpoints(folder)
            resumed = run(chosen, small_net, pool, kept).fit(kept.resume())
            assert resumed.history == whole.history
            assert equal(resumed, whole)
            assert resumed.best.epoch == whole.best.epoch
            for ours, theirs in zip(resumed.verdicts, whole.verdicts, strict=True):
                assert (ours is None) == (theirs is None)
                if ours is not None and theirs is not None:
                    assert np.array_equal(ours.p_clean, theirs.p_clean)
                    assert np.array_equal(ours.suggested, theirs.suggested)
                    assert ours.made_by == json.loads(json.dumps(theirs.made_by))


def test_another_optimiser_and_averaged_losses_survive(pool: Pool, small_net: Make, tmp_path: Path) -> None:
    chosen = recipe("dividemix", window=3).with_epochs(6)
    stages = tuple(replace(stage, optimiser=Optimiser("adam", lr=0.01)) for stage in chosen.stages[1:])
    chosen = replace(chosen, stages=(chosen.stages[0], *stages))
    whole = run(chosen, small_net, pool).fit()
    for epoch in (3, 5):
        with pytest.raises(Stopped):
            run(chosen, small_net, pool, Checkpoints(tmp_path), Plug(epoch, after=True)).fit()
        resumed = run(chosen, small_net, pool).fit(Checkpoints(tmp_path).resume())
        assert equal(resumed, whole)


def test_a_finished_run_is_only_read(pool: Pool, small_net: Make, tmp_path: Path) -> None:
    chosen = recipe("fine").with_epochs(4)
    whole = run(chosen, small_net, pool, Checkpoints(tmp_path)).fit()
    again = run(chosen, small_net, pool).fit(Checkpoints(tmp_path).resume())
    assert again.history == whole.history
    assert equal(again, whole)
    assert len(again.best.weights) == 1


def test_what_a_killed_run_left_half_written_is_cleared_away(pool: Pool, small_net: Make, tmp_path: Path) -> None:
    for name in (f".{CHECKPOINT}.abc.tmp", f".{METRICS}.abc.tmp", ".other.abc.tmp"):
        (tmp_path / name).write_bytes(b"half")
    chosen = Recipe("mine", (Stage(1),))
    run(chosen, small_net, pool, Checkpoints(tmp_path), MetricsFile(tmp_path)).fit()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".other.abc.tmp", CHECKPOINT, METRICS]


def test_without_a_checkpoint_there_is_nothing_to_resume(tmp_path: Path) -> None:
    assert Checkpoints(tmp_path).resume() is None


def test_every_so_many_epochs(pool: Pool, small_net: Make, tmp_path: Path) -> None:
    chosen = recipe("standard").with_epochs(5)
    whole = run(chosen, small_net, pool).fit()
    with pytest.raises(Stopped):
        run(chosen, small_net, pool, Checkpoints(tmp_path, every=2), Plug(3, after=True)).fit()
    kept = Checkpoints(tmp_path, every=2)
    resumed = run(chosen, small_net, pool)
    resumed.fit(kept.resume())
    assert equal(resumed, whole)
    with pytest.raises(InvalidOption, match="every must be at least 1"):
        Checkpoints(tmp_path, every=0)


def test_metrics_are_one_line_per_epoch_and_go_on(pool: Pool, small_net: Make, tmp_path: Path) -> None:
    chosen = recipe("fine").with_epochs(5)
    metrics = tmp_path / METRICS
    with pytest.raises(Stopped):
        run(chosen, small_net, pool, Checkpoints(tmp_path), MetricsFile(tmp_path), Plug(3, after=True)).fit()
    metrics.write_text(metrics.read_text() + '{"epoch": 4, "loss": "of a killed run"}\n')
    kept = Checkpoints(tmp_path)
    resumed = run(chosen, small_net, pool, kept, MetricsFile(tmp_path)).fit(kept.resume())
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert lines == resumed.history
    assert [line["epoch"] for line in lines] == [1, 2, 3, 4, 5]
    assert {"loss", "train_accuracy", "val_accuracy", "kept_fraction"} <= set(lines[0])


def saved(chosen: Recipe, make: Make, pool: Pool, folder: Path) -> Path:
    run(chosen, make, pool, Checkpoints(folder)).fit()
    return folder / CHECKPOINT


def test_a_changed_recipe_seed_or_data_is_refused_and_named(
    pool: Pool, blobs: Any, small_net: Make, tmp_path: Path
) -> None:
    chosen = recipe("fine").with_epochs(4)
    path = saved(chosen, small_net, pool, tmp_path)
    before = path.read_bytes()
    other = Pool.from_arrays(blobs[0], (blobs[1] + 1) % 3, pool.classes)
    strict = chosen.with_selector(FromDetector("fine", {"threshold": 0.9}))
    for changed, data, options, message in (
        (replace(chosen, optimiser=Optimiser(lr=0.5)), pool, {}, "recipe optimiser lr was 0.001 and is 0.5"),
        (strict, pool, {}, "recipe stages 2 select options threshold was null and is 0.9"),
        (recipe("fine").with_epochs(5), pool, {}, "epochs was"),
        (chosen, pool, {"seed": 3}, "seed was 0 and is 3"),
        (chosen, other, {}, 'training data was "'),
    ):
        with pytest.raises(InvalidOption, match=f"cannot resume from .*{message}.*start a new run"):
            run(changed, small_net, data, **options).fit(Checkpoints(tmp_path).resume())
    with pytest.raises(InvalidOption, match='net was null and is "mlp"'):
        run(chosen, small_net, pool).fit(Checkpoints(tmp_path, {"net": "mlp"}).resume())
    assert path.read_bytes() == before


def test_another_name_of_the_same_recipe_is_no_change(pool: Pool, small_net: Make, tmp_path: Path) -> None:
    chosen = recipe("fine").with_epochs(3)
    saved(chosen, small_net, pool, tmp_path)
    run(replace(chosen, name="mine"), small_net, pool).fit(Checkpoints(tmp_path).resume())


@pytest.mark.parametrize("damage", ["cut", "other", "text", "foreign"])
def test_a_wrong_checkpoint_gets_a_sentence(damage: str, pool: Pool, small_net: Make, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    path = saved(Recipe("mine", (Stage(1),)), small_net, pool, tmp_path)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-7])
    elif damage == "text":
        path.write_text("hello")
    elif damage == "foreign":
        save_file({"a": torch.zeros(1)}, path)
    else:
        save_file({"a": torch.zeros(1)}, path, metadata={"eigenclean": '{"format": 99}'})
    with pytest.raises(InvalidData, match=r"checkpoint\.safetensors is not a checkpoint"):
        run(Recipe("mine", (Stage(1),)), small_net, pool).fit(Checkpoints(tmp_path).resume())


def test_a_network_of_another_shape_gets_a_sentence(pool: Pool, small_net: Make, tmp_path: Path) -> None:
    from eigenclean.nets import make_net

    chosen = Recipe("mine", (Stage(1),))
    saved(chosen, small_net, pool, tmp_path)
    with pytest.raises(InvalidData, match="is not a checkpoint of this training"):
        run(chosen, lambda: make_net("mlp", 8, 3, hidden=[5]), pool).fit(Checkpoints(tmp_path).resume())


def test_a_full_disk_is_one_sentence_and_the_last_checkpoint_stays(
    pool: Pool, small_net: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = recipe("standard").with_epochs(4)
    write, calls = Path.write_bytes, []

    def full(self: Path, data: bytes) -> int:
        calls.append(self)
        if len(calls) == 3:
            write(self, data[:100])
            raise OSError(28, "No space left on device")
        return write(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(
        InvalidOption, match=r"cannot write .*checkpoint\.safetensors: no space left on the disk of"
    ):
        run(chosen, small_net, pool, Checkpoints(tmp_path)).fit()
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == [CHECKPOINT]
    resumed = run(chosen, small_net, pool).fit(Checkpoints(tmp_path).resume())
    assert equal(resumed, run(chosen, small_net, pool).fit())


def test_differences_in_words() -> None:
    assert differences({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}) == ["a 2 b was 2 and is 3"]
    assert differences({"a": [1]}, {"a": [1, 2]}) == ["a was [1] and is [1, 2]"]
    assert differences({"a": 1}, {"b": 1}) == ["a was 1 and is null", "b was null and is 1"]
    assert differences({"a": "x" * 99}, {"a": 1})[0].endswith("... and is 1")


def test_loading_is_all_or_nothing(pool: Pool, small_net: Make, tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match="cannot read the checkpoint"):
        load_checkpoint(run(Recipe("mine", (Stage(1),)), small_net, pool), tmp_path / CHECKPOINT, {})


def as_written_by_0_1(path: Path) -> None:
    """Give the fields and tensors of a checkpoint the names they had in version 0.1."""
    with safe_open(path, "pt") as file:
        header = json.loads(file.metadata()["eigenclean"])
        tensors = {name.replace("label_counts", "seen"): file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    for stage in header["identity"]["recipe"]["stages"]:
        stage["part"] = stage.pop("subset_size")
    path.write_bytes(save(tensors, metadata={"eigenclean": json.dumps(header)}))


@pytest.mark.parametrize("name", ["cores2", "in parts"])
def test_a_checkpoint_of_version_0_1_is_resumed(name: str, pool: Pool, small_net: Make, tmp_path: Path) -> None:
    chosen = short_recipe(name).with_epochs(5)
    whole = run(chosen, small_net, pool).fit()
    with pytest.raises(Stopped):
        run(chosen, small_net, pool, Checkpoints(tmp_path), Plug(3, after=True)).fit()
    as_written_by_0_1(tmp_path / CHECKPOINT)
    assert equal(run(chosen, small_net, pool).fit(Checkpoints(tmp_path).resume()), whole)
