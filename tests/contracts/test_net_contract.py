"""What holds for every network: one suite over the whole table."""

import copy
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from eigenclean.errors import InvalidOption
from eigenclean.nets import NETS, make_net

pytestmark = pytest.mark.usefixtures("without_onednn")

SMALL: dict[str, dict[str, Any]] = {
    "resnet34": {"width": 2},
    "preact-resnet18": {"width": 2},
    "small-cnn": {"width": 4},
    "timm": {"model": "tiny"},
    "encoder": {"encoder": f"torch:{Path(__file__).with_name('tiny_encoder.py')}:make_net?size=16"},
}
SHAPES: list[Sequence[int]] = [(1, 28, 28), (3, 32, 32)]
K = 3


def make(name: str, shape: Any = (3, 32, 32)) -> Any:
    torch.manual_seed(0)
    return make_net(name, shape, K, **SMALL.get(name, {}))


def inputs(rows: int, shape: Any = (3, 32, 32)) -> Tensor:
    return torch.randn(rows, *shape, generator=torch.Generator().manual_seed(1))


def check_features_and_logits_belong_together(name: str) -> None:
    for shape in SHAPES:
        net = make(name, shape).eval()
        features, logits = net(inputs(5, shape))
        assert features.shape == (5, net.n_outputs)
        assert logits.shape == (5, K)
        assert torch.equal(net.head(features), logits)


def check_vectors(name: str) -> None:
    if not make(name).takes_images:
        net = make(name, 6).eval()
        assert net(torch.randn(5, 6))[1].shape == (5, K)


def check_rows_do_not_see_each_other_in_eval_mode(name: str) -> None:
    net = make(name).eval()
    together = net(inputs(4))[1]
    alone = torch.cat([net(inputs(4)[i : i + 1])[1] for i in range(4)])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


def check_every_parameter_learns(name: str) -> None:
    net = make(name).train()
    _, logits = net(inputs(8))
    logits.square().sum().backward()
    silent = [key for key, value in net.named_parameters() if value.grad is None or not value.grad.any()]
    assert not silent


def check_equal_seeds_give_equal_weights(name: str) -> None:
    one, other = make(name).state_dict(), make(name).state_dict()
    assert all(torch.equal(value, other[key]) for key, value in one.items())


def check_weights_round_trip(name: str) -> None:
    net = make(name)
    net.train()(inputs(8))  # moves the running statistics
    saved = {key: value.clone() for key, value in net.state_dict().items()}
    other = make_net(name, (3, 32, 32), K, **SMALL.get(name, {}))
    other.load_state_dict(saved)
    assert torch.equal(net.eval()(inputs(2))[1], other.eval()(inputs(2))[1])
    assert len({value.data_ptr() for value in net.state_dict().values()}) == len(saved)  # none is there twice


def check_copies_are_independent(name: str) -> None:
    net = make(name).eval()
    before = net(inputs(2))[1]
    other = copy.deepcopy(net)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(1)
    assert torch.equal(net(inputs(2))[1], before)


def check_inputs_unchanged(name: str) -> None:
    given = inputs(4)
    before = given.clone()
    make(name).train()(given)
    assert torch.equal(given, before)


def check_options_are_checked(name: str) -> None:
    with pytest.raises(InvalidOption, match=f"net {name}: option must be one of"):
        make_net(name, (3, 32, 32), K, no_such_option=1)
    named = [*inspect.signature(type(make(name))).parameters][2:]
    assert named == list(make(name).options)


CHECKS: dict[str, Callable[[str], None]] = {
    name.removeprefix("check_"): check
    for name, check in list(globals().items())
    if name.startswith("check_") and inspect.isfunction(check) and check.__module__ == __name__
}


@pytest.mark.parametrize("name", sorted(NETS))
@pytest.mark.parametrize("check", sorted(CHECKS))
def test_net(name: str, check: str, timm: ModuleType) -> None:
    with torch.random.fork_rng(devices=[]):
        CHECKS[check](name)
