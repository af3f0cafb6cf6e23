"""Networks: their exact sizes, and that they compute what they say."""

import sys
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from eigenclean.errors import InvalidData, InvalidOption, MissingExtra
from eigenclean.nets import make_net

CIFAR, FASHION = (3, 32, 32), (1, 28, 28)


def n_parameters(net: nn.Module) -> int:
    return sum(parameter.numel() for parameter in net.parameters())


# Sizes, counted by hand: a convolution has k · k · in · out weights, a normalisation 2 · channels.


def resnet34_by_hand(channels: int, n_classes: int) -> int:
    total = 9 * channels * 64 + 2 * 64
    before = 64
    for count, after in ((3, 64), (4, 128), (6, 256), (3, 512)):
        for _ in range(count):
            total += 9 * before * after + 2 * after + 9 * after * after + 2 * after
            total += before * after + 2 * after if before != after else 0
            before = after
    return total + 512 * n_classes + n_classes


def preact18_by_hand(channels: int, n_classes: int) -> int:
    total = 9 * channels * 64 + 2 * 64
    before = 64
    for after in (64, 128, 256, 512):
        for _ in range(2):
            total += 2 * before + 9 * before * after + 2 * after + 9 * after * after
            total += before * after if before != after else 0
            before = after
    return total + 512 * n_classes + n_classes


def small_cnn_by_hand(channels: int, n_classes: int) -> int:
    total, before = 0, channels
    for after in (32, 64, 128):
        total += 9 * before * after + 2 * after
        before = after
    return total + 128 * n_classes + n_classes


@pytest.mark.parametrize(
    ("name", "shape", "n_classes", "by_hand", "exactly"),
    [
        ("resnet34", CIFAR, 10, resnet34_by_hand, 21_282_122),
        ("resnet34", CIFAR, 100, resnet34_by_hand, 21_328_292),
        ("resnet34", FASHION, 10, resnet34_by_hand, 21_280_970),
        ("preact-resnet18", CIFAR, 10, preact18_by_hand, 11_171_274),
        ("preact-resnet18", CIFAR, 100, preact18_by_hand, 11_217_444),
        ("small-cnn", FASHION, 10, small_cnn_by_hand, 94_186),
        ("small-cnn", CIFAR, 10, small_cnn_by_hand, 94_762),
    ],
)
def test_number_of_parameters(
    name: str, shape: tuple[int, ...], n_classes: int, by_hand: Any, exactly: int
) -> None:
    assert n_parameters(make_net(name, shape, n_classes)) == by_hand(shape[0], n_classes) == exactly


@pytest.mark.parametrize(("name", "n_outputs"), [("resnet34", 512), ("preact-resnet18", 512), ("small-cnn", 128)])
def test_the_real_widths(name: str, n_outputs: int) -> None:
    assert make_net(name, CIFAR, 10).n_outputs == n_outputs


# Computations, written out once more.


def test_resnet34_computes_what_it_says() -> None:
    net: Any = make_net("resnet34", CIFAR, 10, width=4).eval()
    randomise_norms(net)
    x = torch.randn(2, *CIFAR)
    out = functional.relu(net.body[1](functional.conv2d(x, net.body[0].weight, padding=1)))
    strides = [1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1]
    assert len(net.body) == 3 + len(strides)
    for stride, block in zip(strides, list(net.body)[3:], strict=True):
        inner = functional.conv2d(out, block.conv1.weight, stride=stride, padding=1)
        inner = functional.conv2d(functional.relu(block.norm1(inner)), block.conv2.weight, padding=1)
        if stride == 2:
            conv, norm = block.shortcut
            out = norm(functional.conv2d(out, conv.weight, stride=2))
        out = functional.relu(block.norm2(inner) + out)
    assert out.shape == (2, 32, 4, 4)
    features = functional.avg_pool2d(out, 4).flatten(1)
    torch.testing.assert_close(net(x)[0], features)
    assert (features >= 0).all()


def test_preact_resnet18_passes_the_activated_tensor_on_and_has_signed_features() -> None:
    net: Any = make_net("preact-resnet18", CIFAR, 10, width=4).eval()
    randomise_norms(net)
    x = torch.randn(2, *CIFAR)
    out = functional.relu(net.body[1](functional.conv2d(x, net.body[0].weight, padding=1)))
    strides = [1, 1, 2, 1, 2, 1, 2, 1]
    for stride, block in zip(strides, list(net.body)[3:], strict=True):
        active = functional.relu(block.norm1(out))
        inner = functional.conv2d(active, block.conv1.weight, stride=stride, padding=1)
        inner = functional.conv2d(functional.relu(block.norm2(inner)), block.conv2.weight, padding=1)
        short = functional.conv2d(active, block.shortcut.weight, stride=2) if stride == 2 else active
        out = inner + short
    features = functional.avg_pool2d(out, 4).flatten(1)
    torch.testing.assert_close(net(x)[0], features)
    assert (features < 0).any() and (features > 0).any()


def randomise_norms(net: nn.Module) -> None:
    """Statistics as after some training, so that a forgotten normalisation shows."""
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d) and module.running_mean is not None:
            assert module.running_var is not None
            module.running_mean.uniform_(-0.3, 0.3)
            module.running_var.uniform_(0.5, 2)


