"""The state of an engine between two epochs, as named tensors and plain values, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from eigenclean.arrays import locate_labels
from eigenclean.train.component import Part
from eigenclean.train.engine import Engine
from eigenclean.train.loop.learner import Learner
from eigenclean.train.selection import Selection
from eigenclean.verdict import Verdict

Tensors = dict[str, Tensor]
_COLUMNS = ("score", "p_clean", "flagged", "suggested_confidence")


def capture(engine: Engine) -> tuple[Tensors, dict[str, Any]]:
    """Everything that the next epoch depends on."""
    tensors: Tensors = {"random": torch.get_rng_state()}
    for number in range(torch.cuda.device_count()):
        tensors[f"random.cuda.{number}"] = torch.cuda.get_rng_state(number)
    learners, verdicts = [], []
    for number, (learner, net) in enumerate(zip(engine.learners, engine.networks, strict=True)):
        tensors |= _named(f"{number}.net", net.state_dict()) | _of_learner(f"{number}", learner)
        assert learner.loss_part is not None
        learners.append({"loss": learner.loss_part.to_dict(), "optimiser": learner.optimiser_name})
        verdicts.append(_put_verdict(f"{number}.verdict", engine.verdicts[number], engine, tensors))
    for number, state in enumerate(engine.best.states):
        tensors |= _named(f"{number}.best", state)
    scaler = engine.accelerator.scaler
    record = {
        "history": engine.history,
        "learners": learners,
        "verdicts": verdicts,
        "best": {"epoch": engine.best.epoch, "accuracy": engine.best.accuracy},
        "scaler": None if scaler is None else scaler.state_dict(),
    }
    return {name: _own(value) for name, value in tensors.items()}, record


def restore(engine: Engine, tensors: Mapping[str, Tensor], record: Mapping[str, Any]) -> None:
    """Put the engine, whose networks are fresh, into that state."""
    engine.history[:] = record["history"]
    plan = engine.recipe.plan()
    last = plan[engine.epochs_done - 1]
    engine.prepare_stage(last)
    for number, (learner, net) in enumerate(zip(engine.learners, engine.networks, strict=True)):
        facts = record["learners"][number]
        if facts["optimiser"] != learner.optimiser_name or Part.from_dict(facts["loss"]) != learner.loss_part:
            raise ValueError(f"it is about {facts}")
        net.load_state_dict(_under(f"{number}.net", tensors))
        _put_back(f"{number}", learner, tensors)
        engine.verdicts[number] = _get_verdict(f"{number}.verdict", record["verdicts"][number], engine, tensors)
    engine.best.epoch, engine.best.accuracy = record["best"]["epoch"], record["best"]["accuracy"]
    if engine.best.epoch is not None:
        engine.best.states = [_under(f"{number}.best", tensors) for number in range(len(engine.learners))]
    if engine.accelerator.scaler is not None and record["scaler"] is not None:
        engine.accelerator.scaler.load_state_dict(record["scaler"])
    torch.set_rng_state(tensors["random"])
    for number in range(torch.cuda.device_count()):
        torch.cuda.set_rng_state(tensors[f"random.cuda.{number}"], number)


def _of_learner(start: str, learner: Learner) -> Tensors:
    tensors = {
        f"{start}.order": learner.order.get_state(),
        f"{start}.dice": learner.dice.get_state(),
        f"{start}.learned": torch.from_numpy(learner.learned),
    }
    tensors |= _named(f"{start}.loss", learner.loss.state_dict())
    if learner.margins is not None:
        tensors |= _named(f"{start}.margins", learner.margins.state_dict())
    tensors |= _named(f"{start}.memory", {name: torch.from_numpy(value) for name, value in learner.memory.items()})
    for parameter, state in learner.optimiser.state_dict()["state"].items():
        there = {name: value for name, value in state.items() if isinstance(value, Tensor)}
        tensors |= _named(f"{start}.optimiser.{parameter}", there)
    if learner.selection is not None:
        chosen = learner.selection
        parts = {"keep": chosen.keep, "weight": chosen.weight, "target": chosen.target, "rest": chosen.rest}
        tensors |= {f"{start}.selected.{k}": torch.from_numpy(v) for k, v in parts.items() if v is not None}
    return tensors


def _put_back(start: str, learner: Learner, tensors: Mapping[str, Tensor]) -> None:
    learner.order.set_state(tensors[f"{start}.order"])
    learner.dice.set_state(tensors[f"{start}.dice"])
    learner.learned = tensors[f"{start}.learned"].numpy()
    learner.loss.load_state_dict(_under(f"{start}.loss", tensors))
    if learner.margins is not None:
        learner.margins.load_state_dict(_under(f"{start}.margins", tensors))
    learner.memory = {name: value.numpy() for name, value in _under(f"{start}.memory", tensors).items()}
    states: dict[int, dict[str, Tensor]] = {}
    for name, value in _under(f"{start}.optimiser", tensors).items():
        parameter, _, key = name.partition(".")
        states.setdefault(int(parameter), {})[key] = value
    groups = learner.optimiser.state_dict()["param_groups"]
    learner.optimiser.load_state_dict({"state": states, "param_groups": groups})
    chosen = {name: value.numpy() for name, value in _under(f"{start}.selected", tensors).items()}
    if chosen:
        learner.take(Selection(chosen["keep"], chosen["weight"], chosen.get("target"), rest=chosen.get("rest")))


def _put_verdict(start: str, verdict: Verdict | None, engine: Engine, tensors: Tensors) -> Any:
    if verdict is None:
        return None
    for name in _COLUMNS:
        tensors[f"{start}.{name}"] = torch.from_numpy(np.ascontiguousarray(getattr(verdict, name)))
    codes = locate_labels(verdict.suggested, engine.pool.classes, by="checkpoint")
    tensors[f"{start}.suggested"] = torch.from_numpy(codes.astype(np.int64))
    return verdict.made_by


def _get_verdict(start: str, made_by: Any, engine: Engine, tensors: Mapping[str, Tensor]) -> Verdict | None:
    if made_by is None:
        return None
    there = {name: value.numpy() for name, value in _under(start, tensors).items()}
    suggested = engine.pool.classes[there.pop("suggested")]
    return Verdict(ids=engine.pool.ids, labels=engine.pool.labels, suggested=suggested, made_by=made_by, **there)


def _named(start: str, tensors: Mapping[str, Tensor]) -> Tensors:
    return {f"{start}.{name}": value for name, value in tensors.items()}


def _under(start: str, tensors: Mapping[str, Tensor]) -> Tensors:
    start += "."
    return {name[len(start) :]: value for name, value in tensors.items() if name.startswith(start)}


def _own(value: Tensor) -> Tensor:
    """Memory of its own: the format knows no shared tensors."""
    return value.detach().cpu().contiguous().clone()
