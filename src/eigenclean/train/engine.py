"""The training loop, the only one: it carries out a recipe."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.losses import make_loss
from eigenclean.progress import track
from eigenclean.train.callbacks import Callback
from eigenclean.train.device import make_accelerator
from eigenclean.train.learner import Learner, make_optimiser
from eigenclean.train.observe import observe
from eigenclean.train.pool import Pool
from eigenclean.train.recipe import Recipe, Turn
from eigenclean.train.selection import Selection
from eigenclean.train.steps import make_step
from eigenclean.train.steps.base import Progress, Step
from eigenclean.train.tally import Tally
from eigenclean.verdict import Verdict


class Engine:
    """Trains the networks of a recipe on a pool of samples.

    Equal seeds give equal networks, and the global random state is as it was when the training is over.

    Args:
        recipe: what to do.
        make_net: gives a freshly initialised network that returns (features, logits).
        pool: the samples.
        seed: of the initial weights and of the order of the samples.
        device: "cpu", or None for the best there is.
        mixed_precision: "no", "fp16" or "bf16".
        callbacks: who hears about it.

    Attributes:
        learners: the networks in training.
        history: one record per epoch.
        verdicts: the last verdict of each network, when a detector has made one.
    """

    def __init__(
        self,
        recipe: Recipe,
        make_net: Callable[[], nn.Module],
        pool: Pool,
        *,
        seed: int = 0,
        device: str | None = None,
        mixed_precision: str = "no",
        callbacks: Sequence[Callback] = (),
    ) -> None:
        self.recipe = recipe
        self.seed = seed
        self.accelerator = make_accelerator(device, mixed_precision)
        self.pool = pool.to(self.accelerator.device)
        self.callbacks = list(callbacks)
        self.learners: list[Learner] = []
        self.history: list[dict[str, Any]] = []
        self.verdicts: list[Verdict | None] = [None] * recipe.networks
        self._make_net = make_net
        self._step: Step

    @property
    def networks(self) -> list[nn.Module]:
        """The networks themselves, without what accelerate wraps around them."""
        return [self.accelerator.unwrap_model(learner.net, keep_fp32_wrapper=False) for learner in self.learners]

    def fit(self) -> "Engine":
        """Carry out the whole recipe."""
        with self._own_randomness():
            self._start_over()
            self._tell("on_train_begin")
            for turn in track(self.recipe.plan(), f"training by {self.recipe.name}"):
                self._run_epoch(turn)
            self._tell("on_train_end")
        return self

    def _run_epoch(self, turn: Turn) -> None:
        if turn.age == 0:
            self._enter_stage(turn)
        if turn.selects:
            self._select(turn)
        for learner in self.learners:
            learner.set_lr(self.recipe.optimiser.lr_at(turn.since_restart))
        figures = [self._train(learner, turn) for learner in self.learners]
        self._record(turn, figures)

    # Beginnings.

    @contextmanager
    def _own_randomness(self) -> Iterator[None]:
        """Initial weights and dropout draw from torch's global state: ours inside, untouched outside."""
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            torch.manual_seed(self.seed)
            yield

    def _start_over(self) -> None:
        """Fresh networks with fresh optimisers."""
        seeds = np.random.SeedSequence(self.seed).generate_state(self.recipe.networks)
        self.learners = [self._make_learner(int(seed)) for seed in seeds]

    def _make_learner(self, seed: int) -> Learner:
        net = self._make_net().to(self.accelerator.device)
        optimiser = make_optimiser(net, self.recipe.optimiser)
        if self._scales:
            optimiser = self.accelerator.prepare(optimiser)
        return Learner(self.accelerator.prepare(net), optimiser, self.pool, seed)

    def _enter_stage(self, turn: Turn) -> None:
        stage = turn.stage
        if stage.restart and turn.epoch > 1:
            self._start_over()
        self._step = make_step(stage.step.name, **stage.step.options)
        for learner in self.learners:
            if learner.loss_part != stage.loss:  # else what the loss remembers of the samples lives on
                made = make_loss(stage.loss.name, len(self.pool), self.pool.n_classes, **stage.loss.options)
                learner.loss, learner.loss_part = made.to(self.accelerator.device), stage.loss

    # Selection: all networks look before any of them learns.

    def _select(self, turn: Turn) -> None:
        selector = turn.stage.select
        if selector.scope != "pool":
            raise InvalidOption(f"training: selector {selector.kind} selects from batches, which is not built yet")
        selections = [
            selector.select(observe(learner.net, self.pool, selector.needs), turn.epoch, learner.selection)
            for learner in self.learners
        ]
        self.verdicts = [one.verdict or old for one, old in zip(selections, self.verdicts, strict=True)]
        if self.recipe.exchange:
            selections.reverse()
        for learner, selection in zip(self.learners, selections, strict=True):
            if selection.keep.any():
                learner.take(selection)
            elif learner.selection is None:  # nobody was selected: go on as before, at first with everyone
                learner.take(Selection.everything(len(self.pool)))
        self._tell("on_selection", turn.epoch, [learner.selection for learner in self.learners])

    # Learning.

    def _train(self, learner: Learner, turn: Turn) -> Tensor:
        """One epoch of one network; returns the sums of its losses and hits, and how many samples they are of."""
        learner.net.train()
        peer = next((other.net for other in self.learners if other is not learner), None)
        batches = learner.batches(self.recipe.optimiser.batch_size)
        tally = Tally()
        for number, rows in enumerate(track(batches, self._headline(turn))):
            mine, share = self._share(rows)
            progress = Progress(turn.epoch, turn.age + number / len(batches))
            outcome = self._step(learner.net, peer, learner.batch(mine), None, learner.loss, progress)
            self._descend(learner, outcome.loss if share == 1 else outcome.loss * share)
            tally.add(outcome, mine)
        total: Tensor = self.accelerator.reduce(tally.sums(self.pool.codes))
        return total

    def _descend(self, learner: Learner, loss: Tensor) -> None:
        learner.optimiser.zero_grad()
        if self._scales:
            self.accelerator.backward(loss)
        else:
            torch.autograd.backward(loss)
        learner.optimiser.step()

    @property
    def _scales(self) -> bool:
        """Whether gradients must be scaled, which is accelerate's affair.

        Otherwise its optimiser and backward are left out: both search the disk for an optional package at every
        step, which costs a small network a tenth of its time.
        """
        return bool(self.accelerator.scaler is not None)

    def _share(self, rows: Tensor) -> tuple[Tensor, float]:
        """This process's rows of a batch, and the factor that makes the mean of all gradients that of the batch."""
        processes = self.accelerator.num_processes
        if processes == 1:
            return rows, 1.0
        mine = rows[self.accelerator.process_index :: processes]
        factor = len(mine) * processes / len(rows)
        return (mine, factor) if len(mine) else (rows[:1], 0.0)  # all processes must take part in every step

    # Telling.

    def _record(self, turn: Turn, figures: Sequence[Tensor]) -> None:
        loss, hits, count = torch.stack(list(figures)).mean(dim=0).tolist()
        if not np.isfinite(loss):
            raise InvalidData(
                f"training by {self.recipe.name} stopped: the loss is {loss} in epoch {turn.epoch}; "
                f"try a smaller learning rate than {self.recipe.optimiser.lr}"
            )
        kept = [learner.selection.fraction for learner in self.learners if learner.selection is not None]
        record: dict[str, Any] = {
            "epoch": turn.epoch,
            "lr": self.recipe.optimiser.lr_at(turn.since_restart),
            "loss": loss / count,
            "train_accuracy": hits / count,
            "kept_fraction": sum(kept) / len(kept),
            "selected": turn.selects and bool(turn.stage.select.needs),
        }
        self._tell("on_epoch_end", record)
        self.history.append(record)

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
