"""Fitting the judge on rows in blocks: the scan, the choice of views, and a fit for each assignment to folds."""

from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigenclean.arrays import Array, Float64s, Ints, row_chunks
from eigenclean.detect.blocks import Blocks, block_rows
from eigenclean.detect.folds import canonical_order, content_hash, folds_of_hashes
from eigenclean.detect.group_folds import GroupFolds
from eigenclean.detect.judge.block_statistics import add_moments, prepare, zero_moments
from eigenclean.detect.judge.candidate_blocks import RowSample
from eigenclean.detect.judge.candidates import MAX_DENSE_CLASSES
from eigenclean.detect.judge.discriminants import DiscriminantSolver
from eigenclean.detect.judge.instance_noise import average_over_instance_noise
from eigenclean.detect.judge.null_model import model_without_noise, predicts_labels
from eigenclean.detect.judge.repeats import FittedRepeat, Repeat
from eigenclean.detect.judge.rounds import RoundFitter
from eigenclean.detect.judge.unit_rows import CACHE_LIMIT, RowMap, RowNormalizer, scan_block
from eigenclean.detect.judge.views import FIXED_VIEWS, MOMENT_VIEWS
from eigenclean.detect.judge.views.base import FixedScores, FixedView, LabelledRows
from eigenclean.detect.judge.views.probabilities import check_probabilities
from eigenclean.detect.judge.views.selection import (
    MAX_COMPARED_CLASSES,
    SAMPLE_ROWS,
    SampledRows,
    choose_kernel,
    choose_row_map,
    fitting_views,
)
from eigenclean.errors import InvalidOption

_ONLY_PROBABILITIES = ("probabilities",)


class WholeRows(NamedTuple):
    """All rows in memory, for views that need them at once."""

    features: Array
    codes: Ints
    weight: Float64s | None
    probabilities: Array | None = None  # predicted by the user's model, beside the features

    def take(self, rows: Ints) -> "WholeRows":
        """These rows, in this order."""
        weight = None if self.weight is None else self.weight[rows]
        probabilities = None if self.probabilities is None else self.probabilities[rows]
        return WholeRows(self.features[rows], self.codes[rows], weight, probabilities)


