"""Gradients of losses with respect to the features of a network, in as few columns as there are classes."""

from typing import Any

import numpy as np
from torch import Tensor, nn
from torch.nn import functional

from eigenclean.arrays import Float64s
from eigenclean.train.data.pool import as_doubles


def feature_gradients(net: nn.Module, logits: Tensor, codes: Tensor) -> Float64s:
    """Of the cross-entropy of each given label with respect to the features, n x K.

    The gradient is (p − onehot) W for a last layer with weights W, K x d. Methods that compare samples need only
    distances between gradients, and (p − onehot) R has the same ones for any R with R Rᵀ = W Wᵀ. A network whose
    last layer is not known has R = 1: gradients with respect to the logits.
    """
    residuals = as_doubles(functional.softmax(logits, dim=1) - functional.one_hot(codes, logits.shape[1]))
    last = last_layer(net, logits.shape[1])
    if last is None:
        return residuals
    weight = as_doubles(last.weight.detach())
    squares, directions = np.linalg.eigh(weight @ weight.T)
    return np.asarray(residuals @ (directions * np.sqrt(np.maximum(squares, 0.0))))


def last_layer(net: nn.Module, n_classes: int) -> nn.Linear | None:
    """The linear layer between the features of a network and its logits; None if it has no such layer.

    >>> from eigenclean.nets import make_net
    >>> last_layer(make_net("mlp", 4, 3), 3)
    Linear(in_features=128, out_features=3, bias=True)
    """
    head: Any = getattr(net, "head", None)
    layers: list[Any] = list(head) if isinstance(head, nn.Sequential) else [head]
    known = [layer for layer in layers if not isinstance(layer, nn.Dropout)]
    last = known[0] if len(known) == 1 else None
    return last if isinstance(last, nn.Linear) and last.out_features == n_classes else None
