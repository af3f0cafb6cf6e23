"""Any torch module as a network."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.nets.wrapped import WrappedNet


class Pair(nn.Module):
    """Returns features and logits, as some people's networks do."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.fc = nn.Conv2d(3, 5, 3), nn.Linear(5, 2)

    def forward(self, x: Tensor) -> Any:
        features = self.body(x).mean(dim=(2, 3))
        return features, self.fc(features)


class Logits(Pair):
    """Returns logits alone, as most people's networks do; one layer is never called."""

    def __init__(self) -> None:
        super().__init__()
        self.unused = nn.Linear(1, 1)

    def forward(self, x: Tensor) -> Any:
        return super().forward(x)[1]


def images() -> Tensor:
    return torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(0))


def test_a_pair_passes_through() -> None:
    module = Pair()
    ours, theirs = WrappedNet(module)(images()), module(images())
    assert torch.equal(ours[0], theirs[0]) and torch.equal(ours[1], theirs[1])


def test_a_named_layer_is_overheard_and_maps_are_averaged() -> None:
    module = Logits()
    features, logits = WrappedNet(module, "body")(images())
    assert torch.equal(features, module.body(images()).mean(dim=(2, 3)))
    assert torch.equal(logits, module(images()))


def test_gradients_flow_through_what_was_overheard() -> None:
    module = Logits()
    features, logits = WrappedNet(module, "body")(images())
    (features.sum() + logits.sum()).backward()
    assert all(p.grad is not None for p in (*module.body.parameters(), *module.fc.parameters()))


def test_a_copy_listens_to_its_own_layers_and_no_hook_stays() -> None:
    net = WrappedNet(Logits(), "body")
    net(images())
    other = copy.deepcopy(net)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(1)
    assert not torch.allclose(other(images())[0], net(images())[0])
    assert all(not module._forward_hooks for module in net.modules())


def test_nested_layers_other_shapes_and_saved_weights() -> None:
    module = nn.Sequential(nn.Sequential(nn.Unflatten(1, (2, 3)), nn.ReLU()), nn.Flatten(), nn.Linear(6, 2))
    net = WrappedNet(module, "0.1")
    assert net(torch.ones(4, 6))[0].shape == (4, 6)
    again = WrappedNet(copy.deepcopy(module), "0.1")
    again.load_state_dict(net.state_dict())


@pytest.mark.parametrize(
    ("module", "layer", "message"),
    [
        (Logits(), None, r"net Logits: must return \(features, logits\), got shape \(4, 2\); or name the layer"),
        (Logits(), "unused", "feature_layer 'unused' must give a tensor, got nothing, because it was not called"),
        (nn.Sequential(Pair()), "0", "feature_layer '0' must give a tensor, got tuple"),
        (nn.Flatten(0), None, "must return"),
        (
            nn.Sequential(nn.Flatten(0)),
            "0",
            r"features must be one row for each of the 4 inputs, got shape \(768,\)",
        ),
    ],
)
def test_modules_that_do_not_fit_get_a_sentence(module: nn.Module, layer: str | None, message: str) -> None:
    with pytest.raises(InvalidData, match=message):
        WrappedNet(module, layer)(images())


def test_mistakes_get_a_sentence() -> None:
    with pytest.raises(
        InvalidOption, match="feature_layer must be one of body, fc, unused, got 'bodi'; did you mean"
    ):
        WrappedNet(Logits(), "bodi")
    with pytest.raises(InvalidOption, match=r"must be a torch.nn.Module, got str"):
        WrappedNet("resnet34")  # type: ignore[arg-type]
