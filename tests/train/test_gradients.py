"""Gradients of losses with respect to features: against automatic differentiation, for networks of every kind."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("accelerate")

import torch
from scipy.spatial.distance import cdist
from torch import Tensor, nn
from torch.nn import functional

from eigenclean.nets import make_net
from eigenclean.nets.adapted import adapted
from eigenclean.train import Pool, collect_evidence
from eigenclean.train.loop.gradients import last_layer
from eigenclean.train.selectors import Crust
from tests.detect.baselines.slow_crust import slow_choice

K = 4
_rng = np.random.default_rng(0)
LABELS = _rng.integers(0, K, 60)
VECTORS = _rng.normal(size=(60, 6)).astype(np.float32)
IMAGES = _rng.random((60, 1, 8, 8)).astype(np.float32)


class WithoutHead(nn.Module):
    """Returns (features, logits), and does not say how one comes from the other; a head is for something else."""

    def __init__(self, head: nn.Module | None) -> None:
        super().__init__()
        self.head = head
        self.body, self.last = nn.Linear(6, 5), nn.Linear(5, K)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        features = self.body(inputs).relu()
        return features, self.last(features)


def nets() -> list[Any]:
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, K))
    return [
        pytest.param(make_net("mlp", 6, K, hidden=[7], dropout=0.5), VECTORS, id="mlp"),
        pytest.param(make_net("mlp", 6, K, hidden=[3]), VECTORS, id="fewer features than classes"),
        pytest.param(make_net("linear", 6, K), VECTORS, id="linear"),
        pytest.param(make_net("small-cnn", (1, 8, 8), K), IMAGES, id="small-cnn"),
        pytest.param(adapted(plain, 6, K), VECTORS, id="a module that returns logits"),
    ]


def slow_gradients(net: Any, inputs: Any) -> Any:
    """One sample at a time, by automatic differentiation."""
    rows = []
    for values, code in zip(inputs, LABELS.tolist(), strict=True):
        features = net(torch.from_numpy(values[None]))[0].detach().requires_grad_()
        loss = functional.cross_entropy(net.head(features), torch.tensor([code]))
        rows.append(torch.autograd.grad(loss, features)[0][0].double().numpy())
    return np.array(rows)


@pytest.mark.parametrize(("net", "inputs"), nets())
def test_gradients_are_as_far_apart_as_those_of_automatic_differentiation(net: Any, inputs: Any) -> None:
    evidence: Any = collect_evidence(net, Pool.from_arrays(inputs, LABELS, np.arange(K)), ("gradients",))
    expected = slow_gradients(net.eval(), inputs)
    assert evidence.gradients.shape == (60, K) and evidence.probabilities is None
    np.testing.assert_allclose(cdist(evidence.gradients, evidence.gradients), cdist(expected, expected), atol=1e-5)


@pytest.mark.parametrize(("net", "inputs"), nets())
def test_crust_picks_what_a_slow_loop_picks_by_those_gradients(net: Any, inputs: Any) -> None:
    evidence = collect_evidence(net, Pool.from_arrays(inputs, LABELS, np.arange(K)), Crust().needs)
    picked = np.flatnonzero(Crust(0.4).select(evidence, 1, None, {}).keep).tolist()
    assert set(picked) == slow_choice(slow_gradients(net.eval(), inputs), LABELS, 0.4)[0]


@pytest.mark.parametrize(
    "head", [None, nn.Linear(5, K + 1), nn.Sequential(nn.Linear(5, 5), nn.Linear(5, K)), nn.Dropout(0.1), nn.ReLU()]
)
def test_a_network_whose_last_layer_is_not_known_has_gradients_with_respect_to_the_logits(head: Any) -> None:
    torch.manual_seed(0)
    net = WithoutHead(head)
    evidence: Any = collect_evidence(
        net, Pool.from_arrays(VECTORS, LABELS, np.arange(K)), ("gradients", "probabilities")
    )
    assert last_layer(net, K) is None
    np.testing.assert_allclose(evidence.gradients, evidence.probabilities - np.eye(K)[LABELS], atol=1e-6)
