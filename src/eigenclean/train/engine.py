"""The engine carries out a recipe: it selects samples, trains the networks for an epoch and records the result."""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from eigenclean.sampling import balanced_subset
from eigenclean.train.callbacks import Callback
from eigenclean.train.data.pool import Pool
from eigenclean.train.loop.distributed import make_accelerator
from eigenclean.train.loop.epoch import Augment, EpochRunner
from eigenclean.train.loop.evaluation import accuracies, collect_evidence, mean_losses
from eigenclean.train.loop.history import BestEpoch, LowestLoss, MarginHistory, with_weights
from eigenclean.train.loop.network_state import NetworkState, apply_schedule, make_optimiser
from eigenclean.train.recipe import Recipe
from eigenclean.train.selection import Selection
from eigenclean.train.selectors import BatchSelector, Selector
from eigenclean.train.stage import EpochPlan
from eigenclean.train.steps import make_step
from eigenclean.train.steps.base import Step
from eigenclean.verdict import Verdict


class Engine:
    """Trains the networks of a recipe on a pool of samples.

    Equal seeds give equal networks, and the global random state is restored when the training is over.

    Args:
        recipe: the training method.
        make_net: returns a freshly initialised network whose forward returns (features, logits).
        pool: the training samples.
        validation: samples with given labels that are not trained on; their accuracy chooses the best epoch.
        test: samples whose accuracy is only recorded.
        augment: random augmentation of training images.
        seed: of the initial weights and of the order of the samples.
        device: "cpu", or None for the best there is.
        mixed_precision: "no", "fp16" or "bf16".
        callbacks: called at the events that `Callback` lists.

    Attributes:
        network_states: the networks in training, each with its optimiser, loss and selection.
        history: one record per epoch.
        verdicts: the last verdict of each network, when its selector has made one.
        best: the networks of the epoch with the highest validation accuracy since the last restart.
        lowest: the networks with the lowest validation loss, if the loss of a later stage is estimated from them.
        evaluation_pools: the validation and test samples, by the prefix of their names in the history.
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
        self.evaluation_pools = {
            name: samples.to(self.accelerator.device)
            for name, samples in (("val", validation), ("test", test))
            if samples is not None
        }
        self.callbacks = list(callbacks)
        self.network_states: list[NetworkState] = []
        self.history: list[dict[str, Any]] = []
        self.verdicts: list[Verdict | None] = [None] * recipe.networks
        self.best = BestEpoch()
        self.lowest = LowestLoss()
        self._make_net = make_net
        # Decided for the whole recipe: a group of its own for the last layer stays through all stages.
        self._has_separate_head = any(plan.optimiser.backbone != 1 for plan in recipe.plan())
        self._runner = EpochRunner(self.accelerator, self.pool, augment)
        self._step: Step
        self._check_components()

    @property
    def networks(self) -> list[nn.Module]:
        """The networks without accelerate's wrappers."""
        return [self.accelerator.unwrap_model(state.net, keep_fp32_wrapper=False) for state in self.network_states]

    @property
    def epochs_done(self) -> int:
        """Number of completed epochs."""
        return len(self.history)

    @property
    def is_main(self) -> bool:
        """Whether this process writes files; of several, only one does."""
        return bool(self.accelerator.is_main_process)

    def fit(self, resume: Callable[["Engine"], None] | None = None) -> "Engine":
        """Carry out the whole recipe; ``resume`` restores the state of a run with some epochs completed."""
        with self._seeded():
            self.reset_networks(self.recipe.plan()[0])
            if resume is not None:
                resume(self)
            self._notify("on_train_begin")
            remaining = self.recipe.plan()[self.epochs_done :]
            for plan in track(remaining, f"training by {self.recipe.name}"):
                self._run_epoch(plan)
            self._notify("on_train_end")
        return self

    def _run_epoch(self, plan: EpochPlan) -> None:
        if plan.stage_epoch == 0:
            self._begin_stage(plan)
        if plan.selects:
            self._select(plan)
        for state in self.network_states:
            apply_schedule(state.optimiser, plan.optimiser, plan.epochs_since_restart)
            self._refresh_loss(state, plan)
            state.loss.count_labels(self._label_counts(state))
            state.loss.begin_epoch(plan.epoch)
        self._record(plan, self._train(plan))

    # Networks, optimisers and losses.

    @contextmanager
    def _seeded(self) -> Iterator[None]:
        """Initial weights and dropout draw from torch's global state: seeded inside, restored outside."""
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            torch.manual_seed(self.seed)
            yield

    def reset_networks(self, plan: EpochPlan) -> None:
        """Fresh networks with fresh optimisers; they inherit what the first one's selector has remembered."""
        seeds = np.random.SeedSequence(self.seed).generate_state(self.recipe.networks)
        first = self.network_states[0] if self.network_states else None
        self.network_states = [self._make_state(int(seed), plan) for seed in seeds]
        for state in self.network_states:
            state.selector_memory = {} if first is None else dict(first.selector_memory)
            if first is not None and first.margins is not None:
                state.margins = deepcopy(first.margins)
            else:
                state.margins = self._make_margins()

    def _make_state(self, seed: int, plan: EpochPlan) -> NetworkState:
        net = self._make_net().to(self.accelerator.device)
        optimiser = self._make_optimiser(net, plan)
        return NetworkState(self.accelerator.prepare(net), optimiser, plan.optimiser.name, self.pool, seed)

    def _make_margins(self) -> MarginHistory | None:
        needed = any("margins" in stage.select.needs for stage in self.recipe.stages)
        return MarginHistory(len(self.pool)).to(self.accelerator.device) if needed else None

    def _label_counts(self, state: NetworkState) -> Tensor:
        """How many labels of each class this network was trained on last; at first, those of all samples."""
        trained_on = torch.from_numpy(state.trained_on).to(self.pool.codes.device)
        codes = self.pool.codes[trained_on] if state.trained_on.any() else self.pool.codes
        return torch.bincount(codes, minlength=self.pool.n_classes)

    def _make_optimiser(self, net: nn.Module, plan: EpochPlan) -> Any:
        optimiser = make_optimiser(
            self.accelerator.unwrap_model(net), plan.optimiser, separate_head=self._has_separate_head
        )
        return self.accelerator.prepare(optimiser) if self._runner.scales_gradients else optimiser

    def _begin_stage(self, plan: EpochPlan) -> None:
        # The last network may have learned the wrong labels; that of the lowest validation loss has not yet.
        previous = self._networks_with(self.lowest.weights)
        if plan.stage.restart and plan.epoch > 1:
            self.reset_networks(plan)
            self.best = BestEpoch()  # the networks before the restart were a means: they are not the result
        self.prepare_stage(plan)
        for state, net in zip(self.network_states, previous, strict=True):
            if plan.epoch > 1 and state.loss.needs:
                state.loss.estimate(collect_evidence(net, self.pool, state.loss.needs))
        self.lowest = LowestLoss()

    def _refresh_loss(self, state: NetworkState, plan: EpochPlan) -> None:
        """Give the loss what it wants to know from the best network so far; without validation, from this one."""
        needs = state.loss.needs_before(plan.epoch)
        if needs:
            net = self._networks_with(self.best.weights)[self.network_states.index(state)]
            state.loss.refresh(collect_evidence(net, self.pool, needs))

    def _networks_with(self, weights: Sequence[Mapping[str, Tensor]]) -> list[nn.Module]:
        """Copies of the networks with these weights; without any, the networks as they are."""
        if weights:
            return with_weights(self.networks, weights)
        return [self._unwrapped(state) for state in self.network_states]

    def prepare_stage(self, plan: EpochPlan) -> None:
        """Build the step of a stage, and its losses and optimisers where they differ from the stage before."""
        self._step = make_step(plan.stage.step.name, **plan.stage.step.options)
        spec = plan.stage.loss
        for state in self.network_states:
            if state.loss_spec != spec:  # otherwise the loss keeps what it has stored about the samples
                loss = make_loss(spec.name, len(self.pool), self.pool.n_classes, **spec.options)
                state.loss, state.loss_spec = loss.to(self.accelerator.device), spec
            if state.optimiser_name != plan.optimiser.name:
                state.optimiser_name = plan.optimiser.name
                state.optimiser = self._make_optimiser(state.net, plan)

    def _check_components(self) -> None:
        """Build every loss and step once, so that a wrong option of a late stage is reported at once."""
        self._estimates_later = False
        for number, stage in enumerate(self.recipe.stages):
            make_step(stage.step.name, **stage.step.options)
            loss = make_loss(stage.loss.name, 1, self.pool.n_classes, **stage.loss.options)
            self._estimates_later |= bool(number and loss.needs)

    # Selection: all networks select before any of them is trained.

    def _select(self, plan: EpochPlan) -> None:
        selections = [self._select_for(state, plan) for state in self.network_states]
        self.verdicts = [new.verdict or old for new, old in zip(selections, self.verdicts, strict=True)]
        if self.recipe.exchange:
            selections.reverse()
        for state, selection in zip(self.network_states, selections, strict=True):
            if selection.keep.any():
                state.set_selection(self._with_trusted(selection))
            elif state.selection is None:  # an empty selection keeps the previous one; at first there is none
                state.set_selection(Selection.all_samples(len(self.pool)))
        self._notify("on_selection", plan.epoch, [state.selection for state in self.network_states])

    def _select_for(self, state: NetworkState, plan: EpochPlan) -> Selection:
        """What the selector selects with this network, from all samples or from a random subset of them."""
        selector = plan.stage.select
        if plan.stage.subset_size is None:
            evidence = self._evidence(state, selector)
            return selector.select(evidence, plan.epoch, state.selection, state.selector_memory)
        rows = self._draw_subset(plan.stage.subset_size, plan.epoch, self.network_states.index(state))
        # The subset differs from the last one: there is no previous selection of it, nor any memory.
        return selector.select(self._evidence(state, selector, rows), plan.epoch, None, {}).expanded(
            rows, len(self.pool)
        )

    def _draw_subset(self, size: int, epoch: int, network: int) -> Ints:
        """Class-balanced rows that depend on seed, epoch and network only, so a resumed run draws them again."""
        seed = int(np.random.SeedSequence([self.seed, epoch, network]).generate_state(1)[0])
        codes = self.pool.codes.cpu().numpy()
        return np.sort(balanced_subset(codes, size, n_classes=self.pool.n_classes, seed=seed))

    def judge_all(self) -> Verdict | None:
        """The verdict of the first network on all samples, also if its selector has only ever seen subsets."""
        stage_selector = self.recipe.stages[-1].select
        selector = stage_selector.at_end() if isinstance(stage_selector, BatchSelector) else stage_selector
        if self.verdicts[0] is None and selector is not None:
            evidence = self._evidence(self.network_states[0], selector)
            self.verdicts[0] = selector.select(evidence, self.epochs_done, None, {}).verdict
        return self.verdicts[0]

    def _evidence(self, state: NetworkState, selector: Selector, rows: Ints | None = None) -> Evidence:
        evidence = collect_evidence(self._unwrapped(state), self.pool, selector.needs, rows)
        if state.margins is None:
            return evidence
        margins = state.margins.mean()
        return replace(evidence, margins=margins if rows is None else margins[rows])

    def _with_trusted(self, selection: Selection) -> Selection:
        """Labels that people have confirmed are always trained on, whatever the selector says."""
        if self.pool.trusted is None:
            return selection
        return selection.with_trusted(self.pool.trusted.cpu().numpy(), self.pool.codes.cpu().numpy())

    # Training.

    def _train(self, plan: EpochPlan) -> list[Tensor]:
        """One epoch of all networks; for each, the sums that `EpochRunner.train_one` returns."""
        description = self._progress_text(plan)
        with self._runner.sharding.synchronised_buffers(self._modules_with_buffers()):
            if plan.stage.select.scope == "batch":
                return self._runner.train_jointly(
                    self.network_states, self._step, plan, self.recipe.exchange, description
                )
            return [
                self._runner.train_one(state, self._peer_of(state), self._step, plan, description)
                for state in self.network_states
            ]

    def _modules_with_buffers(self) -> list[nn.Module]:
        """Losses and margin histories, which store values of single samples while they are trained on."""
        losses: list[nn.Module] = [state.loss for state in self.network_states]
        return [*losses, *(state.margins for state in self.network_states if state.margins is not None)]

    def _peer_of(self, state: NetworkState) -> nn.Module | None:
        return next((self._unwrapped(other) for other in self.network_states if other is not state), None)

    def _unwrapped(self, state: NetworkState) -> nn.Module:
        """The network for evaluation: each of several processes evaluates all samples by itself."""
        if self.accelerator.num_processes == 1:
            return state.net
        net: nn.Module = self.accelerator.unwrap_model(state.net)
        return net

    # Records.

    def _record(self, plan: EpochPlan, sums: Sequence[Tensor]) -> None:
        loss, correct, count = torch.stack(list(sums)).mean(dim=0).tolist()
        if not np.isfinite(loss):
            raise InvalidData(
                f"training by {self.recipe.name} stopped: the loss is {loss} in epoch {plan.epoch}; "
                f"try a smaller learning rate than {plan.lr:g}"
            )
        kept_fractions = [float(state.trained_on.mean()) for state in self.network_states]
        record: dict[str, Any] = {
            "epoch": plan.epoch,
            "lr": plan.lr,
            "loss": loss / max(count, 1),
            "train_accuracy": correct / max(count, 1),
            "kept_fraction": sum(kept_fractions) / len(kept_fractions),
            "selected": plan.selects and bool(plan.stage.select.needs),
            **self._accuracies(),
        }
        self.best.update(record, self.networks)
        if self._estimates_later and "val" in self.evaluation_pools:
            self.lowest.update(mean_losses(self.networks, self.evaluation_pools["val"]), self.networks)
        self.history.append(record)
        self._notify("on_epoch_end", record)

    def _accuracies(self) -> dict[str, Any]:
        """Accuracies on the validation and test samples."""
        return {
            f"{name}_accuracy{suffix}": value
            for name, pool in self.evaluation_pools.items()
            for suffix, value in accuracies(self.networks, pool).items()
        }

    def _progress_text(self, plan: EpochPlan) -> str:
        """The text beside the progress bar of an epoch: the results of the epoch before it."""
        if not self.history:
            return f"epoch {plan.epoch}"
        last = self.history[-1]
        return (
            f"epoch {plan.epoch}: loss {last['loss']:.3f}, accuracy {100 * last['train_accuracy']:.1f} %, "
            f"kept {100 * last['kept_fraction']:.1f} %"
        )

    def _notify(self, event: str, *arguments: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, event)(self, *arguments)
