"""The state of an engine between two epochs as named tensors and JSON values, and back.

The names are those of version 0.1, so that its checkpoints can still be read.
"""

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
_VERDICT_COLUMNS = ("score", "p_clean", "flagged", "suggested_confidence")
_RENAMED_BUFFERS = {"seen": "label_counts"}  # of losses, since version 0.1
_OLD_AUGMENTATION = "dice"  # the key in checkpoints of version 0.1


def capture(engine: Engine) -> tuple[Tensors, dict[str, Any]]:
    """Everything that the next epoch depends on."""
    tensors: Tensors = {"random": torch.get_rng_state()}
    for number in range(torch.cuda.device_count()):
        tensors[f"random.cuda.{number}"] = torch.cuda.get_rng_state(number)
    components, verdicts = [], []
    for number, (state, net) in enumerate(zip(engine.network_states, engine.networks, strict=True)):
        tensors |= _with_prefix(f"{number}.net", net.state_dict()) | _capture_network(f"{number}", state)
        assert state.loss_spec is not None
        components.append({"loss": state.loss_spec.to_dict(), "optimiser": state.optimiser_name})
        verdicts.append(_capture_verdict(f"{number}.verdict", engine.verdicts[number], engine, tensors))
    for number, weights in enumerate(engine.best.weights):
        tensors |= _with_prefix(f"{number}.best", weights)
    for number, weights in enumerate(engine.lowest.weights):
        tensors |= _with_prefix(f"{number}.lowest", weights)
    scaler = engine.accelerator.scaler
    record = {
        "history": engine.history,
        "learners": components,
        "verdicts": verdicts,
        "best": {"epoch": engine.best.epoch, "accuracy": engine.best.accuracy},
        "lowest": engine.lowest.losses,
        "scaler": None if scaler is None else scaler.state_dict(),
    }
    return {name: _copied(value) for name, value in tensors.items()}, record


def restore(engine: Engine, tensors: Mapping[str, Tensor], record: Mapping[str, Any]) -> None:
    """Put an engine with fresh networks into that state."""
    engine.history[:] = record["history"]
    engine.prepare_stage(engine.recipe.plan()[engine.epochs_done - 1])
    for number, (state, net) in enumerate(zip(engine.network_states, engine.networks, strict=True)):
        components = record["learners"][number]
        same_loss = ComponentSpec.from_dict(components["loss"]) == state.loss_spec
        if components["optimiser"] != state.optimiser_name or not same_loss:
            raise ValueError(f"it is about {components}")
        net.load_state_dict(_without_prefix(f"{number}.net", tensors))
        _restore_network(f"{number}", state, tensors)
        verdict = _restore_verdict(f"{number}.verdict", record["verdicts"][number], engine, tensors)
        engine.verdicts[number] = verdict
    engine.best.epoch, engine.best.accuracy = record["best"]["epoch"], record["best"]["accuracy"]
    if engine.best.epoch is not None:
        engine.best.weights = [
            _without_prefix(f"{number}.best", tensors) for number in range(len(engine.network_states))
        ]
    engine.lowest.losses = list(record.get("lowest", ()))  # checkpoints of version 0.2 have none
    engine.lowest.weights = [
        _without_prefix(f"{number}.lowest", tensors) for number in range(len(engine.lowest.losses))
    ]
    if engine.accelerator.scaler is not None and record["scaler"] is not None:
        engine.accelerator.scaler.load_state_dict(record["scaler"])
    torch.set_rng_state(tensors["random"])
    for number in range(torch.cuda.device_count()):
        torch.cuda.set_rng_state(tensors[f"random.cuda.{number}"], number)


