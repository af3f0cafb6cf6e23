"""The heads of the probe as an ONNX graph: rows are prepared, scored and stacked as by `ProbeModel`."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Float64s
from eigenclean.detect.judge.row_maps import StandardizedColumns
from eigenclean.detect.judge.unit_rows import MAX_COLUMNS, RowMap, RowNormalizer
from eigenclean.errors import InvalidData
from eigenclean.extras import require
from eigenclean.train.probe.model import ProbeModel
from eigenclean.train.probe.ridge import RidgeHead
from eigenclean.train.probe.rows import FourierRows
from eigenclean.train.probe.trees import PRIOR_SHARE, Forest

# Versions that runtimes of the last years can read; nothing newer is needed.
_OPSET, _ML_OPSET, _IR_VERSION = 17, 3, 8
_DOUBLE = 11  # of ONNX


def write_probe_graph(model: ProbeModel, classes: Array, path: Path) -> None:
    """Write the graph: ``features`` (n x d, float) to ``probabilities`` (n x K, float).

    Numbers inside are doubles, as in this package, so that both give the same probabilities.
    """
    onnx = require("onnx", extra="onnx", caller="eigenclean export")
    graph = _Graph(onnx)
    rows = graph.add("Cast", "features", to=_DOUBLE)
    total = graph.constant(model.stack.offsets[None])
    for scale, head in zip(model.stack.scales, model.heads.values(), strict=True):
        scores = _ridge(graph, head, rows) if isinstance(head, RidgeHead) else _forest(graph, head)
        total = graph.add("Add", total, graph.add("Mul", scores, graph.constant(np.asarray(scale))))
    probabilities = graph.add("Softmax", total, axis=1)
    graph.add("Cast", probabilities, to=onnx.TensorProto.FLOAT, output="probabilities")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    onnx_graph = helper.make_graph(
        graph.nodes,
        "eigenclean probe",
        [helper.make_tensor_value_info("features", kind, ["n", model.n_columns])],
        [helper.make_tensor_value_info("probabilities", kind, ["n", len(classes)])],
        graph.constants,
    )
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)]
    whole = helper.make_model(onnx_graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="eigenclean")
    helper.set_model_props(whole, {"classes": json.dumps(classes.tolist(), ensure_ascii=False)})
    path.write_bytes(whole.SerializeToString())


class _Graph:
    """Collects nodes and constants, and names their outputs."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, op: str, *inputs: str, output: str | None = None, domain: str = "", **attributes: Any) -> str:
        name = output or f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(op, inputs, [name], domain=domain, **attributes))
        return name

    def constant(self, array: Array, dtype: Any = np.float64) -> str:
        name = f"constant_{len(self.constants)}"
        values = np.ascontiguousarray(array, dtype=dtype).reshape(np.shape(array))
        self.constants.append(self._onnx.numpy_helper.from_array(values, name))
        return name


def _ridge(graph: _Graph, head: RidgeHead, rows: str) -> str:
    prepared = _prepared(graph, head.row_map, rows)
    product = graph.add("MatMul", prepared, graph.constant(head.directions))
    return graph.add("Add", product, graph.constant(head.offsets[None]))


def _prepared(graph: _Graph, row_map: RowMap, rows: str) -> str:
    if isinstance(row_map, FourierRows):
        base = _prepared(graph, row_map.base, rows)
        angles = graph.add("MatMul", base, graph.constant(row_map.frequencies))
        both = graph.add("Concat", graph.add("Cos", angles), graph.add("Sin", angles), axis=1)
        return graph.add("Mul", both, graph.constant(np.sqrt(2.0 / row_map.n_columns)))
    if isinstance(row_map, StandardizedColumns):
        centred = graph.add("Sub", rows, graph.constant(row_map.means[None]))
        scaled = graph.add("Div", centred, graph.constant(row_map.deviations[None]))
        limit = largest_standardised()
        return graph.add("Clip", scaled, graph.constant(np.array(-limit)), graph.constant(np.array(limit)))
    assert isinstance(row_map, RowNormalizer)
    check_not_hashed(row_map)
    if row_map.take_roots:
        rows = graph.add("Mul", graph.add("Sign", rows), graph.add("Sqrt", graph.add("Abs", rows)))
    squares = graph.add("ReduceSum", graph.add("Mul", rows, rows), graph.constant(np.array([1]), np.int64))
    length = graph.add("Sqrt", squares)
    is_zero = graph.add("Equal", length, graph.constant(np.array(0.0)))
    length = graph.add("Where", is_zero, graph.constant(np.array(1.0)), length)
    return graph.add("Sub", graph.add("Div", rows, length), graph.constant(row_map.centre[None]))


def largest_standardised() -> float:
    """The value to which standardised columns are clipped."""
    return float(StandardizedColumns(np.zeros(1), np.ones(1)).apply(np.array([[np.inf]]))[0, 0])


def check_not_hashed(row_map: RowNormalizer) -> None:
    """Raise `InvalidData` for rows of so many columns that they are hashed, which no format can express."""
    if len(row_map.centre) >= MAX_COLUMNS:
        raise InvalidData(
            f"eigenclean export: rows of {MAX_COLUMNS} or more columns are hashed, which is not exported; reduce "
            "the features first, or use `eigenclean predict`"
        )


def _forest(graph: _Graph, forest: Forest) -> str:
    """Logarithms of the mean class shares in the leaves."""
    shares = graph.add(
        "TreeEnsembleRegressor", "features", domain="ai.onnx.ml", **tree_attributes(forest), post_transform="NONE"
    )
    mixed = graph.add("Mul", graph.add("Cast", shares, to=_DOUBLE), graph.constant(np.array(1 - PRIOR_SHARE)))
    prior = graph.constant((PRIOR_SHARE * forest.shares + 1e-12)[None])
    return graph.add("Log", graph.add("Add", mixed, prior))


def tree_attributes(forest: Forest) -> dict[str, Any]:
    """The nodes in the form of ONNX: a leaf adds its share of each class, divided by the number of trees."""
    n = len(forest.feature)
    tree = np.searchsorted(forest.roots, np.arange(n), side="right") - 1
    number = np.arange(n) - forest.roots[tree]
    is_inner = forest.feature >= 0
    leaves = np.flatnonzero(~is_inner)
    leaf, target = np.nonzero(forest.value[leaves])
    weights = forest.value[leaves[leaf], target].astype(np.float64) / len(forest.roots)
    return {
        "n_targets": forest.value.shape[1],
        "nodes_treeids": tree.tolist(),
        "nodes_nodeids": number.tolist(),
        "nodes_modes": np.where(is_inner, "BRANCH_LEQ", "LEAF").tolist(),
        "nodes_featureids": np.maximum(forest.feature, 0).tolist(),
        "nodes_values": _rounded_down(np.where(is_inner, forest.threshold, 0.0)).tolist(),
        "nodes_truenodeids": np.where(is_inner, forest.left - forest.roots[tree], 0).tolist(),
        "nodes_falsenodeids": np.where(is_inner, forest.right - forest.roots[tree], 0).tolist(),
        "target_treeids": tree[leaves[leaf]].tolist(),
        "target_nodeids": number[leaves[leaf]].tolist(),
        "target_ids": target.tolist(),
        "target_weights": weights.tolist(),
    }


def _rounded_down(values: Float64s) -> Array:
    """The largest single-precision numbers up to these: rows in single precision then go the same way.

    >>> float(_rounded_down(np.array([0.1]))[0]) <= 0.1
    True
    """
    single = values.astype(np.float32)
    return np.where(single > values, np.nextafter(single, np.float32(-np.inf)), single)
