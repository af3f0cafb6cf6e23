"""What holds for every loss: one suite over the whole table, with every option that changes the mathematics."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from eigenclean.errors import InvalidData
from eigenclean.losses import LOSSES, make_loss
from eigenclean.losses.base import Loss

N, K, ROWS = 40, 4, 16
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "bootstrap": [{"kind": "hard"}, {"detach": False}],
    "gce": [{"q": 0.0}, {"q": 1.0}, {"truncate": 0.5, "start": 1, "every": 1}],
    "forward": [{"transition": [[0.7 if i == j else 0.1 for j in range(K)] for i in range(K)]}],
    "cores2": [{"rescale": True, "start": 0, "ramp": 0}],
}
CASES = [(name, options) for name in sorted(LOSSES) for options in [{}, *VARIANTS.get(name, [])]]
Make = Callable[[], Loss]


def batch(seed: int = 0, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(ROWS, K, generator=generator, dtype=torch.float64)
    labels = torch.randint(K, (ROWS,), generator=generator)
    return logits.to(dtype), labels, torch.randperm(N, generator=generator)[:ROWS]


def takes_soft(loss: Loss) -> bool:
    return getattr(loss, "truncate", None) is None


def run(loss: Loss, epochs: int = 3) -> Tensor:
    """A few epochs of batches; the values of the last one."""
    for epoch in range(1, epochs + 1):
        loss.begin_epoch(epoch)
        values: Tensor = loss(*batch(epoch))
    return values


def check_one_value_per_sample_and_a_gradient(make: Make) -> None:
    logits, labels, index = batch()
    logits.requires_grad_()
    values = make()(logits, labels, index)
    assert values.shape == (ROWS,)
    values.sum().backward()
    assert logits.grad is not None and torch.isfinite(logits.grad).all()
    assert (logits.grad != 0).any()


def check_samples_do_not_see_each_other(make: Make) -> None:
    logits, labels, index = batch()
    together = make()(logits, labels, index)
    alone = [make()(logits[i : i + 1], labels[i : i + 1], index[i : i + 1]) for i in range(ROWS)]
    torch.testing.assert_close(together, torch.cat(alone))
    order = torch.randperm(ROWS, generator=torch.Generator().manual_seed(5))
    torch.testing.assert_close(make()(logits[order], labels[order], index[order]), together[order])


def check_certain_probabilities_are_class_numbers(make: Make) -> None:
    logits, labels, index = batch()
    if takes_soft(make()):
        torch.testing.assert_close(make()(logits, torch.eye(K)[labels], index), make()(logits, labels, index))


def check_extreme_logits(make: Make) -> None:
    for scale in (1e-30, 1e2, 1e4, 1e30):
        for target in (0, 1):  # the likeliest class, and the least likely one
            logits = torch.tensor([[scale, -scale, 0.0, 0.0]], requires_grad=True)
            loss = make()
            for epoch in (1, 2, 50):
                loss.begin_epoch(epoch)
                values = loss(logits, torch.tensor([target]), torch.tensor([3]))
                (gradient,) = torch.autograd.grad(values.sum(), logits)
                assert torch.isfinite(values).all(), (scale, target, values)
                assert torch.isfinite(gradient).all(), (scale, target, gradient)


def check_gradient_by_differences(make: Make) -> None:
    logits, labels, index = batch(dtype=torch.float64)
    loss = make().double().eval()
    if getattr(loss, "detach", False):  # what is held fixed is not seen by differences
        return
    logits.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: loss(x, labels, index), (logits,))


def check_half_precision(make: Make) -> None:
    for dtype in (torch.float16, torch.bfloat16):
        logits, labels, index = batch(dtype=dtype)
        values = make()(logits.requires_grad_(), labels, index)
        values.float().sum().backward()
        exact = make()(logits.detach().double(), labels, index)
        torch.testing.assert_close(values.double(), exact, rtol=0.02, atol=0.02)


def check_inputs_unchanged(make: Make) -> None:
    given = batch()
    before = [one.clone() for one in given]
    make()(*given)
    assert all(torch.equal(a, b) for a, b in zip(given, before, strict=True))


def check_state_goes_into_a_checkpoint(make: Make) -> None:
    loss = make()
    run(loss)
    saved = {name: value.clone() for name, value in loss.state_dict().items()}
    other = make()
    other.load_state_dict(saved)
    for epoch in (4, 5):
        for one in (loss, other):
            one.begin_epoch(epoch)
        assert torch.equal(loss(*batch(epoch)), other(*batch(epoch)))
    assert all(value.is_contiguous() and torch.isfinite(value).all() for value in saved.values())


def check_looking_leaves_no_trace(make: Make) -> None:
    loss = make()
    run(loss)
    before = {name: value.clone() for name, value in loss.state_dict().items()}
    loss.eval()
    loss(*batch(7))
    assert all(torch.equal(value, before[name]) for name, value in loss.state_dict().items())


def check_memory_belongs_to_the_original_index(make: Make) -> None:
    # The samples 10..25 of 40 alone must give what they give among all.
    generator = torch.Generator().manual_seed(3)
    logits, labels = torch.randn(2, N, K, generator=generator), torch.randint(K, (N,), generator=generator)
    some = torch.arange(10, 26)
    everyone, few = make(), make()
    everyone(logits[0], labels, torch.arange(N))
    few(logits[0][some], labels[some], some)
    torch.testing.assert_close(
        everyone(logits[1], labels, torch.arange(N))[some], few(logits[1][some], labels[some], some)
    )


def check_no_parameters_and_no_randomness(make: Make) -> None:
    state = torch.get_rng_state()
    loss = make()
    run(loss)
    assert not list(loss.parameters())
    assert torch.equal(torch.get_rng_state(), state)


def check_prints_its_options(make: Make) -> None:
    loss = make()
    text = repr(loss)
    assert text.startswith(f"{type(loss).__name__}(") and "\n" not in text
    assert all(f"{option}=" in text for option in loss.options)
    named = [
        one.name
        for one in inspect.signature(type(loss)).parameters.values()
        if one.kind is one.POSITIONAL_OR_KEYWORD
    ]
    assert named == list(loss.options)


def check_wrong_targets_get_a_sentence(make: Make) -> None:
    logits, labels, index = batch()
    for target in (labels[:-1], torch.rand(ROWS, K + 1), labels.float(), torch.eye(K, dtype=torch.int64)[labels]):
        with pytest.raises(InvalidData, match=r"loss: target must be 16 class numbers .* or 16 x 4 probabilities"):
            make()(logits, target, index)


CHECKS: dict[str, Callable[[Make], None]] = {
    name.removeprefix("check_"): check
    for name, check in list(globals().items())
    if name.startswith("check_") and inspect.isfunction(check) and check.__module__ == __name__
}


@pytest.mark.parametrize(("name", "options"), CASES, ids=lambda value: str(value))
@pytest.mark.parametrize("check", sorted(CHECKS))
def test_loss(name: str, options: dict[str, Any], check: str) -> None:
    CHECKS[check](lambda: make_loss(name, N, K, **options))
