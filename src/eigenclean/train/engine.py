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
from eigenclean.train.loop.learner import Learner, follow_schedule, make_optimiser
from eigenclean.train.loop.margins import MarginHistory
from eigenclean.train.loop.memory import together
from eigenclean.train.loop.observe import accuracies, observe
from eigenclean.train.recipe import Recipe
from eigenclean.train.selection import Selection
from eigenclean.train.selectors import Selector
from eigenclean.train.stage import Turn
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
        learners: the networks in training.
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
        self.learners: list[Learner] = []
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
        return [self.accelerator.unwrap_model(learner.net, keep_fp32_wrapper=False) for learner in self.learners]

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
            plan = self.recipe.plan()[self.epochs_done :]
            for turn in track(plan, f"training by {self.recipe.name}"):
                self._run_epoch(turn)
            self._tell("on_train_end")
        return self

    def _run_epoch(self, turn: Turn) -> None:
        if turn.age == 0:
            self._enter_stage(turn)
        if turn.selects:
            self._select(turn)
        for learner in self.learners:
            follow_schedule(learner.optimiser, turn.optimiser, turn.since_restart)
            learner.loss.begin_epoch(Progress(turn.epoch, float(turn.age)))
        self._record(turn, self._learn(turn))

    # Beginnings.

    @contextmanager
    def _own_randomness(self) -> Iterator[None]:
        """Initial weights and dropout draw from torch's global state: ours inside, untouched outside."""
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            torch.manual_seed(self.seed)
            yield

    def start_over(self, turn: Turn) -> None:
        """Fresh networks with fresh optimisers; what was remembered of the samples is handed on."""
        seeds = np.random.SeedSequence(self.seed).generate_state(self.recipe.networks)
        memory, margins = (self.learners[0].memory, self.learners[0].margins) if self.learners else ({}, None)
        self.learners = [self._make_learner(int(seed), turn) for seed in seeds]
        for learner in self.learners:
            learner.memory = dict(memory)
            learner.margins = deepcopy(margins) if margins is not None else self._make_margins()

    def _make_learner(self, seed: int, turn: Turn) -> Learner:
        net = self._make_net().to(self.accelerator.device)
        optimiser = self._make_optimiser(net, turn)
        return Learner(self.accelerator.prepare(net), optimiser, turn.optimiser.name, self.pool, seed)

    def _make_margins(self) -> MarginHistory | None:
        wanted = any("margins" in stage.select.needs for stage in self.recipe.stages)
        return MarginHistory(len(self.pool)).to(self.accelerator.device) if wanted else None

    def _make_optimiser(self, net: nn.Module, turn: Turn) -> Any:
        made = make_optimiser(net, turn.optimiser)
        return self.accelerator.prepare(made) if self._lessons.scales else made

    def _enter_stage(self, turn: Turn) -> None:
        old = [self._bare(learner) for learner in self.learners]
        if turn.stage.restart and turn.epoch > 1:
            self.start_over(turn)
        self.prepare_stage(turn)
        for learner, net in zip(self.learners, old, strict=True):
            if turn.epoch > 1 and learner.loss.needs:
                learner.loss.learn(observe(net, self.pool, learner.loss.needs))

    def prepare_stage(self, turn: Turn) -> None:
        """The step and the losses of a stage, and another optimiser when it has one; nothing is learned yet."""
        self._step = make_step(turn.stage.step.name, **turn.stage.step.options)
        for learner in self.learners:
            if learner.loss_part != turn.stage.loss:  # else what the loss remembers of the samples lives on
                part = turn.stage.loss
                made = make_loss(part.name, len(self.pool), self.pool.n_classes, **part.options)
                learner.loss, learner.loss_part = made.to(self.accelerator.device), part
            if learner.optimiser_name != turn.optimiser.name:
                learner.optimiser_name = turn.optimiser.name
                learner.optimiser = self._make_optimiser(learner.net, turn)

    def _check_parts(self) -> None:
        """A wrong option of a late stage is best heard of before the training."""
        for stage in self.recipe.stages:
            make_step(stage.step.name, **stage.step.options)
            make_loss(stage.loss.name, 1, self.pool.n_classes, **stage.loss.options)

    # Selection: all networks look before any of them learns.

    def _select(self, turn: Turn) -> None:
        selector = turn.stage.select
        selections = [self._selected(learner, selector, turn) for learner in self.learners]
        self.verdicts = [one.verdict or old for one, old in zip(selections, self.verdicts, strict=True)]
        if self.recipe.exchange:
            selections.reverse()
        for learner, selection in zip(self.learners, selections, strict=True):
            if selection.keep.any():
                learner.take(self._with_trusted(selection))
            elif learner.selection is None:  # nobody was selected: go on as before, at first with everyone
                learner.take(Selection.everything(len(self.pool)))
        self._tell("on_selection", turn.epoch, [learner.selection for learner in self.learners])

    def _selected(self, learner: Learner, selector: Selector, turn: Turn) -> Selection:
        """What one network selects, of all samples or of a part that is drawn for it."""
        if turn.stage.part is None:
            return selector.select(
                self._evidence(learner, selector.needs), turn.epoch, learner.selection, learner.memory
            )
        number = self.learners.index(learner)
        rows = self._drawn(turn.stage.part, turn.epoch, number)
        # Other samples than last time: nothing is known of them.
        found = selector.select(self._evidence(learner, selector.needs, rows), turn.epoch, None, {})
        return found.placed(rows, len(self.pool))

    def _drawn(self, size: int, epoch: int, number: int) -> Ints:
        """A part of the samples, the same in a resumed run and in every process."""
        seed = int(np.random.SeedSequence([self.seed, epoch, number]).generate_state(1)[0])
        codes = self.pool.codes.cpu().numpy()
        return np.sort(pseudo_balanced(codes, size, n_classes=self.pool.n_classes, seed=seed))

    def judge_all(self) -> Verdict | None:
        """What the last selector says about all samples, also if it has only ever looked at parts."""
        if self.verdicts[0] is None and self.recipe.stages[-1].select.scope == "pool":
            selector, learner = self.recipe.stages[-1].select, self.learners[0]
            found = selector.select(self._evidence(learner, selector.needs), self.epochs_done, None, {})
            self.verdicts[0] = found.verdict
        return self.verdicts[0]

    def _evidence(self, learner: Learner, needs: Collection[str], rows: Ints | None = None) -> Evidence:
        seen = observe(self._bare(learner), self.pool, needs, rows)
        if learner.margins is None:
            return seen
        margins = learner.margins.mean()
        return replace(seen, margins=margins if rows is None else margins[rows])

    def _with_trusted(self, selection: Selection) -> Selection:
        """People have the last word."""
        if self.pool.trusted is None:
            return selection
        return selection.trusting(self.pool.trusted.cpu().numpy(), self.pool.codes.cpu().numpy())

    # Learning.

    def _learn(self, turn: Turn) -> list[Tensor]:
        """One epoch of all networks; the sums of their losses and hits, and how many samples they are of."""
        headline = self._headline(turn)
        with together(self.accelerator, self._memories()):
            if turn.stage.select.scope == "batch":
                return self._lessons.together(self.learners, self._step, turn, self.recipe.exchange, headline)
            return [
                self._lessons.apart(learner, self._peer_of(learner), self._step, turn, headline)
                for learner in self.learners
            ]

    def _memories(self) -> list[nn.Module]:
        """What is kept of single samples while they are learned."""
        losses: list[nn.Module] = [learner.loss for learner in self.learners]
        return [*losses, *(learner.margins for learner in self.learners if learner.margins is not None)]

    def _peer_of(self, learner: Learner) -> nn.Module | None:
        return next((self._bare(other) for other in self.learners if other is not learner), None)

    def _bare(self, learner: Learner) -> nn.Module:
        """The network for looking: several processes look at everything, each for itself."""
        if self.accelerator.num_processes == 1:
            return learner.net
        bare: nn.Module = self.accelerator.unwrap_model(learner.net)
        return bare

    # Telling.

    def _record(self, turn: Turn, figures: Sequence[Tensor]) -> None:
        loss, hits, count = torch.stack(list(figures)).mean(dim=0).tolist()
        if not np.isfinite(loss):
            raise InvalidData(
                f"training by {self.recipe.name} stopped: the loss is {loss} in epoch {turn.epoch}; "
                f"try a smaller learning rate than {turn.lr:g}"
            )
        kept = [float(learner.learned.mean()) for learner in self.learners]
        record: dict[str, Any] = {
            "epoch": turn.epoch,
            "lr": turn.lr,
            "loss": loss / max(count, 1),
            "train_accuracy": hits / max(count, 1),
            "kept_fraction": sum(kept) / len(kept),
            "selected": turn.selects and bool(turn.stage.select.needs),
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

    def _headline(self, turn: Turn) -> str:
        """What to show beside the bar of an epoch: how the one before it went."""
        if not self.history:
            return f"epoch {turn.epoch}"
        last = self.history[-1]
        return (
            f"epoch {turn.epoch}: loss {last['loss']:.3f}, accuracy {100 * last['train_accuracy']:.1f} %, "
            f"kept {100 * last['kept_fraction']:.1f} %"
        )

    def _tell(self, event: str, *what: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, event)(self, *what)
