"""The encoder `trained`: features of one network, or logits of networks that have not seen the labels."""

import numpy as np
import pytest

from eigenclean.arrays import Array, Ints
from eigenclean.errors import InvalidOption
from eigenclean.train import trained_features


def clouds(n: int = 240) -> tuple[Array, Ints]:
    rng = np.random.default_rng(0)
    right = np.arange(n) % 3
    return rng.normal(size=(n, 5)) + 3 * np.eye(5)[right], right


def test_a_label_has_no_influence_on_its_row() -> None:
    """The logits of a row by the network without its fold are the same whatever its label is."""
    X, y = clouds()
    changed = y.copy()
    changed[7] = (y[7] + 1) % 3
    options = {"net": "linear", "epochs": 2, "device": "cpu"}
    folded, folded_changed = (trained_features(X, labels, folds=3, **options) for labels in (y, changed))  # type: ignore[arg-type]
    assert folded.shape == (240, 3)
    np.testing.assert_array_equal(folded[7], folded_changed[7])
    assert (folded != folded_changed).any()


def test_wrong_labels_stand_out_however_long_it_learns() -> None:
    X, right = clouds()
    wrong = np.arange(len(right)) % 7 == 0
    y = np.where(wrong, (right + 1) % 3, right)
    logits = trained_features(X, y, net="mlp", epochs=150, folds=3, device="cpu")
    assert np.mean(logits.argmax(axis=1) == right) > 0.9
    np.testing.assert_allclose(logits.sum(axis=1), 0, atol=1e-4)


def test_folds_that_are_not_allowed() -> None:
    X, y = clouds(30)
    for folds in (1, 31):
        with pytest.raises(InvalidOption, match="folds must be from 2 to the number of rows, 30"):
            trained_features(X, y, folds=folds, device="cpu")
