"""The training loop, the only one: it carries out a recipe."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from eigenclean.arrays import Ints
from eigenclean.errors import InvalidData
from eigenclean.evidence import Evidence
from eigenclean.losses import make_loss
from eigenclean.progress import track
from eigenclean.sources.layouts.clothing1m import pseudo_balanced
from eigenclean.train.callbacks import Callback
from eigenclean.train.data.pool import Pool
from eigenclean.train.loop.best import Best
from eigenclean.train.loop.device import make_accelerator
from eigenclean.train.loop.epoch import Augment, Lessons
from eigenclean.train.loop.evaluation import accuracies, collect_evidence
from eigenclean.train.loop.margins import MarginHistory
from eigenclean.train.loop.memory import together
from eigenclean.train.loop.network_state import NetworkState, follow_schedule, make_optimiser
from eigenclean.train.recipe import Recipe
from eigenclean.train.selection import Selection
from eigenclean.train.selectors import Selector
from eigenclean.train.stage import EpochPlan
from eigenclean.train.steps import make_step
from eigenclean.train.steps.base import Progress, Step
from eigenclean.verdict import Verdict


class Engine:
    """Trains the networks of a recipe on a pool of samples.

    Equal seeds give equal networks, and the global random state is as it was when the training is over.

    Args:
        recipe: what to do.
        make_net: gives a freshly initialised network that returns (features, logits).
        pool: the samples.
        validation: samples with given labels that are not learned from; their accuracy chooses the best epoch.
        test: samples that are only looked at.
        augment: varies images while they are learned.
        seed: of the initial weights and of the order of the samples.
        device: "cpu", or None for the best there is.
        mixed_precision: "no", "fp16" or "bf16".
        callbacks: who hears about it.

    Attributes:
        states: the networks in training.
        history: one record per epoch.
        verdicts: the last verdict of each network, when a detector has made one.
        best: the networks of the epoch with the highest accuracy on the validation samples.
    """

    def __init__(
        self,
        recipe: Recipe,
        make_net: Callable[[], nn.Module],
        pool: Pool,
        *,
        validation: Pool | None = None,
        test: Pool | None = None,
        augment: Augment | None = None,
        seed: int = 0,
        device: str | None = None,
        mixed_precision: str = "no",
        callbacks: Sequence[Callback] = (),
    ) -> None:
        self.recipe = recipe
        self.seed = seed
        self.accelerator = make_accelerator(device, mixed_precision)
        self.pool = pool.to(self.accelerator.device)
        self.apart = {
            name: one.to(self.accelerator.device)
            for name, one in (("val", validation), ("test", test))
            if one is not None
        }
        self.callbacks = list(callbacks)
        self.network_states: list[NetworkState] = []
        self.history: list[dict[str, Any]] = []
        self.verdicts: list[Verdict | None] = [None] * recipe.networks
        self.best = Best()
        self._make_net = make_net
        self._lessons = Lessons(self.accelerator, self.pool, augment)
        self._step: Step
        self._check_parts()

    @property
    def networks(self) -> list[nn.Module]:
        """The networks themselves, without what accelerate wraps around them."""
        return [self.accelerator.unwrap_model(state.net, keep_fp32_wrapper=False) for state in self.network_states]

    @property
    def epochs_done(self) -> int:
        """Epochs that are over."""
        return len(self.history)

    @property
    def is_main(self) -> bool:
        """Whether this process writes files; of several, only one does."""
        return bool(self.accelerator.is_main_process)

    def fit(self, resume: Callable[["Engine"], None] | None = None) -> "Engine":
        """Carry out the whole recipe; ``resume`` puts back a state in which some epochs are over."""
        with self._own_randomness():
            self.start_over(self.recipe.plan()[0])
            if resume is not None:
                resume(self)
            self._tell("on_train_begin")
            remaining = self.recipe.plan()[self.epochs_done :]
            for plan in track(remaining, f"training by {self.recipe.name}"):
                self._run_epoch(plan)
            self._tell("on_train_end")
        return self

    def _run_epoch(self, plan: EpochPlan) -> None:
        if plan.age == 0:
            self._enter_stage(plan)
        if plan.selects:
            self._select(plan)
        for state in self.network_states:
            follow_schedule(state.optimiser, plan.optimiser, plan.since_restart)
            state.loss.begin_epoch(Progress(plan.epoch, float(plan.age)))
        self._record(plan, self._learn(plan))

    # Beginnings.

    @contextmanager
    def _own_randomness(self) -> Iterator[None]:
        """Initial weights and dropout draw from torch's global state: ours inside, untouched outside."""
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            torch.manual_seed(self.seed)
            yield

    def start_over(self, plan: EpochPlan) -> None:
        """Fresh networks with fresh optimisers; what was remembered of the samples is handed on."""
        seeds = np.random.SeedSequence(self.seed).generate_state(self.recipe.networks)
        memory, margins = (
            (self.network_states[0].selector_memory, self.network_states[0].margins)
            if self.network_states
            else ({}, None)
        )
        self.network_states = [self._make_learner(int(seed), plan) for seed in seeds]
        for state in self.network_states:
            state.selector_memory = dict(memory)
            state.margins = deepcopy(margins) if margins is not None else self._make_margins()

    def _make_learner(self, seed: int, plan: EpochPlan) -> NetworkState:
        net = self._make_net().to(self.accelerator.device)
        optimiser = self._make_optimiser(net, plan)
        return NetworkState(self.accelerator.prepare(net), optimiser, plan.optimiser.name, self.pool, seed)

    def _make_margins(self) -> MarginHistory | None:
        wanted = any("margins" in stage.select.needs for stage in self.recipe.stages)
        return MarginHistory(len(self.pool)).to(self.accelerator.device) if wanted else None

    def _make_optimiser(self, net: nn.Module, plan: EpochPlan) -> Any:
        made = make_optimiser(net, plan.optimiser)
        return self.accelerator.prepare(made) if self._lessons.scales else made

    def _enter_stage(self, plan: EpochPlan) -> None:
        old = [self._bare(state) for state in self.network_states]
        if plan.stage.restart and plan.epoch > 1:
            self.start_over(plan)
        self.prepare_stage(plan)
        for state, net in zip(self.network_states, old, strict=True):
            if plan.epoch > 1 and state.loss.needs:
                state.loss.learn(collect_evidence(net, self.pool, state.loss.needs))

    def prepare_stage(self, plan: EpochPlan) -> None:
        """The step and the losses of a stage, and another optimiser when it has one; nothing is learned yet."""
        self._step = make_step(plan.stage.step.name, **plan.stage.step.options)
        for state in self.network_states:
            if state.loss_spec != plan.stage.loss:  # else what the loss remembers of the samples lives on
                part = plan.stage.loss
                made = make_loss(part.name, len(self.pool), self.pool.n_classes, **part.options)
                state.loss, state.loss_spec = made.to(self.accelerator.device), part
            if state.optimiser_name != plan.optimiser.name:
                state.optimiser_name = plan.optimiser.name
                state.optimiser = self._make_optimiser(state.net, plan)

    def _check_parts(self) -> None:
        """A wrong option of a late stage is best heard of before the training."""
        for stage in self.recipe.stages:
            make_step(stage.step.name, **stage.step.options)
            make_loss(stage.loss.name, 1, self.pool.n_classes, **stage.loss.options)

    # Selection: all networks look before any of them learns.

    def _select(self, plan: EpochPlan) -> None:
        selector = plan.stage.select
        selections = [self._selected(state, selector, plan) for state in self.network_states]
        self.verdicts = [one.verdict or old for one, old in zip(selections, self.verdicts, strict=True)]
        if self.recipe.exchange:
            selections.reverse()
        for state, selection in zip(self.network_states, selections, strict=True):
            if selection.keep.any():
                state.set_selection(self._with_trusted(selection))
            elif state.selection is None:  # nobody was selected: go on as before, at first with everyone
                state.set_selection(Selection.everything(len(self.pool)))
        self._tell("on_selection", plan.epoch, [state.selection for state in self.network_states])

    def _selected(self, state: NetworkState, selector: Selector, plan: EpochPlan) -> Selection:
        """What one network selects, of all samples or of a part that is drawn for it."""
        if plan.stage.part is None:
            return selector.select(
                self._evidence(state, selector.needs), plan.epoch, state.selection, state.selector_memory
            )
        number = self.network_states.index(state)
        rows = self._drawn(plan.stage.part, plan.epoch, number)
        # Other samples than last time: nothing is known of them.
        found = selector.select(self._evidence(state, selector.needs, rows), plan.epoch, None, {})
        return found.placed(rows, len(self.pool))

    def _drawn(self, size: int, epoch: int, number: int) -> Ints:
        """A part of the samples, the same in a resumed run and in every process."""
        seed = int(np.random.SeedSequence([self.seed, epoch, number]).generate_state(1)[0])
        codes = self.pool.codes.cpu().numpy()
        return np.sort(pseudo_balanced(codes, size, n_classes=self.pool.n_classes, seed=seed))

    def judge_all(self) -> Verdict | None:
        """What the last selector says about all samples, also if it has only ever looked at parts."""
        if self.verdicts[0] is None and self.recipe.stages[-1].select.scope == "pool":
            selector, state = self.recipe.stages[-1].select, self.network_states[0]
            found = selector.select(self._evidence(state, selector.needs), self.epochs_done, None, {})
            self.verdicts[0] = found.verdict
        return self.verdicts[0]

    def _evidence(self, state: NetworkState, needs: Collection[str], rows: Ints | None = None) -> Evidence:
        seen = collect_evidence(self._bare(state), self.pool, needs, rows)
        if state.margins is None:
            return seen
        margins = state.margins.mean()
        return replace(seen, margins=margins if rows is None else margins[rows])

    def _with_trusted(self, selection: Selection) -> Selection:
        """People have the last word."""
        if self.pool.trusted is None:
            return selection
        return selection.trusting(self.pool.trusted.cpu().numpy(), self.pool.codes.cpu().numpy())

    # Learning.

    def _learn(self, plan: EpochPlan) -> list[Tensor]:
        """One epoch of all networks; the sums of their losses and hits, and how many samples they are of."""
        headline = self._headline(plan)
        with together(self.accelerator, self._memories()):
            if plan.stage.select.scope == "batch":
                return self._lessons.together(self.network_states, self._step, plan, self.recipe.exchange, headline)
            return [
                self._lessons.apart(state, self._peer_of(state), self._step, plan, headline)
                for state in self.network_states
            ]

    def _memories(self) -> list[nn.Module]:
        """What is kept of single samples while they are learned."""
        losses: list[nn.Module] = [state.loss for state in self.network_states]
        return [*losses, *(state.margins for state in self.network_states if state.margins is not None)]

    def _peer_of(self, state: NetworkState) -> nn.Module | None:
        return next((self._bare(other) for other in self.network_states if other is not state), None)

    def _bare(self, state: NetworkState) -> nn.Module:
        """The network for looking: several processes look at everything, each for itself."""
        if self.accelerator.num_processes == 1:
            return state.net
        bare: nn.Module = self.accelerator.unwrap_model(state.net)
        return bare

    # Telling.

    def _record(self, plan: EpochPlan, figures: Sequence[Tensor]) -> None:
        loss, hits, count = torch.stack(list(figures)).mean(dim=0).tolist()
        if not np.isfinite(loss):
            raise InvalidData(
                f"training by {self.recipe.name} stopped: the loss is {loss} in epoch {plan.epoch}; "
                f"try a smaller learning rate than {plan.lr:g}"
            )
        kept = [float(state.trained_on.mean()) for state in self.network_states]
        record: dict[str, Any] = {
            "epoch": plan.epoch,
            "lr": plan.lr,
            "loss": loss / max(count, 1),
            "train_accuracy": hits / max(count, 1),
            "kept_fraction": sum(kept) / len(kept),
            "selected": plan.selects and bool(plan.stage.select.needs),
            **self._accuracies(),
        }
        self.best.see(record, self.networks)
        self.history.append(record)
        self._tell("on_epoch_end", record)

    def _accuracies(self) -> dict[str, Any]:
        """Accuracy on the samples set apart."""
        return {
            f"{name}_accuracy{which}": value
            for name, pool in self.apart.items()
            for which, value in accuracies(self.networks, pool).items()
        }

    def _headline(self, plan: EpochPlan) -> str:
        """What to show beside the bar of an epoch: how the one before it went."""
        if not self.history:
            return f"epoch {plan.epoch}"
        last = self.history[-1]
        return (
            f"epoch {plan.epoch}: loss {last['loss']:.3f}, accuracy {100 * last['train_accuracy']:.1f} %, "
            f"kept {100 * last['kept_fraction']:.1f} %"
        )

    def _tell(self, event: str, *what: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, event)(self, *what)