def _capture_network(prefix: str, state: NetworkState) -> Tensors:
    memory = {name: torch.from_numpy(value) for name, value in state.selector_memory.items()}
    tensors = {
        f"{prefix}.order": state.shuffle_generator.get_state(),
        f"{prefix}.augmentation": state.augmentation_generator.get_state(),
        f"{prefix}.learned": torch.from_numpy(state.trained_on),
        **_with_prefix(f"{prefix}.loss", state.loss.state_dict()),
        **_with_prefix(f"{prefix}.memory", memory),
    }
    if state.margins is not None:
        tensors |= _with_prefix(f"{prefix}.margins", state.margins.state_dict())
    for parameter, values in state.optimiser.state_dict()["state"].items():
        buffers = {name: value for name, value in values.items() if isinstance(value, Tensor)}
        tensors |= _with_prefix(f"{prefix}.optimiser.{parameter}", buffers)
    if state.selection is not None:
        arrays = {name: getattr(state.selection, name) for name in ("keep", "weight", "target", "rest")}
        tensors |= {f"{prefix}.selected.{k}": torch.from_numpy(v) for k, v in arrays.items() if v is not None}
    return tensors


def _restore_network(prefix: str, state: NetworkState, tensors: Mapping[str, Tensor]) -> None:
    state.shuffle_generator.set_state(tensors[f"{prefix}.order"])
    name = "augmentation" if f"{prefix}.augmentation" in tensors else _OLD_AUGMENTATION
    state.augmentation_generator.set_state(tensors[f"{prefix}.{name}"])
    state.trained_on = tensors[f"{prefix}.learned"].numpy()
    buffers = _without_prefix(f"{prefix}.loss", tensors)
    state.loss.load_state_dict({_RENAMED_BUFFERS.get(name, name): value for name, value in buffers.items()})
    if state.margins is not None:
        state.margins.load_state_dict(_without_prefix(f"{prefix}.margins", tensors))
    memory = _without_prefix(f"{prefix}.memory", tensors)
    state.selector_memory = {name: value.numpy() for name, value in memory.items()}
    by_parameter: dict[int, dict[str, Tensor]] = {}
    for name, value in _without_prefix(f"{prefix}.optimiser", tensors).items():
        parameter, _, key = name.partition(".")
        by_parameter.setdefault(int(parameter), {})[key] = value
    groups = state.optimiser.state_dict()["param_groups"]
    state.optimiser.load_state_dict({"state": by_parameter, "param_groups": groups})
    arrays = {name: value.numpy() for name, value in _without_prefix(f"{prefix}.selected", tensors).items()}
    if arrays:
        keep, weight = arrays["keep"], arrays["weight"]
        state.set_selection(Selection(keep, weight, target=arrays.get("target"), rest=arrays.get("rest")))


def _capture_verdict(prefix: str, verdict: Verdict | None, engine: Engine, tensors: Tensors) -> Any:
    """Add the columns of the verdict to ``tensors``; returns how it was made, for JSON."""
    if verdict is None:
        return None
    for name in _VERDICT_COLUMNS:
        tensors[f"{prefix}.{name}"] = torch.from_numpy(np.ascontiguousarray(getattr(verdict, name)))
    codes = locate_labels(verdict.suggested, engine.pool.classes, by="checkpoint")
    tensors[f"{prefix}.suggested"] = torch.from_numpy(codes.astype(np.int64))
    return verdict.made_by


def _restore_verdict(prefix: str, made_by: Any, engine: Engine, tensors: Mapping[str, Tensor]) -> Verdict | None:
    if made_by is None:
        return None
    columns = {name: value.numpy() for name, value in _without_prefix(prefix, tensors).items()}
    suggested = engine.pool.classes[columns.pop("suggested")]
    return Verdict(ids=engine.pool.ids, labels=engine.pool.labels, suggested=suggested, made_by=made_by, **columns)


def _with_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> Tensors:
    return {f"{prefix}.{name}": value for name, value in tensors.items()}


def _without_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> Tensors:
    prefix += "."
    return {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}


def _copied(value: Tensor) -> Tensor:
    """A contiguous copy on the CPU: safetensors does not allow tensors that share memory."""
    return value.detach().cpu().contiguous().clone()
