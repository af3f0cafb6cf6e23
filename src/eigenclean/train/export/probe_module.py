"""The heads of the probe as a torch module: TorchScript runs them without this package."""

import numpy as np
import torch
from torch import Tensor, nn

from eigenclean.arrays import Array
from eigenclean.detect.judge.row_maps import StandardizedColumns
from eigenclean.detect.judge.unit_rows import RowMap, RowNormalizer
from eigenclean.train.export.probe_graph import check_not_hashed, largest_standardised
from eigenclean.train.probe.model import ProbeModel
from eigenclean.train.probe.ridge import RidgeHead
from eigenclean.train.probe.rows import FourierRows
from eigenclean.train.probe.trees import PRIOR_SHARE, Forest


class ProbeClassifier(nn.Module):
    """From features (n x d, float32) to probabilities; numbers inside are doubles, as in `ProbeModel`."""

    scales: Tensor
    offsets: Tensor

    def __init__(self, model: ProbeModel) -> None:
        super().__init__()
        self.heads = nn.ModuleList(
            _Ridge(head) if isinstance(head, RidgeHead) else _Trees(head) for head in model.heads.values()
        )
        _store(self, scales=model.stack.scales, offsets=model.stack.offsets)

    def forward(self, features: Tensor) -> Tensor:
        """Probabilities of the classes, n x K."""
        rows = features.double()
        total = self.offsets[None]
        for number, head in enumerate(self.heads):
            total = total + self.scales[number] * head(rows)
        return torch.softmax(total, dim=1).float()


class _Ridge(nn.Module):
    directions: Tensor
    offsets: Tensor

    def __init__(self, head: RidgeHead) -> None:
        super().__init__()
        self.rows = _prepared(head.row_map)
        _store(self, directions=head.directions, offsets=head.offsets)

    def forward(self, rows: Tensor) -> Tensor:
        return torch.as_tensor(self.rows(rows) @ self.directions + self.offsets)


class _Standardised(nn.Module):
    means: Tensor
    deviations: Tensor

    def __init__(self, row_map: StandardizedColumns) -> None:
        super().__init__()
        self.limit = largest_standardised()
        _store(self, means=row_map.means, deviations=row_map.deviations)

    def forward(self, rows: Tensor) -> Tensor:
        return ((rows - self.means) / self.deviations).clamp(-self.limit, self.limit)


class _UnitLength(nn.Module):
    centre: Tensor

    def __init__(self, row_map: RowNormalizer) -> None:
        super().__init__()
        check_not_hashed(row_map)
        self.take_roots = row_map.take_roots
        _store(self, centre=row_map.centre)

    def forward(self, rows: Tensor) -> Tensor:
        if self.take_roots:
            rows = rows.sign() * rows.abs().sqrt()
        length = (rows * rows).sum(dim=1, keepdim=True).sqrt()
        return rows / torch.where(length == 0, torch.ones_like(length), length) - self.centre


class _Fourier(nn.Module):
    frequencies: Tensor

    def __init__(self, row_map: FourierRows) -> None:
        super().__init__()
        self.base = _prepared(row_map.base)
        self.scale = float(np.sqrt(2.0 / row_map.n_columns))
        _store(self, frequencies=row_map.frequencies)

    def forward(self, rows: Tensor) -> Tensor:
        angles = self.base(rows) @ self.frequencies
        return torch.cat([angles.cos(), angles.sin()], dim=1) * self.scale


class _Trees(nn.Module):
    """All trees go down one level at a time; a leaf leads to itself."""

    roots: Tensor
    feature: Tensor
    threshold: Tensor
    next_nodes: Tensor
    value: Tensor
    prior: Tensor

    def __init__(self, forest: Forest) -> None:
        super().__init__()
        self.depth = _depth(forest)
        numbers, is_leaf = np.arange(len(forest.feature)), forest.feature < 0
        children = np.stack([np.where(is_leaf, numbers, side) for side in (forest.right, forest.left)], axis=1)
        _store(self, roots=forest.roots, feature=np.maximum(forest.feature, 0), threshold=forest.threshold)
        _store(self, next_nodes=children, value=forest.value, prior=PRIOR_SHARE * forest.shares + 1e-12)

    def forward(self, rows: Tensor) -> Tensor:
        nodes = self.roots[None].expand(rows.shape[0], -1)
        for _ in range(self.depth):
            goes_left = rows.gather(1, self.feature[nodes]) <= self.threshold[nodes]
            nodes = self.next_nodes[nodes, goes_left.long()]
        return torch.log((1 - PRIOR_SHARE) * self.value[nodes].double().mean(dim=1) + self.prior)


def _prepared(row_map: RowMap) -> nn.Module:
    if isinstance(row_map, FourierRows):
        return _Fourier(row_map)
    if isinstance(row_map, StandardizedColumns):
        return _Standardised(row_map)
    assert isinstance(row_map, RowNormalizer)
    return _UnitLength(row_map)


def _depth(forest: Forest) -> int:
    """Steps from a root to the deepest leaf."""
    steps, nodes = 0, forest.roots
    while len(nodes := nodes[forest.feature[nodes] >= 0]):
        nodes = np.concatenate([forest.left[nodes], forest.right[nodes]])
        steps += 1
    return steps


def _store(module: nn.Module, **arrays: Array) -> None:
    for name, array in arrays.items():
        module.register_buffer(name, torch.from_numpy(np.ascontiguousarray(array)))
