"""Networks show their features beside their logits."""

from typing import Any

import pytest
import torch

from eigenclean.errors import InvalidOption
from eigenclean.nets import NETS, make_net


@pytest.mark.parametrize("name", sorted(NETS))
def test_every_net_returns_features_and_logits_that_belong_together(name: str) -> None:
    net: Any = make_net(name, 6, 3).eval()
    features, logits = net(torch.randn(5, 6))
    assert features.shape == (5, net.n_outputs)
    assert logits.shape == (5, 3)
    assert torch.equal(net.head(features), logits)


def test_features_of_the_mlp_are_not_negative_and_not_thinned_out() -> None:
    net: Any = make_net("mlp", 6, 3, hidden=[32, 16], dropout=0.9).train()
    inputs = torch.randn(50, 6)
    features, _ = net(inputs)
    assert (features >= 0).all()
    hidden = [module for module in net.body if isinstance(module, torch.nn.Dropout)]
    assert len(hidden) == 1  # between the two hidden layers, none after the second


def test_the_mlp_computes_what_it_says() -> None:
    net: Any = make_net("mlp", 4, 2, hidden=[3])
    inputs = torch.randn(7, 4)
    by_hand = (inputs @ net.body[0].weight.T + net.body[0].bias).clamp(min=0)
    assert torch.allclose(net(inputs)[0], by_hand)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("mpl", {}, "did you mean 'mlp'"),
        ("mlp", {"hiden": [3]}, "did you mean 'hidden'"),
        ("mlp", {"hidden": []}, "hidden must be one or more widths"),
        ("mlp", {"dropout": 1.0}, "dropout must be from 0 to below 1"),
    ],
)
def test_mistakes_get_a_sentence(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        make_net(name, 4, 2, **options)