class JudgeFitter:
    """Fits the judge on the same rows, once for each assignment to folds.

    What does not depend on the folds is computed once: the scan of the rows and how they are prepared.

    Args:
        features: rows in blocks.
        codes: given classes.
        weights: weight of each row; None for equal weights.
        whole: all rows, if they are in memory.
        names: of the views; None takes those that fit the data.
        k: number of classes.
        n_folds: number of folds.
        max_rounds: how often class sums are computed at most.
        groups: assigns the rows of groups to folds; None if rows are assigned by their content.
        known: right classes that people have verified; None if there are none.
        row_map: how rows are prepared for the view `linear`, which is then the only one; None chooses.

    Attributes:
        n: number of rows.
        base: how rows are prepared for the view `linear`; None without features.
        views_left_out: names of views that would fit the data but need all rows in memory.
    """

    def __init__(
        self,
        features: Blocks[Array],
        codes: Blocks[Ints],
        weights: Blocks[Float64s] | None,
        whole: WholeRows | None,
        *,
        names: tuple[str, ...] | None,
        k: int,
        n_features: int,
        n_folds: int,
        max_rounds: int,
        groups: GroupFolds | None = None,
        known: Blocks[Ints] | None = None,
        row_map: RowMap | None = None,
    ) -> None:
        self._groups, self._known = groups, known
        self._assign = folds_of_hashes if groups is None else groups.folds
        self._features, self._codes, self._whole = features, codes, whole
        self._names, self._k, self._n_folds, self._max_rounds = names, k, n_folds, max_rounds
        scans = features.map(scan_block).persist()
        statistics = list(scans.map(attrgetter("statistics")))
        self._itemsize = statistics[0].itemsize
        self._row_hashes = scans.map(attrgetter("row_hashes"))
        self.n = sum(block.n for block in statistics)
        self._weight: Blocks[Any] = features.from_items([None] * len(features)) if weights is None else weights
        self.views_left_out = list(fitting_views(self.n, n_features)) if whole is None and names is None else []

        if names == _ONLY_PROBABILITIES:
            features.map(check_probabilities, args=(k,)).persist()
        self._chosen = RowSample.of(self._row_hashes, self.n)
        self._row_maps: list[RowMap] = []
        self._moment_names: list[str] = []
        self.base: RowMap | None = row_map
        if row_map is not None:
            self._row_maps, self._moment_names = [row_map], ["linear"]
        elif names != _ONLY_PROBABILITIES:
            self._prepare_moment_views(RowNormalizer.of_blocks(features, statistics).projected(features, self.n))

    def _prepare_moment_views(self, unit: RowNormalizer) -> None:
        """Choose how rows are prepared, by the likelihood of the labels of a sample."""
        sample, self.base = self._sample(0), unit
        self._moment_names = [name for name in MOMENT_VIEWS if self._names is None or name in self._names]
        if self._k <= MAX_COMPARED_CLASSES:
            self.base = choose_row_map(sample, unit)
        elif self._names is None:
            self._moment_names = ["linear"]
        base = self.base
        self._row_maps = [base if name == "linear" else choose_kernel(sample, base) for name in self._moment_names]

    def view_names(self, fixed_views: Sequence[FixedView]) -> list[str]:
        """Names of all views, in the order of their scores."""
        return [*self._moment_names, *(view.name for view in fixed_views)]

    @property
    def sample_features(self) -> Array:
        """Some rows as they are given, the same in whatever order rows come."""
        return self._sample(0).features

    def fit(self, repeat: int) -> FittedRepeat:
        """Fit views and noise model under one assignment of rows to folds."""
        fixed_views, fixed = self._fit_fixed_views(repeat)
        widths = [row_map.n_columns for row_map in self._row_maps]
        kept = kept_views([self.n * width * self._itemsize for width in widths], self._features.in_memory)
        args = (self._row_maps, self._n_folds, repeat, self._groups, kept)
        rows = self._features.map(prepare, self._row_hashes, args=args)
        if any(kept):
            rows = rows.persist()
        moments = rows.total(
            add_moments, self._codes, self._weight, initial=partial(zero_moments, self._n_folds, self._k, widths)
        )
        solvers = [
            DiscriminantSolver(each.second, each.weights, getattr(row_map, "n_dimensions", None))
            for each, row_map in zip(moments, self._row_maps, strict=True)
        ]
        sample = self._sample(repeat)
        sample_rows = [sample.prepared(row_map) for row_map in self._row_maps]
        fitter = RoundFitter(
            rows, self._codes, fixed, self._weight, moments, solvers, sample_rows, sample.codes, self._chosen,
            self.n, self._k, self._known,
        )  # fmt: skip
        last, n_rounds = fitter.fit(self._max_rounds)
        predicts = predicts_labels(last.model, last.candidates)
        model = (
            average_over_instance_noise(last.model, last.candidates)
            if predicts
            else model_without_noise(last.candidates)
        )
        learned = Repeat(
            repeat, self._n_folds, self._row_maps, last.discriminants, fixed_views, model, self._groups
        )
        return FittedRepeat(learned, last.candidates, last.shrinkages, n_rounds, predicts)

    def _sample(self, repeat: int) -> SampledRows:
        """Rows on which choices are made, the same for all engines."""
        rows = self._features.from_items(self._chosen.first(SAMPLE_ROWS, len(self._features)))
        blocks = list(self._features.map(_take, self._codes, self._weight, self._row_hashes, rows))
        taken, labels, weights, hashes = zip(*blocks, strict=True)
        order = canonical_order(np.concatenate(hashes), np.concatenate(labels))
        return SampledRows(
            np.concatenate(taken)[order],
            np.concatenate(labels)[order],
            self._assign(np.concatenate(hashes)[order], self._n_folds, repeat),
            None if weights[0] is None else np.concatenate(weights)[order],
            self._k,
            self._n_folds,
        )

    def _fit_fixed_views(self, repeat: int) -> tuple[list[FixedView], Blocks[FixedScores]]:
        names, whole, features = self._names, self._whole, self._features
        if whole is None:
            asked = [name for name in names or () if name in FIXED_VIEWS]
            if asked:
                raise InvalidOption(
                    f"Judge: view {asked[0]} needs all rows in memory; use --engine memory or views=linear,kernel"
                )
            return [], features.from_items([FixedScores()] * len(features))
        wanted = [*fitting_views(*whole.features.shape)] if names is None else [*names]
        if whole.probabilities is not None and names is None:
            wanted.append("probabilities")
        wanted = [name for name in wanted if name in FIXED_VIEWS]
        if not wanted:
            return [], features.from_items([FixedScores()] * len(features))
        hashes = content_hash(whole.features)
        folds = self._assign(hashes, self._n_folds, repeat)
        order = canonical_order(hashes, whole.codes)
        labelled = LabelledRows(
            whole.features[order],
            whole.codes[order],
            folds[order],
            None if whole.weight is None else whole.weight[order],
            self._k,
            self._n_folds,
            RowNormalizer.of(whole.features) if self.base is None else self.base,
            None if whole.probabilities is None else whole.probabilities[order],
        )
        views = [FIXED_VIEWS[name].fit(labelled) for name in wanted]
        nested = bool(self._row_maps) and self._k <= MAX_DENSE_CLASSES
        scores = FixedScores.of(views, whole.features, folds, nested, whole.probabilities)
        chunks = row_chunks(len(folds), 1, block_rows(whole.features))
        return views, features.from_items([scores.take(chunk) for chunk in chunks])


def kept_views(sizes: Sequence[int], in_memory: bool) -> list[bool]:
    """Of which views prepared rows are kept, given their bytes: up to `CACHE_LIMIT`, the last ones first.

    The last one is the kernel, whose rows cost most. Rows that are not in memory would have to be kept as well, so
    then it is all or nothing.

    >>> kept_views([1 << 30, 1 << 28], in_memory=True), kept_views([1 << 30, 1 << 28], in_memory=False)
    ([False, True], [False, False])
    """
    free, kept = CACHE_LIMIT, [False] * len(sizes)
    for view in reversed(range(len(sizes))):
        kept[view] = sizes[view] <= free
        free -= sizes[view] if kept[view] else 0
    return kept if in_memory or all(kept) else [False] * len(sizes)


def _take(
    features: Array, codes: Ints, weight: Float64s | None, hashes: NDArray[np.uint64], rows: Ints
) -> tuple[Array, Ints, Float64s | None, NDArray[np.uint64]]:
    return features[rows], codes[rows], None if weight is None else weight[rows], hashes[rows]
