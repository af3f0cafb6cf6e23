"""DivideMix's step: refine trusted labels, guess the others, train on mixtures of all (Li et al., 2020)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from eigenclean.errors import InvalidOption
from eigenclean.losses.base import Loss
from eigenclean.train.steps.base import Batch, ForwardFunction, Step, StepResult, TrainingProgress
from eigenclean.train.steps.mixing import as_probabilities, draw_coefficient, mix, prior_penalty, ramp_up, sharpen
from eigenclean.train.steps.supervised import Supervised


@dataclass(frozen=True)
class MixMatch(Step):
    """Semi-supervised: kept samples contribute inputs and labels, the rest only inputs.

    Attributes:
        lambda_u: weight of the loss of the rest, reached after a ramp; None trains on the mixed kept samples only.
        temperature: below 1 sharpens refined and guessed labels.
        alpha: parameter of the Beta distribution of the mixing coefficient.
        ramp: epochs in which ``lambda_u`` grows from 0.
        penalty: weight of the KL penalty between a uniform prior and the mean prediction.
        through: an epoch goes once through the "kept" samples, or has as many batches as there are of "all".
    """

    lambda_u: float | None = 25.0
    temperature: float = 0.5
    alpha: float = 4.0
    ramp: float = 16.0
    penalty: float = 1.0
    through: Literal["kept", "all"] = "kept"

    n_views: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if self.temperature <= 0 or self.alpha <= 0:
            raise InvalidOption(
                f"step mixmatch: temperature and alpha must be above 0, got {self.temperature} and {self.alpha}"
            )
        if self.through not in ("kept", "all"):
            raise InvalidOption(f"step mixmatch: through must be 'kept' or 'all', got {self.through!r}")

    def n_batches(self, n_kept: int, n_rest: int, size: int) -> int | None:
        """For "all", as many as all samples need; both the kept samples and the rest are then repeated."""
        return (n_kept + n_rest) // size + 1 if self.through == "all" else None

    def __call__(
        self,
        net: ForwardFunction,
        peer: nn.Module | None,
        kept: Batch,
        rest: Batch | None,
        loss: Loss,
        progress: TrainingProgress,
    ) -> StepResult:
        """Loss of the mixed samples: supervised for the kept ones, squared error for the rest."""
        if rest is None:  # all labels are trusted: there is nothing to guess
            unweighted = Batch(kept.inputs, kept.target, None, kept.index)
            return Supervised()(net, None, unweighted, None, loss, progress)
        inputs = torch.cat([*kept.views, *rest.views])
        targets, predicted = self.targets(net, peer, kept, rest)
        coefficient = draw_coefficient(self.alpha, inputs.device)
        order = torch.randperm(len(inputs)).to(inputs.device)
        mixed_inputs, mixed_targets = mix(inputs, coefficient, order), mix(targets, coefficient, order)
        n_kept = sum(len(view) for view in kept.views)
        if self.lambda_u is None:
            mixed_inputs, mixed_targets = mixed_inputs[:n_kept], mixed_targets[:n_kept]
        _, logits = net(mixed_inputs)
        total = loss(logits[:n_kept], mixed_targets[:n_kept], kept.index.repeat(len(kept.views))).mean()
        total = total + self.penalty * prior_penalty(logits)
        if self.lambda_u:
            weight = self.lambda_u * ramp_up(progress.stage_epoch, self.ramp)
            probabilities = functional.softmax(logits[n_kept:].float(), dim=1)
            total = total + weight * functional.mse_loss(probabilities, mixed_targets[n_kept:])
        return StepResult(total, predicted)

    @torch.no_grad()
    def targets(
        self, net: ForwardFunction, peer: nn.Module | None, kept: Batch, rest: Batch
    ) -> tuple[Tensor, Tensor]:
        """Targets of all views, refined labels before guessed ones; and the predictions for the kept samples.

        The trained network stays in training mode here, as in the reference implementation; the peer does not.
        """
        predicted = _predict_views(net, [*kept.views, *rest.views])
        n_kept_views = len(kept.views)
        refined = self.refine(kept, torch.stack(predicted[:n_kept_views]).mean(dim=0))
        guesses = predicted[n_kept_views:]
        if peer is not None:
            peer.eval()
            guesses = [*guesses, *_predict_views(peer, rest.views)]
        guessed = sharpen(torch.stack(guesses).mean(dim=0), self.temperature)
        return torch.cat([*[refined] * n_kept_views, *[guessed] * len(rest.views)]), predicted[0]

    def refine(self, kept: Batch, predicted: Tensor) -> Tensor:
        """Co-refinement: the given label and the prediction, mixed by the weight of the label, then sharpened."""
        given = as_probabilities(kept.target, predicted.shape[1])
        if kept.weight is None:
            return sharpen(given, self.temperature)
        weight = kept.weight[:, None]
        return sharpen(weight * given + (1 - weight) * predicted, self.temperature)


def _predict_views(net: ForwardFunction, views: Sequence[Tensor]) -> list[Tensor]:
    """Probabilities for each view; all in one pass, because batch normalisation needs more than one sample."""
    _, logits = net(torch.cat(list(views)))
    return list(torch.split(functional.softmax(logits.float(), dim=1), [len(view) for view in views]))
