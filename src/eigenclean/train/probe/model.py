"""The classifier of the probe: heads on prepared rows, and how much each of them counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eigenclean.arrays import Array, Float64s, Ints
from eigenclean.detect.judge.row_maps import StandardizedColumns, typical_distance
from eigenclean.detect.judge.unit_rows import RowMap, RowNormalizer
from eigenclean.seeds import tagged_generator
from eigenclean.train.probe.ridge import RidgeFit, RidgeHead, fit_ridge
from eigenclean.train.probe.rows import FourierRows, describe_rows, hash_check, rows_from, verify_hash
from eigenclean.train.probe.stacking import Stack, fit_stack
from eigenclean.train.probe.targets import JudgedLabels
from eigenclean.train.probe.trees import MAX_COLUMNS, MAX_ROWS, Forest, fit_forest

BANDWIDTHS = (0.25, 0.5, 1.0, 2.0)  # of the kernel, in typical distances between rows
MAX_STANDARDISED = 2048  # columns
MAX_KERNEL_COLUMNS = 512  # features of an encoder with more columns are linear enough, and wide
_N_FOURIER, _N_TRIAL, _MIN_FOURIER = 1024, 256, 64
_TRIAL_ROWS = 4000
_TRIAL_SHRINKAGES = (0.01, 0.1, 1.0)
_LEAST_SHARE = 0.02  # of all scores: a head that counts less is left out

Head = RidgeHead | Forest


class ProbeFit(NamedTuple):
    """A fitted model, and probabilities of the classes for each row by heads that did not learn from it."""

    model: "ProbeModel"
    left_out: Float64s


@dataclass(frozen=True, eq=False)
class ProbeModel:
    """Probabilities of the classes from features, without scikit-learn or torch.

    Attributes:
        heads: by name.
        stack: how they are combined.
        n_columns: of the features.
    """

    heads: Mapping[str, Head]
    stack: Stack
    n_columns: int

    def predict_proba(self, features: Array) -> Float64s:
        """Probabilities of the classes, n x K."""
        return self.stack.probabilities([head.scores(features) for head in self.heads.values()])

    def predict_codes(self, features: Array) -> Ints:
        """Number of the most likely class of each row."""
        return np.asarray(self.predict_proba(features).argmax(axis=1))

    def describe(self) -> dict[str, Any]:
        """Heads and shrinkages, for people."""
        return {
            name: {"shrinkage": head.shrinkage, "rows": describe_rows(head.row_map)[0]["kind"]}
            if isinstance(head, RidgeHead)
            else {"trees": len(head.roots)}
            for name, head in self.heads.items()
        }

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """A record for JSON, and arrays by name."""
        record: dict[str, Any] = {"n_columns": self.n_columns, "loss": self.stack.loss, "heads": []}
        arrays: dict[str, Array] = {"stack.scales": self.stack.scales, "stack.offsets": self.stack.offsets}
        arrays |= hash_check(self.n_columns)
        for name, head in self.heads.items():
            entry: dict[str, Any] = {"kind": "trees"}
            if isinstance(head, Forest):
                values = head.arrays()
            else:
                rows, values = describe_rows(head.row_map)
                entry = {"kind": "linear", "rows": rows, "shrinkage": head.shrinkage}
                values |= {"directions": head.directions, "offsets": head.offsets}
            record["heads"].append({"name": name, **entry})
            arrays |= {f"{name}.{key}": value for key, value in values.items()}
        return record, arrays

    @classmethod
    def from_arrays(cls, record: Mapping[str, Any], arrays: Mapping[str, Array], n_classes: int) -> "ProbeModel":
        """The model that `to_arrays` described; a ValueError or KeyError when the arrays do not fit together."""
        stack = Stack(arrays["stack.scales"], arrays["stack.offsets"], float(record["loss"]))
        n_columns, heads = int(record["n_columns"]), {}
        verify_hash(arrays, n_columns)
        for entry in record["heads"]:
            prefix = f"{entry['name']}."
            values = {key[len(prefix) :]: value for key, value in arrays.items() if key.startswith(prefix)}
            heads[str(entry["name"])] = _head_from(entry, values)
        if stack.scales.shape != (len(heads),) or stack.offsets.shape != (n_classes,):
            raise ValueError("its arrays do not fit to its heads and classes")
        for array in arrays.values():
            if not np.isfinite(array).all():
                raise ValueError("its arrays are not finite")
        model = cls(heads, stack, n_columns)
        if model.predict_proba(np.zeros((1, n_columns), dtype=np.float32)).shape != (1, n_classes):
            raise ValueError("its heads do not fit to its classes")
        return model


def fit_probe(features: Array, judged: JudgedLabels, names: Sequence[str] | None = None, seed: int = 0) -> ProbeFit:
    """Fit heads to judged labels, and weight them by how well they predict rows that they did not learn from.

    Several heads together see more than the judge saw, so the labels are judged once more, by what the heads
    predict for left-out rows, and the heads are fitted to these labels. One head alone would only confirm itself.
    """
    head_names = _fitting_heads(*features.shape) if names is None else names
    fit = _fit_heads(features, judged, head_names, seed)
    return (
        fit if len(head_names) == 1 else _fit_heads(features, judged.reconsidered(fit.left_out), head_names, seed)
    )


def _fit_heads(features: Array, judged: JudgedLabels, head_names: Sequence[str], seed: int) -> ProbeFit:
    shares, weight = judged.soft()
    fits: dict[str, tuple[Head, Float64s]] = {}
    linear = _fit_linear(features, shares, weight) if {"linear", "kernel"} & set(head_names) else None
    if linear is not None and "linear" in head_names:
        fits["linear"] = linear.head, linear.left_out_scores
    if linear is not None and "kernel" in head_names:
        kernel = _fit_kernel(features, linear.head.row_map, shares, weight)
        fits["kernel"] = kernel.head, kernel.left_out_scores
    if "trees" in head_names:
        forest = fit_forest(features, judged.codes, judged.weight, judged.n_classes, seed)
        fits["trees"] = forest.head, forest.left_out_scores
    stack = fit_stack([scores for _, scores in fits.values()], shares, weight)
    fits, stack = _without_idle(fits, stack, shares, weight)
    model = ProbeModel({name: head for name, (head, _) in fits.items()}, stack, features.shape[1])
    return ProbeFit(model, stack.probabilities([scores for _, scores in fits.values()]))


def _fitting_heads(n: int, d: int) -> list[str]:
    names = ["linear"]
    if d <= MAX_KERNEL_COLUMNS:
        names.append("kernel")
    if d <= MAX_COLUMNS and n <= MAX_ROWS:
        names.append("trees")
    return names


def _fit_linear(features: Array, shares: Float64s, weight: Float64s) -> RidgeFit:
    """The head on rows of unit length or on standardised columns, whichever predicts left-out rows better."""
    row_maps: list[RowMap] = [RowNormalizer.of(features)]
    if features.shape[1] <= MAX_STANDARDISED:
        row_maps.append(StandardizedColumns.of(features))
    if len(row_maps) > 1 and len(features) > _TRIAL_ROWS:
        rows = _sample(len(features))
        trials = [fit_ridge(features[rows], each, shares[rows], weight[rows]).error for each in row_maps]
        row_maps = [row_maps[int(np.argmin(trials))]]
    return min((fit_ridge(features, each, shares, weight) for each in row_maps), key=lambda fit: fit.error)


def _fit_kernel(features: Array, base: RowMap, shares: Float64s, weight: Float64s) -> RidgeFit:
    """The head on Fourier features of prepared rows, with the bandwidth that predicts left-out rows best."""
    rows = _sample(len(features))
    distance = typical_distance(base.apply(features[rows]))
    n_features = min(_N_FOURIER, max(_MIN_FOURIER, len(features) // 2 * 2))

    def error(bandwidth: float) -> float:
        trial = FourierRows.draw(base, bandwidth * distance, min(_N_TRIAL, n_features))
        return fit_ridge(features[rows], trial, shares[rows], weight[rows], _TRIAL_SHRINKAGES).error

    best = min(BANDWIDTHS, key=error)
    return fit_ridge(features, FourierRows.draw(base, best * distance, n_features), shares, weight)


def _sample(n: int) -> Any:
    if n <= _TRIAL_ROWS:
        return slice(None)
    return np.sort(tagged_generator(0, "trial rows").choice(n, _TRIAL_ROWS, replace=False))


def _without_idle(
    fits: dict[str, tuple[Head, Float64s]], stack: Stack, shares: Float64s, weight: Float64s
) -> tuple[dict[str, tuple[Head, Float64s]], Stack]:
    """Leave out the heads that hardly count, so that they are neither saved nor computed."""
    spreads = np.array(
        [scale * scores.std() for scale, (_, scores) in zip(stack.scales, fits.values(), strict=True)]
    )
    is_used = spreads > _LEAST_SHARE * max(float(spreads.sum()), 1e-12)
    if is_used.all() or not is_used.any():
        return fits, stack
    fits = {name: fit for (name, fit), keep in zip(fits.items(), is_used, strict=True) if keep}
    return fits, fit_stack([scores for _, scores in fits.values()], shares, weight)


def _head_from(entry: Mapping[str, Any], values: Mapping[str, Array]) -> Head:
    if entry["kind"] == "trees":
        return Forest.from_arrays(values)
    if entry["kind"] != "linear":
        raise ValueError(f"a head is of the kind {entry['kind']!r}, which is not known here")
    row_map = rows_from(entry["rows"], values)
    return RidgeHead(row_map, values["directions"], values["offsets"], float(entry["shrinkage"]))
