"""Networks by what their layers compute: sizes, equivalences, independence of the samples."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from torch import nn
from torch.nn import functional

from eigenclean.errors import InvalidData
from eigenclean.nets import make_net
from eigenclean.nets.shapes import image_shape, n_values

SMALL: dict[str, dict[str, Any]] = {
    "small-cnn": {"width": 4},
    "resnet34": {"width": 2},
    "preact-resnet18": {"width": 2},
}


def images(n: int = 3, channels: int = 2, side: int = 8) -> torch.Tensor:
    return torch.randn(n, channels, side, side, generator=torch.Generator().manual_seed(0))


@settings(max_examples=30)
@given(
    n_features=st.integers(1, 12), hidden=st.lists(st.integers(1, 9), min_size=1, max_size=3), k=st.integers(2, 6)
)
def test_parameters_of_a_perceptron(n_features: int, hidden: list[int], k: int) -> None:
    net = make_net("mlp", n_features, k, hidden=hidden)
    widths = [n_features, *hidden, k]
    expected = sum((before + 1) * after for before, after in pairwise(widths))
    assert sum(values.numel() for values in net.parameters()) == expected
    features, logits = net(torch.zeros(2, n_features))
    assert features.shape == (2, hidden[-1]) and logits.shape == (2, k)


@settings(max_examples=40)
@given(shape=st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_the_number_of_values_is_that_of_an_array_of_the_shape(shape: list[int]) -> None:
    assert n_values(shape) == np.zeros(shape).size
    assert n_values(shape[0]) == shape[0]
    if len(shape) == 3:
        assert image_shape(shape, by="net") == tuple(shape)
    else:
        with pytest.raises(InvalidData, match="an image must be channels x height x width"):
            image_shape(shape, by="net")


def test_the_linear_net_is_logistic_regression() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)).astype(np.float32), np.arange(60) % 3
    reference = LogisticRegression().fit(X, y)
    net: Any = make_net("linear", 4, 3)
    head = next(module for module in net.modules() if isinstance(module, nn.Linear))
    with torch.no_grad():
        head.weight.copy_(torch.from_numpy(reference.coef_))
        head.bias.copy_(torch.from_numpy(reference.intercept_))
        features, logits = net(torch.from_numpy(X))
    assert np.array_equal(features.numpy(), X)
    np.testing.assert_allclose(torch.softmax(logits, dim=1).numpy(), reference.predict_proba(X), atol=1e-5)


def test_pooling_before_the_normalisation_is_pooling_after_it() -> None:
    """A normalisation with positive scales is increasing, so it does not matter which pixel is the largest."""
    net: Any = make_net("small-cnn", (2, 8, 8), 3, width=4).eval()
    layers = list(net.body)
    for layer in layers:
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.uniform_(layer.weight, 0.5, 2.0)
            assert layer.running_mean is not None and layer.running_var is not None
            nn.init.uniform_(layer.running_mean, -0.5, 0.5)
            nn.init.uniform_(layer.running_var, 0.5, 2.0)
    x = images()
    for block in (layers[0:4], layers[4:8]):
        convolution, pooling, normalisation, _ = block
        assert isinstance(pooling, nn.MaxPool2d)
        x = functional.relu(pooling(normalisation(convolution(x))))
    convolution, normalisation, _ = layers[8:]
    x = functional.relu(normalisation(convolution(x)))
    torch.testing.assert_close(net(images())[0], x.mean(dim=(2, 3)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("side", [8, 13])
def test_pooled_nets_take_images_of_any_size_one_by_one_or_together(name: str, side: int) -> None:
    net: Any = make_net(name, (2, 8, 8), 3, **SMALL[name]).eval()
    given = images(side=side)
    with torch.no_grad():
        features, logits = net(given)
        for row in range(len(given)):
            feature, logit = net(given[row : row + 1])
            torch.testing.assert_close(feature, features[row : row + 1], rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(logit, logits[row : row + 1], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(net.head(features), logits)


@pytest.mark.parametrize("name", SMALL)
def test_the_memory_format_of_the_images_does_not_change_the_result(name: str) -> None:
    net: Any = make_net(name, (2, 8, 8), 3, **SMALL[name]).eval()
    with torch.no_grad():
        usual, channels_last = (
            net(images().contiguous(memory_format=kind))[1]
            for kind in (torch.contiguous_format, torch.channels_last)
        )
    torch.testing.assert_close(usual, channels_last)


@pytest.mark.parametrize("name", SMALL)
def test_every_parameter_is_trained(name: str) -> None:
    net: Any = make_net(name, (2, 8, 8), 3, **SMALL[name]).train()
    torch.autograd.backward(functional.cross_entropy(net(images(6))[1], torch.tensor([0, 1, 2, 0, 1, 2])))
    for parameter_name, parameter in net.named_parameters():
        assert parameter.grad is not None and torch.isfinite(parameter.grad).all(), parameter_name


def test_dropout_is_for_the_logits_only() -> None:
    torch.manual_seed(0)
    net: Any = make_net("mlp", 6, 3, hidden=[40], dropout=0.5).train()
    inputs = torch.randn(4, 6)
    (first, first_logits), (second, second_logits) = net(inputs), net(inputs)
    assert torch.equal(first, second)
    assert not torch.equal(first_logits, second_logits)
    net.eval()
    assert torch.equal(net(inputs)[1], net(inputs)[1])
