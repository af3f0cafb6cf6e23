"""The state of an engine between two epochs, as named tensors and plain values, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from eigenclean.arrays import locate_labels
from eigenclean.train.component import ComponentSpec
from eigenclean.train.engine import Engine
from eigenclean.train.loop.network_state import NetworkState
from eigenclean.train.selection import Selection
from eigenclean.verdict import Verdict

Tensors = dict[str, Tensor]
_COLUMNS = ("score", "p_clean", "flagged", "suggested_confidence")


def capture(engine: Engine) -> tuple[Tensors, dict[str, Any]]:
    """Everything that the next epoch depends on."""
    tensors: Tensors = {"random": torch.get_rng_state()}
    for number in range(torch.cuda.device_count()):
        tensors[f"random.cuda.{number}"] = torch.cuda.get_rng_state(number)
    states, verdicts = [], []
    for number, (state, net) in enumerate(zip(engine.network_states, engine.networks, strict=True)):
        tensors |= _named(f"{number}.net", net.state_dict()) | _of_learner(f"{number}", state)
        assert state.loss_spec is not None
        states.append({"loss": state.loss_spec.to_dict(), "optimiser": state.optimiser_name})
        verdicts.append(_put_verdict(f"{number}.verdict", engine.verdicts[number], engine, tensors))
    for number, weights in enumerate(engine.best.states):
        tensors |= _named(f"{number}.best", weights)
    scaler = engine.accelerator.scaler
    record = {
        "history": engine.history,
        "learners": states,
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
    for number, (state, net) in enumerate(zip(engine.network_states, engine.networks, strict=True)):
        facts = record["learners"][number]
        if facts["optimiser"] != state.optimiser_name or ComponentSpec.from_dict(facts["loss"]) != state.loss_spec:
            raise ValueError(f"it is about {facts}")
        net.load_state_dict(_under(f"{number}.net", tensors))
        _put_back(f"{number}", state, tensors)
        engine.verdicts[number] = _get_verdict(f"{number}.verdict", record["verdicts"][number], engine, tensors)
    engine.best.epoch, engine.best.accuracy = record["best"]["epoch"], record["best"]["accuracy"]
    if engine.best.epoch is not None:
        engine.best.states = [_under(f"{number}.best", tensors) for number in range(len(engine.network_states))]
    if engine.accelerator.scaler is not None and record["scaler"] is not None:
        engine.accelerator.scaler.load_state_dict(record["scaler"])
    torch.set_rng_state(tensors["random"])
    for number in range(torch.cuda.device_count()):
        torch.cuda.set_rng_state(tensors[f"random.cuda.{number}"], number)


def _of_learner(start: str, state: NetworkState) -> Tensors:
    tensors = {
        f"{start}.order": state.shuffle_generator.get_state(),
        f"{start}.dice": state.augmentation_generator.get_state(),
        f"{start}.learned": torch.from_numpy(state.trained_on),
    }
    tensors |= _named(f"{start}.loss", state.loss.state_dict())
    if state.margins is not None:
        tensors |= _named(f"{start}.margins", state.margins.state_dict())
    tensors |= _named(
        f"{start}.memory", {name: torch.from_numpy(value) for name, value in state.selector_memory.items()}
    )
    for parameter, moments in state.optimiser.state_dict()["state"].items():
        there = {name: value for name, value in moments.items() if isinstance(value, Tensor)}
        tensors |= _named(f"{start}.optimiser.{parameter}", there)
    if state.selection is not None:
        chosen = state.selection
        parts = {"keep": chosen.keep, "weight": chosen.weight, "target": chosen.target, "rest": chosen.rest}
        tensors |= {f"{start}.selected.{k}": torch.from_numpy(v) for k, v in parts.items() if v is not None}
    return tensors


def _put_back(start: str, state: NetworkState, tensors: Mapping[str, Tensor]) -> None:
    state.shuffle_generator.set_state(tensors[f"{start}.order"])
    state.augmentation_generator.set_state(tensors[f"{start}.dice"])
    state.trained_on = tensors[f"{start}.learned"].numpy()
    state.loss.load_state_dict(_under(f"{start}.loss", tensors))
    if state.margins is not None:
        state.margins.load_state_dict(_under(f"{start}.margins", tensors))
    state.selector_memory = {name: value.numpy() for name, value in _under(f"{start}.memory", tensors).items()}
    states: dict[int, dict[str, Tensor]] = {}
    for name, value in _under(f"{start}.optimiser", tensors).items():
        parameter, _, key = name.partition(".")
        states.setdefault(int(parameter), {})[key] = value
    groups = state.optimiser.state_dict()["param_groups"]
    state.optimiser.load_state_dict({"state": states, "param_groups": groups})
    chosen = {name: value.numpy() for name, value in _under(f"{start}.selected", tensors).items()}
    if chosen:
        state.set_selection(
            Selection(chosen["keep"], chosen["weight"], chosen.get("target"), rest=chosen.get("rest"))
        )


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
