"""One epoch of training: the only place where gradients are computed and weights change."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack

import numpy as np
import torch
from accelerate import Accelerator  # type: ignore[import-untyped]
from torch import Tensor, nn
from torch.nn import functional

from eigenclean.progress import track
from eigenclean.train.data.pool import Pool
from eigenclean.train.loop.distributed import ProcessSharding
from eigenclean.train.loop.head import training_mode
from eigenclean.train.loop.history import EpochMetrics
from eigenclean.train.loop.network_state import NetworkState
from eigenclean.train.selectors import BatchSelector
from eigenclean.train.stage import EpochPlan
from eigenclean.train.steps.base import Batch, ForwardFunction, Step, TrainingProgress

Augment = Callable[[Tensor, torch.Generator], Tensor]


class EpochRunner:
    """Trains networks for one epoch, alone or as one of several processes.

    Args:
        accelerator: knows the device, the precision and the other processes.
        pool: the training samples.
        augment: random augmentation of training images; None trains on the inputs as they are.
    """

    def __init__(self, accelerator: Accelerator, pool: Pool, augment: Augment | None = None) -> None:
        self.accelerator = accelerator
        self.pool = pool
        self.augment = augment
        self.sharding = ProcessSharding(accelerator)

    @property
    def scales_gradients(self) -> bool:
        """Whether gradients are scaled (fp16), for which accelerate's optimiser and backward are needed.

        Otherwise both are avoided: they search the disk for an optional package at every step, which costs a small
        network a tenth of its time.
        """
        return bool(self.accelerator.scaler is not None)

    def train_one(
        self, state: NetworkState, peer: nn.Module | None, step: Step, plan: EpochPlan, description: str
    ) -> Tensor:
        """Train one network on its selection.

        Returns the sum of the losses, the number of correct predictions and the number of samples.
        """
        assert state.selection is not None
        state.trained_on = state.selection.keep
        batches = state.batches(step, plan.optimiser.batch_size, use_rest=plan.stage.uses_rest)
        weight = state.weight if step.weighted else None
        metrics = EpochMetrics()
        with self._training_mode(state, plan):
            for number, (kept_rows, rest_rows) in enumerate(track(batches, description)):
                progress = TrainingProgress(plan.epoch, plan.stage_epoch + number / len(batches))
                state.optimiser.zero_grad()
                for share in self.sharding.shares(kept_rows, rest_rows, weight, plan.optimiser.accumulate):
                    kept = self.load_batch(state, share.kept, step)
                    rest = None if share.rest is None else self.load_batch(state, share.rest, step)
                    result = step(state.net, peer, kept, rest, state.loss, progress)
                    self._backward(result.loss if share.factor is None else result.loss * share.factor)
                    metrics.add(result, share.kept)
                    if state.margins is not None and result.logits is not None:
                        state.margins.add(result.logits, self.pool.codes[share.kept], share.kept)
                state.optimiser.step()
        return self.sharding.sum(metrics.sums(self.pool.codes))

    def train_jointly(
        self, states: Sequence[NetworkState], step: Step, plan: EpochPlan, exchange: bool, description: str
    ) -> list[Tensor]:
        """Train all networks on the same batches; each is updated with the samples picked in the batch.

        A network picks for itself or, with ``exchange``, for its peer. Returns for each network what `train_one`
        returns.
        """
        all_metrics = [EpochMetrics() for _ in states]
        modes = ExitStack()
        for state in states:
            state.trained_on = np.zeros(len(self.pool), dtype=bool)
            modes.enter_context(self._training_mode(state, plan))
        with modes:
            self._train_batches_jointly(states, step, plan, exchange, description, all_metrics)
        return [self.sharding.sum(metrics.sums(self.pool.codes)) for metrics in all_metrics]

    def _train_batches_jointly(
        self,
        states: Sequence[NetworkState],
        step: Step,
        plan: EpochPlan,
        exchange: bool,
        description: str,
        all_metrics: Sequence[EpochMetrics],
    ) -> None:
        selector = plan.stage.select
        assert isinstance(selector, BatchSelector)
        batches = states[0].batches(step, plan.optimiser.batch_size)
        for number, (rows, _) in enumerate(track(batches, description)):
            progress = TrainingProgress(plan.epoch, plan.stage_epoch + number / len(batches))
            batch = self.load_batch(states[0], self.sharding.local_rows(rows), step)
            outputs = [state.net(batch.inputs) for state in states]
            picks = self._pick(selector, outputs, rows, plan.epoch, number)
            if exchange:
                picks.reverse()
            for state, output, picked, metrics in zip(states, outputs, picks, all_metrics, strict=True):
                state.trained_on[rows[picked].cpu().numpy()] = True
                if picked.any():
                    weighted = batch.with_weight(self.sharding.local_values(picked, rows).float())
                    self._update_on_picked(state, output, weighted, picked.sum(), step, progress, metrics)

    def _pick(
        self,
        selector: BatchSelector,
        outputs: Sequence[tuple[Tensor, Tensor]],
        rows: Tensor,
        epoch: int,
        number: int,
    ) -> list[Tensor]:
        """For each network, a mask over the batch of the samples it trusts; confirmed labels are always picked."""
        logits = [self.sharding.gather(output[1].detach().float(), rows) for output in outputs]
        codes = self.pool.codes[rows]
        losses = [functional.cross_entropy(values, codes, reduction="none") for values in logits]
        picks = selector.pick(logits, losses, epoch, number)
        if self.pool.trusted is None:
            return list(picks)
        trusted = self.pool.trusted[rows.to(self.pool.trusted.device)]
        return [picked | trusted for picked in picks]

    def _update_on_picked(
        self,
        state: NetworkState,
        output: tuple[Tensor, Tensor],
        batch: Batch,
        n_picked: Tensor,
        step: Step,
        progress: TrainingProgress,
        metrics: EpochMetrics,
    ) -> None:
        """One optimiser step; the whole batch went through the network, but only picked samples have a weight."""
        assert batch.weight is not None
        result = step(_returning(output), None, batch, None, state.loss, progress)
        state.optimiser.zero_grad()
        self._backward(result.loss * (batch.weight.sum() * self.sharding.n_processes / n_picked))
        state.optimiser.step()
        metrics.add(result, batch.index)

    def _training_mode(self, state: NetworkState, plan: EpochPlan) -> AbstractContextManager[None]:
        net = self.accelerator.unwrap_model(state.net) if plan.optimiser.backbone == 0 else state.net
        several = self.accelerator.num_processes > 1
        return training_mode(net, backbone=plan.optimiser.backbone > 0, gradients=several)

    def load_batch(self, state: NetworkState, rows: Tensor, step: Step) -> Batch:
        """The samples of these rows with as many views as the step needs, each augmented independently."""
        raw = self.pool.raw(rows)
        views = [
            self.pool.scaled(raw if self.augment is None else self.augment(raw, state.augmentation_generator))
            for _ in range(1 if self.augment is None else step.n_views)
        ]
        views += [views[0]] * (step.n_views - len(views))
        weight = None if state.weight is None else state.weight[rows]
        return Batch(views[0], state.target[rows], weight, rows, tuple(views[1:]))

    def _backward(self, loss: Tensor) -> None:
        if self.scales_gradients:
            self.accelerator.backward(loss)
        else:
            torch.autograd.backward(loss)


def _returning(output: tuple[Tensor, Tensor]) -> ForwardFunction:
    """A forward function that returns features and logits that were computed before."""

    def forward(inputs: Tensor) -> tuple[Tensor, Tensor]:
        return output

    return forward
