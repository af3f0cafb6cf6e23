"""One epoch of learning: batches go through networks, losses go back. The only place where weights move."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from accelerate import Accelerator  # type: ignore[import-untyped]
from torch import Tensor, nn
from torch.nn import functional

from eigenclean.progress import track
from eigenclean.train.data.pool import Pool
from eigenclean.train.loop.batching import pieces
from eigenclean.train.loop.network_state import NetworkState, Rows
from eigenclean.train.loop.tally import Tally
from eigenclean.train.selectors import BatchSelector
from eigenclean.train.stage import EpochPlan
from eigenclean.train.steps.base import Answers, Batch, Progress, Step

Augment = Callable[[Tensor, torch.Generator], Tensor]
WHOLE = 1.0  # the factor of a batch that is done at once


class Share(NamedTuple):
    """What one process does of a batch at a time.

    Attributes:
        kept: rows of trusted samples.
        rest: rows of the others; None when there are none.
        factor: what its loss is multiplied by, so that the gradient of all shares is that of the whole batch.
    """

    kept: Tensor
    rest: Tensor | None
    factor: float | Tensor


class Lessons:
    """Carries out epochs, alone or on one of several processes.

    Args:
        accelerator: knows the device, the precision and the other processes.
        pool: the samples.
        augment: varies images while they are learned; None leaves inputs as they are.
    """

    def __init__(self, accelerator: Accelerator, pool: Pool, augment: Augment | None = None) -> None:
        self.accelerator = accelerator
        self.pool = pool
        self.augment = augment

    @property
    def scales(self) -> bool:
        """Whether gradients must be scaled, which is accelerate's affair.

        Otherwise its optimiser and backward are left out: both search the disk for an optional package at every
        step, which costs a small network a tenth of its time.
        """
        return bool(self.accelerator.scaler is not None)

    def apart(
        self, state: NetworkState, peer: nn.Module | None, step: Step, plan: EpochPlan, headline: str
    ) -> Tensor:
        """One network learns from its selection; returns the sums of its losses and hits, and of how many."""
        assert state.selection is not None
        state.trained_on = state.selection.keep
        state.net.train()
        batches = state.batches(step, plan.optimiser.batch_size)
        tally = Tally()
        for number, rows in enumerate(track(batches, headline)):
            progress = Progress(plan.epoch, plan.age + number / len(batches))
            state.optimiser.zero_grad()
            for share in self._shares(rows, state.weight if step.weighted else None, plan.optimiser.accumulate):
                kept, rest = self._batch(state, share.kept, step), None
                if share.rest is not None:
                    rest = self._batch(state, share.rest, step)
                outcome = step(state.net, peer, kept, rest, state.loss, progress)
                self._backward(outcome.loss if share.factor is WHOLE else outcome.loss * share.factor)
                tally.add(outcome, share.kept)
                if state.margins is not None and outcome.logits is not None:
                    state.margins.add(outcome.logits, self.pool.codes[share.kept], share.kept)
            state.optimiser.step()
        return self._added_up(tally)

    def together(
        self, states: Sequence[NetworkState], step: Step, plan: EpochPlan, exchange: bool, headline: str
    ) -> list[Tensor]:
        """All networks look at the same batch; each learns from what it, or with an exchange its peer, picks."""
        selector = plan.stage.select
        assert isinstance(selector, BatchSelector)
        first, tallies = states[0], [Tally() for _ in states]
        for state in states:
            state.trained_on = np.zeros(len(self.pool), dtype=bool)
            state.net.train()
        batches = first.batches(step, plan.optimiser.batch_size)
        for number, (rows, _) in enumerate(track(batches, headline)):
            mine = self._mine(rows)
            seen = self._batch(first, mine, step)
            answers = [state.net(seen.inputs) for state in states]
            logits = [self._of_all(answer[1].detach().float(), rows) for answer in answers]
            codes = self.pool.codes[rows]
            losses = [functional.cross_entropy(one, codes, reduction="none") for one in logits]
            picks = selector.pick(logits, losses, plan.epoch, number)
            if self.pool.trusted is not None:
                sure = self.pool.trusted[rows.to(self.pool.trusted.device)]
                picks = [pick | sure for pick in picks]
            progress = Progress(plan.epoch, plan.age + number / len(batches))
            for state, answer, pick, tally in zip(
                states, answers, picks[::-1] if exchange else picks, tallies, strict=True
            ):
                state.trained_on[rows[pick].cpu().numpy()] = True
                if pick.any():
                    self._learn_picked(state, answer, seen, rows, pick, step, progress, tally)
        return [self._added_up(tally) for tally in tallies]

    def _learn_picked(
        self,
        state: NetworkState,
        answer: tuple[Tensor, Tensor],
        seen: Batch,
        rows: Tensor,
        pick: Tensor,
        step: Step,
        progress: Progress,
        tally: Tally,
    ) -> None:
        """The whole batch has gone through the network; only what was picked counts."""
        weight = self._of_mine(pick, rows).float()
        kept = Batch(seen.inputs, seen.target, weight, seen.index)
        outcome = step(_said(answer), None, kept, None, state.loss, progress)
        state.optimiser.zero_grad()
        self._backward(outcome.loss * (weight.sum() * self.accelerator.num_processes / pick.sum()))
        state.optimiser.step()
        tally.add(outcome, seen.index)

    def _batch(self, state: NetworkState, rows: Tensor, step: Step) -> Batch:
        """Those samples, varied anew for every view."""
        raw = self.pool.raw(rows)
        views = [
            self.pool.scaled(raw if self.augment is None else self.augment(raw, state.augmentation_generator))
            for _ in range(1 if self.augment is None else step.views)
        ]
        views += [views[0]] * (step.views - len(views))
        weight = None if state.weight is None else state.weight[rows]
        return Batch(views[0], state.target[rows], weight, rows, tuple(views[1:]))

    def _backward(self, loss: Tensor) -> None:
        if self.scales:
            self.accelerator.backward(loss)
        else:
            torch.autograd.backward(loss)

    # Several processes, several pieces.

    def _shares(self, rows: Rows, weight: Tensor | None, accumulate: int) -> Iterator[Share]:
        """What this process does of a batch, in pieces; gradients of processes are averaged, of pieces added."""
        kept, rest = rows
        kept = kept.to(self.pool.codes.device)
        rest = None if rest is None else rest.to(kept.device)
        processes = self.accelerator.num_processes
        if processes == 1 and accumulate == 1:
            yield Share(kept, rest, WHOLE)
            return
        parts = pieces(self._mine(kept), accumulate)
        others = None if rest is None else pieces(self._mine(rest), len(parts))
        for number, part in enumerate(parts):
            factor: float | Tensor = len(part) * processes / len(kept)
            if weight is not None:
                factor = weight[part].sum() * processes / weight[kept].sum()
            if processes > len(kept) and self.accelerator.process_index >= len(kept):
                factor = 0.0  # this process only takes part because all must
            yield Share(part, None if others is None else others[min(number, len(others) - 1)], factor)

    def _mine(self, rows: Tensor) -> Tensor:
        """This process's rows of a batch; never none, because all processes must take part in every step."""
        mine = rows.to(self.pool.codes.device)[self.accelerator.process_index :: self.accelerator.num_processes]
        return mine if len(mine) else rows[:1].to(self.pool.codes.device)

    def _of_all(self, mine: Tensor, rows: Tensor) -> Tensor:
        """Values of the whole batch from those of each process."""
        processes, at = self.accelerator.num_processes, self.accelerator.process_index
        if processes == 1:
            return mine
        everyone = mine.new_zeros((len(rows), *mine.shape[1:]))
        if at < len(rows):
            everyone[at::processes] = mine
        total: Tensor = self.accelerator.reduce(everyone, reduction="sum")
        return total

    def _of_mine(self, values: Tensor, rows: Tensor) -> Tensor:
        """This process's values of those of the whole batch; a guest without rows of its own counts nothing."""
        at = self.accelerator.process_index
        if at >= len(rows):
            return torch.zeros_like(values[:1])
        return values[at :: self.accelerator.num_processes]

    def _added_up(self, tally: Tally) -> Tensor:
        total: Tensor = self.accelerator.reduce(tally.sums(self.pool.codes), reduction="sum")
        return total


def _said(answer: tuple[Tensor, Tensor]) -> Answers:
    """A network that gives the answer it has already given."""

    def repeat(inputs: Tensor) -> tuple[Tensor, Tensor]:
        return answer

    return repeat