def test_features_of_the_small_cnn_are_not_negative_and_not_thinned_out() -> None:
    net: Any = make_net("small-cnn", FASHION, 10, width=4, dropout=0.9).train()
    features, _ = net(torch.randn(6, *FASHION))
    assert (features >= 0).all()
    assert (features > 0).float().mean() > 0.5


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


def test_convolutions_lie_with_their_channels_last_and_stay_so_after_loading() -> None:
    net: Any = make_net("small-cnn", CIFAR, 10)
    saved = {name: value.contiguous() for name, value in net.state_dict().items()}
    other: Any = make_net("small-cnn", CIFAR, 10)
    other.load_state_dict(saved)
    assert other.body[4].weight.is_contiguous(memory_format=torch.channels_last)
    x = torch.randn(2, *CIFAR)
    assert torch.equal(other.eval()(x)[1], net.eval()(x)[1])


def test_gradients_lie_as_their_weights_do() -> None:
    # Otherwise torch warns when several processes add them up.
    for name in ("resnet34", "preact-resnet18", "small-cnn"):
        net = make_net(name, CIFAR, 10, width=4)
        net(torch.randn(2, *CIFAR))[1].sum().backward()
        for parameter in net.parameters():
            assert parameter.grad is not None and parameter.grad.stride() == parameter.stride()


# Networks of timm.


def test_timm_is_asked_for_the_real_models(timm: ModuleType) -> None:
    assert make_net("resnet50", (3, 224, 224), 14, pretrained=True).n_outputs == 2048
    assert make_net("inception-resnet-v2", (3, 299, 299), 50).n_outputs == 1536
    assert make_net("timm", CIFAR, 10, model="tiny").n_outputs == 6
    assert timm.asked == [("resnet50", True), ("inception_resnet_v2", False), ("tiny", False)]


def test_weights_of_a_timm_model_are_saved_once(timm: ModuleType) -> None:
    assert list(make_net("timm", CIFAR, 10, model="tiny").state_dict()) == [
        "model.conv.weight",
        "model.conv.bias",
        "model.fc.weight",
        "model.fc.bias",
    ]


def test_without_timm_a_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(MissingExtra, match=r"net resnet50 needs timm, which is not installed: pip install timm$"):
        make_net("resnet50", (3, 224, 224), 14)


def test_mistakes_with_timm_get_a_sentence(timm: ModuleType) -> None:
    with pytest.raises(InvalidOption, match=r"net tinny: timm cannot make it: Unknown model \(tinny\)"):
        make_net("timm", CIFAR, 10, model="tinny")
    with pytest.raises(InvalidOption, match="which model"):
        make_net("timm", CIFAR, 10)


# Mistakes.


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("mpl", {}, "did you mean 'mlp'"),
        ("mlp", {"hiden": [3]}, "did you mean 'hidden'"),
        ("mlp", {"hidden": []}, "hidden must be one or more widths"),
        ("mlp", {"dropout": 1.0}, "dropout must be from 0 to below 1"),
        ("resnet34", {"width": 0}, "net resnet34: width must be an integer of at least 1, got 0"),
        ("preact-resnet18", {"width": 2.5}, "net preact-resnet18: width must be an integer"),
        ("small-cnn", {"dropout": -0.1}, "net small-cnn: dropout must be from 0 to below 1"),
    ],
)
def test_mistakes_get_a_sentence(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        make_net(name, CIFAR, 2, **options)


@pytest.mark.parametrize("name", ["small-cnn", "resnet34", "preact-resnet18", "resnet50"])
@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (64, "needs images .* got vectors of 64 features; give images, or take the net linear or mlp"),
        ((8, 8), "must be channels x height x width with sides of at least ., got 8 x 8"),
        ((3, 0, 8), "sides of at least ., got 3 x 0 x 8"),
    ],
)
def test_vectors_are_no_images(name: str, shape: Any, message: str) -> None:
    with pytest.raises(InvalidData, match=message):
        make_net(name, shape, 2)


def test_digits_are_large_enough() -> None:
    for name in ("small-cnn", "resnet34", "preact-resnet18"):
        logits: Tensor = make_net(name, (1, 8, 8), 10, width=2).eval()(torch.zeros(1, 1, 8, 8))[1]
        assert logits.shape == (1, 10)


def test_the_small_cnn_computes_what_it_says() -> None:
    net: Any = make_net("small-cnn", FASHION, 10, width=3).eval()
    randomise_norms(net)
    x = out = torch.randn(2, *FASHION)
    convolutions = [module for module in net.modules() if isinstance(module, nn.Conv2d)]
    norms = [module for module in net.modules() if isinstance(module, nn.BatchNorm2d)]
    for number, (conv, norm) in enumerate(zip(convolutions, norms, strict=True)):
        out = functional.conv2d(out, conv.weight, padding=1)
        out = functional.relu(norm(functional.max_pool2d(out, 2) if number < 2 else out))
    assert out.shape == (2, 12, 7, 7)
    torch.testing.assert_close(net(x)[0], out.mean(dim=(2, 3)))
