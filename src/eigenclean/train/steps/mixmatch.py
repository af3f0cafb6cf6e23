"""DivideMix's step: refine trusted labels, guess the others, mix everything and learn it (Li et al., 2020)."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from eigenclean.errors import InvalidOption
from eigenclean.losses.base import Loss
from eigenclean.train.steps.base import Answers, Batch, Outcome, Progress, Step
from eigenclean.train.steps.mixing import as_probabilities, draw_share, mix, prior_penalty, ramp_up, sharpen
from eigenclean.train.steps.supervised import Supervised


@dataclass(frozen=True)
class MixMatch(Step):
    """Semi-supervised: kept samples lend their labels, the rest only their inputs.

    Attributes:
        lambda_u: weight of the rest, reached after a ramp; None learns only the mixtures of kept samples.
        temperature: below 1 sharpens refined and guessed labels.
        alpha: of the Beta distribution of the shares in a mixture.
        ramp: epochs in which ``lambda_u`` grows from 0.
        penalty: weight of the penalty on predicting some classes more often than others.
        through: an epoch goes once through the "kept" samples, or takes as many batches as there are of "all".
    """

    lambda_u: float | None = 25.0
    temperature: float = 0.5
    alpha: float = 4.0
    ramp: float = 16.0
    penalty: float = 1.0
    through: Literal["kept", "all"] = "kept"

    views: ClassVar[int] = 2
    uses_rest: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.temperature <= 0 or self.alpha <= 0:
            raise InvalidOption(
                f"step mixmatch: temperature and alpha must be above 0, got {self.temperature} and {self.alpha}"
            )
        if self.through not in ("kept", "all"):
            raise InvalidOption(f"step mixmatch: through must be 'kept' or 'all', got {self.through!r}")

    def n_batches(self, n_kept: int, n_rest: int, size: int) -> int | None:
        """For "all", as many as it takes to see as many samples as there are; both parts are recycled."""
        return (n_kept + n_rest) // size + 1 if self.through == "all" else None

    def __call__(
        self,
        net: Answers,
        peer: nn.Module | None,
        kept: Batch,
        rest: Batch | None,
        loss: Loss,
        progress: Progress,
    ) -> Outcome:
        """Loss of the mixtures."""
        if rest is None:  # everything is trusted: there is nothing to guess
            return Supervised()(net, None, Batch(kept.inputs, kept.target, None, kept.index), None, loss, progress)
        inputs = torch.cat([*kept.views, *rest.views])
        targets, believed = self.targets(net, peer, kept, rest)
        share, order = draw_share(self.alpha, inputs.device), torch.randperm(len(inputs)).to(inputs.device)
        mixed, wanted = mix(inputs, share, order), mix(targets, share, order)
        n = sum(len(view) for view in kept.views)
        if self.lambda_u is None:
            mixed, wanted = mixed[:n], wanted[:n]
        _, logits = net(mixed)
        total = loss(logits[:n], wanted[:n], kept.index.repeat(len(kept.views))).mean()
        total = total + self.penalty * prior_penalty(logits)
        if self.lambda_u:
            weight = self.lambda_u * ramp_up(progress.age, self.ramp)
            total = total + weight * functional.mse_loss(functional.softmax(logits[n:].float(), dim=1), wanted[n:])
        return Outcome(total, believed)

    @torch.no_grad()
    def targets(self, net: Answers, peer: nn.Module | None, kept: Batch, rest: Batch) -> tuple[Tensor, Tensor]:
        """What each row is to be learned as, view by view, refined labels first; and what the kept are taken for.

        The learning network stays in training mode here, as in the reference; the peer does not.
        """
        own = _believed(net, [*kept.views, *rest.views])
        split = len(kept.views)
        refined = self.refine(kept, torch.stack(own[:split]).mean(dim=0))
        guesses = own[split:]
        if peer is not None:
            peer.eval()
            guesses = [*guesses, *_believed(peer, rest.views)]
        guessed = sharpen(torch.stack(guesses).mean(dim=0), self.temperature)
        return torch.cat([*[refined] * split, *[guessed] * len(rest.views)]), own[0]

    def refine(self, kept: Batch, believed: Tensor) -> Tensor:
        """The given label as far as it is trusted, else what the network believes; sharpened."""
        given = as_probabilities(kept.target, believed.shape[1])
        if kept.weight is None:
            return sharpen(given, self.temperature)
        trust = kept.weight[:, None]
        return sharpen(trust * given + (1 - trust) * believed, self.temperature)


def _believed(net: Answers, views: "tuple[Tensor, ...] | list[Tensor]") -> list[Tensor]:
    """Probabilities for each view; one pass for all, so that a batch of one is no batch of one."""
    _, logits = net(torch.cat(list(views)))
    return list(torch.split(functional.softmax(logits.float(), dim=1), [len(view) for view in views]))
