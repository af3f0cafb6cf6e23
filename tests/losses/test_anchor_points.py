"""The transition matrix that forward correction estimates."""

from typing import Any

import numpy as np
import pytest
import torch

from eigenclean.errors import InvalidData
from eigenclean.evidence import Evidence
from eigenclean.losses import make_loss
from eigenclean.losses.anchor_points import estimate_transition

K = 5


def slow_transition(p: np.ndarray[Any, Any], percentile: float | None) -> np.ndarray[Any, Any]:
    rows = []
    for i in range(p.shape[1]):
        scores = p[:, i].copy()
        if percentile is not None:
            scores[scores >= np.percentile(scores, percentile, method="higher")] = 0
        rows.append(p[scores.argmax()])
    return np.asarray(np.array(rows) / np.sum(rows, axis=1, keepdims=True))


@pytest.mark.parametrize(("discard", "percentile"), [(0.0, None), (0.03, 97.0), (0.2, 80.0)])
def test_transition_is_taken_from_the_surest_samples(discard: float, percentile: float | None) -> None:
    p = np.random.default_rng(1).dirichlet(np.full(4, 0.4), size=301)
    before = p.copy()
    np.testing.assert_allclose(estimate_transition(p, discard), slow_transition(p, percentile))
    np.testing.assert_array_equal(p, before)


def test_transition_of_equal_samples_is_their_prediction() -> None:
    np.testing.assert_allclose(estimate_transition(np.full((5, 2), 0.5), 0.03), np.full((2, 2), 0.5))


def test_with_many_classes_the_surest_sample_of_a_class_is_its_own() -> None:
    """Three per cent of all samples would be more than all samples of one class of 77."""
    many = 77
    truth = np.full((many, many), 0.2 / (many - 1)) + (0.8 - 0.2 / (many - 1)) * np.eye(many)
    p = np.random.default_rng(2).dirichlet(np.ones(many), size=20 * many) * 0.01 + 0.99 * np.repeat(
        truth, 20, axis=0
    )
    np.testing.assert_allclose(estimate_transition(p), truth, atol=0.01)
    assert estimate_transition(p, 0.03).diagonal().max() < 0.1
    ten = np.random.default_rng(3).dirichlet(np.ones(10), size=300)
    np.testing.assert_array_equal(estimate_transition(ten), estimate_transition(ten, 0.03))


def test_forward_learns_the_matrix_from_an_earlier_network() -> None:
    p = np.random.default_rng(0).dirichlet(np.full(K, 0.3), size=200)
    loss: Any = make_loss("forward", 200, K, discard=0.05)
    assert list(loss.needs) == ["probabilities"]
    loss.estimate(Evidence(ids=np.arange(200), labels=np.zeros(200, int), probabilities=p))
    np.testing.assert_allclose(loss.log_transition.exp().numpy(), estimate_transition(p, 0.05), atol=1e-6)
    again: Any = make_loss("forward", 200, K, discard=0.05)
    again.load_state_dict(loss.state_dict())
    given = torch.randn(6, K, generator=torch.Generator().manual_seed(0)), torch.arange(6) % K, torch.arange(6)
    assert torch.equal(again(*given), loss(*given))
    assert list(make_loss("forward", 200, K, transition=np.eye(K).tolist()).needs) == []


@pytest.mark.parametrize("bad", [np.zeros((0, 3)), np.zeros(3), np.array([[np.nan, 1.0]])])
def test_transition_of_no_probabilities_gets_a_sentence(bad: Any) -> None:
    with pytest.raises(InvalidData, match="probabilities must be n x K finite numbers"):
        estimate_transition(bad)
