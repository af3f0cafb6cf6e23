"""The judge: P(label right) by several cross-fitted views of the features and one model of the label noise.

The algorithm, in the order of `Judge._fit_rows`:

1. *Scan.* Every row gets a hash of its content, and with it a fold. Cross-fitting by content keeps copies of a row
   in one fold and finds the fold of a row again, in any order and on any machine.
2. *Views.* A view gives log-scores of all classes, each row's from the labels of other folds. `linear` and `kernel`
   are linear discriminants, of prepared rows and of their random Fourier features; they need nothing but moments of
   the folds. `neighbours` and `trees` need all rows in memory. How rows are prepared, the bandwidth of the kernel
   and the amounts of shrinkage are those under which the given labels are most likely, out of sample.
3. *Noise model.* EM on the given labels weights and calibrates the views and estimates the transition matrix.
4. *Correct.* Labels that are probably wrong are replaced by their posterior in the class sums, and steps 2 and 3
   are repeated while labels that were not used become more likely. Sums that judge a fold do not depend on its
   labels.
5. *Instance-dependent noise.* Models with several rates of it are averaged.
   If the features are those of a network that was trained on these labels, the alignments of FINE say whether the
   views see the noise at all; if not, they replace the views.
6. *Scores.* The score of a row is the log-odds of P(right label = given label | features, given label).

Moments are sums over rows, so the same code judges arrays in memory, files larger than memory and Dask clusters.
"""

from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone

from eigenclean.arrays import Array, Float64s, Ints, row_chunks
from eigenclean.deprecation import RenamedAttribute
from eigenclean.detect.block_detector import BlockDetector, BlockScores
from eigenclean.detect.blocks import Blocks, block_rows, split_rows
from eigenclean.detect.cuts import Cut
from eigenclean.detect.folds import canonical_order, content_folds, content_hash, folds_of_hashes
from eigenclean.detect.judge.block_statistics import (
    add_moments,
    log_odds,
    prepare,
    suggest,
    sum_right_per_class,
    zero_moments,
)
from eigenclean.detect.judge.candidate_blocks import MAX_SAMPLE, RowSample
from eigenclean.detect.judge.candidates import MAX_DENSE_CLASSES, Candidates
from eigenclean.detect.judge.discriminants import Discriminants, DiscriminantSolver
from eigenclean.detect.judge.guards import IN_SAMPLE, FitFacts, cautions
from eigenclean.detect.judge.in_sample import HIDDEN, AlignmentMargins
from eigenclean.detect.judge.instance_noise import AveragedNoiseModel, average_over_instance_noise
from eigenclean.detect.judge.rounds import FittedRound, RoundFitter
from eigenclean.detect.judge.transition_matrix import TransitionMatrix
from eigenclean.detect.judge.unit_rows import CACHE_LIMIT, RowMap, RowNormalizer, UnitRows, scan_block
from eigenclean.detect.judge.views import AUTO, FIXED_VIEWS, MOMENT_VIEWS
from eigenclean.detect.judge.views.base import FixedScores, FixedView, LabelledRows
from eigenclean.detect.judge.views.probabilities import Probabilities, check_probabilities, split_columns
from eigenclean.detect.judge.views.selection import (
    MAX_COMPARED_CLASSES,
    SAMPLE_ROWS,
    SampledRows,
    check_views,
    choose_kernel,
    choose_row_map,
    combines_probabilities,
    fitting_views,
)
from eigenclean.errors import InvalidOption
from eigenclean.evidence import EvidenceKind


class _Whole(NamedTuple):
    """All rows in memory, for views that need them at once."""

    features: Array
    codes: Ints
    weight: Float64s | None
    probabilities: Array | None = None  # predicted by the user's model, beside the features


class Judge(BlockDetector):
    """P(label right) from several views of the features, out of sample, with an unknown label noise.

    Class means and one shared covariance give linear discriminants: the model under which FINE's theorem holds,
    with all directions instead of one. Other views see what is not linear. Each row is scored by the labels of the
    folds that it is not in. A model of the noise, with a transition matrix for class-conditional errors and an
    unknown rate of instance-dependent errors, is fitted by EM on the given labels alone. The posterior of the right
    label gives P(right), the suggestion and the transition matrix.

    Args:
        views: names of views with commas between: linear, kernel, neighbours, trees. "auto" takes those that fit
            the data. "probabilities": X are probabilities of the sorted classes, predicted by another model. With
            more views, as in "auto,probabilities", they are the last K columns of X, beside the features.
        in_sample: whether the features are those of a network that was trained on these labels.
        n_folds: a row is scored by the other folds; its fold depends on its content alone.
        rounds: how often class sums are computed at most, the first time with the given labels and then with labels
            that are probably wrong corrected.
        threshold: labels are kept when P(right) is strictly above it.
        cut: "posterior"; the score is the log-odds of being right already.

    Attributes:
        classes_: sorted labels.
        transition_: K x K, P(given label | right label).
        view_weights_: for each view, its share of the scores.
        shrinkages_: for `linear` and `kernel`, the amount of shrinkage.
        instance_noise_rate_: expected share of the labels with instance-dependent noise.
        noise_rate_range_: interval of noise rates that the labels leave possible.
        n_rounds_: how often class sums were computed.
        cautions_: reasons not to believe the numbers, as sentences.

    Examples:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> wrong = np.arange(len(y)) % 20 == 0
        >>> verdict = Judge().judge(X, np.where(wrong, (y + 1) % 10, y))
        >>> bool(verdict.flagged[wrong].mean() > 0.9), bool(verdict.flagged[~wrong].mean() < 0.02)
        (True, True)
    """

    name: ClassVar[str] = "judge"
    # Features of a network change from epoch to epoch, and its last layer is linear.
    training_options: ClassVar[dict[str, Any]] = {"views": "linear", "in_sample": True}
    in_sample_options: ClassVar[dict[str, Any]] = {"in_sample": True}
    view_weights_: dict[str, float]
    shrinkages_: dict[str, float]
    instance_noise_rate_: float
    noise_rate_range_: tuple[float, float]
    n_rounds_: int
    cautions_: list[str]
    glances_ = RenamedAttribute("instance_noise_rate_")
    _row_maps: list[RowMap]
    _fixed_views: list[FixedView]
    _discriminants: list[Discriminants]
    _model: AveragedNoiseModel
    _overall_transition: TransitionMatrix
    _margins: AlignmentMargins | None

    def __init__(
        self,
        *,
        views: str = AUTO,
        in_sample: bool = False,
        n_folds: int = 5,
        rounds: int = 40,
        cut: str | Cut = "posterior",
        threshold: float = 0.5,
    ) -> None:
        self.views = views
        self.in_sample = in_sample
        self.n_folds = n_folds
        self.rounds = rounds
        self.cut = cut
        self.threshold = threshold

    @property
    def consumes(self) -> EvidenceKind:
        """Features, or probabilities if these are the only view."""
        return "probabilities" if str(self.views).strip() == "probabilities" else "features"

    def with_probabilities(self, has_features: bool) -> "Judge":
        """A copy for predicted probabilities, alone or in the last columns beside the features."""
        names = check_views(self.views, by="Judge")
        if names is not None and "probabilities" not in names:
            raise InvalidOption(
                f"Judge: views={self.views!r} leaves the predicted probabilities out; add the view probabilities"
            )
        judge: Judge = clone(self)
        if names is None:
            judge.set_params(views=f"{AUTO},probabilities" if has_features else "probabilities")
        return judge

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed; `fit` does so too."""
        super().check_options()
        check_views(self.views, by="Judge")
        if self.in_sample and "probabilities" in str(self.views):
            raise InvalidOption("Judge: in_sample is about features; predicted probabilities must be out of sample")
        if self.n_folds < 3:  # labels of a fold are corrected without it and another one
            raise InvalidOption(f"Judge: n_folds must be at least 3, got {self.n_folds}")
        if self.rounds < 1:
            raise InvalidOption(f"Judge: rounds must be at least 1, got {self.rounds}")

    def _learn_blocks(
        self, features: Blocks[Array], codes: Blocks[Ints], weights: Blocks[Float64s] | None = None
    ) -> BlockScores:
        if combines_probabilities(self.views):
            raise InvalidOption("Judge: view probabilities needs all rows in memory; use --engine memory")
        return self._fit_rows(features, codes, weights, None)

    def _learn(self, X: Array, codes: Ints, weight: Float64s | None) -> Float64s:
        features, probabilities = self._split_columns(X)
        n_rows = block_rows(features)
        weights = None if weight is None else split_rows(weight, n_rows)
        whole = _Whole(features, codes, weight, probabilities)
        block_scores = self._fit_rows(split_rows(features, n_rows), split_rows(codes, n_rows), weights, whole)
        return np.concatenate(list(block_scores.scores))

    def _split_columns(self, X: Array) -> tuple[Array, Array | None]:
        """The features, and the probabilities in the last columns if there are any."""
        if not combines_probabilities(self.views):
            return X, None
        return split_columns(X, len(self.classes_), self.feature_exponent_)

    def _fit_rows(
        self, features: Blocks[Array], codes: Blocks[Ints], weights: Blocks[Float64s] | None, whole: _Whole | None
    ) -> BlockScores:
        k, n_folds = len(self.classes_), self.n_folds
        scans = features.map(scan_block).persist()
        statistics = list(scans.map(attrgetter("statistics")))
        row_hashes = scans.map(attrgetter("row_hashes"))
        n = sum(block.n for block in statistics)
        weight: Blocks[Any] = features.from_items([None] * len(features)) if weights is None else weights

        names = check_views(self.views, by="Judge")
        if names == ("probabilities",):
            features.map(check_probabilities, args=(k,)).persist()
        chosen = RowSample.of(row_hashes, n)
        sample = self._sample(features, codes, weight, row_hashes, chosen)
        self._row_maps, moment_names = [], []
        base: RowMap | None = None
        if names != ("probabilities",):
            unit = base = RowNormalizer.of_blocks(features, statistics).projected(features, n)
            moment_names = [name for name in MOMENT_VIEWS if names is None or name in names]
            if k <= MAX_COMPARED_CLASSES:
                base = choose_row_map(sample, unit)
            elif names is None:
                moment_names = ["linear"]
            self._row_maps = [base if name == "linear" else choose_kernel(sample, base) for name in moment_names]
        self._fixed_views, fixed = self._fit_fixed_views(names, whole, base, features)
        left_out = list(fitting_views(n, self.n_features_in_)) if whole is None and names is None else []

        rows = features.map(prepare, row_hashes, args=(self._row_maps, n_folds))
        widths = [row_map.n_columns for row_map in self._row_maps]
        if n * sum(widths) * statistics[0].itemsize <= CACHE_LIMIT:
            rows = rows.persist()
        moments = rows.total(add_moments, codes, weight, initial=partial(zero_moments, n_folds, k, widths))
        solvers = [
            DiscriminantSolver(each.second, each.weights, getattr(row_map, "n_dimensions", None))
            for each, row_map in zip(moments, self._row_maps, strict=True)
        ]
        sample_rows = [sample.prepared(row_map) for row_map in self._row_maps]
        fitter = RoundFitter(
            rows, codes, fixed, weight, moments, solvers, sample_rows, sample.codes, chosen, n, k
        )  # fmt: skip
        last, self.n_rounds_ = fitter.fit(self.rounds)
        scores = self._finish(last, [*moment_names, *(view.name for view in self._fixed_views)], left_out)
        self._margins = None
        return self._compare_with_margins(scores, features, codes, weights) if self.in_sample else scores

    def _compare_with_margins(
        self,
        scores: BlockScores,
        features: Blocks[Array],
        codes: Blocks[Ints],
        weights: Blocks[Float64s] | None,
    ) -> BlockScores:
        """The scores of the views, or of the margins if these show more noise than the views see."""
        margins = AlignmentMargins.fit(
            features, codes, weights, self.classes_, self.n_features_in_, self.feature_exponent_
        )
        found = float(np.mean(expit(-np.concatenate(list(scores.scores)))))
        rates = [*margins.noise_rates.tolist(), *self.noise_rate_range_]
        self.noise_rate_range_ = min(rates), max(rates)
        self.cautions_ = [*self.cautions_, IN_SAMPLE]
        if found >= HIDDEN * margins.noise_rates[0]:
            return scores
        self._margins, self._overall_transition = margins, margins.transition(codes, len(self.classes_))
        self.view_weights_, self.instance_noise_rate_ = {"alignment": 1.0}, 0.0
        return margins.block_scores

    def _finish(self, last: FittedRound, view_names: list[str], left_out: list[str]) -> BlockScores:
        candidates = last.candidates
        self._discriminants = last.discriminants
        self._model = average_over_instance_noise(last.model, candidates)
        self.instance_noise_rate_ = self._model.instance_noise_rate
        self.noise_rate_range_ = self._model.noise_rate_range(candidates)
        self._overall_transition = self._model.overall_transition(candidates)
        counts, right = candidates.total(sum_right_per_class, args=(self._model,))
        facts = FitFacts(
            self.classes_,
            counts,
            counts - right,
            self.noise_rate_range_,
            last.model.log_likelihood,
            left_out,
            next((view.agreement for view in self._fixed_views if isinstance(view, Probabilities)), None),
            self.consumes,
        )
        self.cautions_ = cautions(facts)
        self.shrinkages_ = dict(zip(view_names, last.shrinkages, strict=False))
        shares = self._model.scales * candidates.subsample(MAX_SAMPLE).spreads
        shares /= max(float(shares.sum()), 1e-300)
        self.view_weights_ = {name: float(share) for name, share in zip(view_names, shares, strict=True)}
        args = (self._model,)
        tables = candidates.blocks
        return BlockScores(
            tables.map(log_odds, args=args), lambda flagged, cut: tables.map(suggest, flagged, args=args)
        )

    def _sample(
        self,
        features: Blocks[Array],
        codes: Blocks[Ints],
        weight: Blocks[Any],
        row_hashes: Blocks[NDArray[np.uint64]],
        chosen: RowSample,
    ) -> SampledRows:
        """Rows on which choices are made, the same for all engines."""
        k = len(self.classes_)
        rows = features.from_items(chosen.first(SAMPLE_ROWS, len(features)))
        parts = list(features.map(_take, codes, weight, row_hashes, rows))
        taken, labels, weights, hashes = zip(*parts, strict=True)
        order = canonical_order(np.concatenate(hashes), np.concatenate(labels))
        return SampledRows(
            np.concatenate(taken)[order],
            np.concatenate(labels)[order],
            folds_of_hashes(np.concatenate(hashes)[order], self.n_folds),
            None if weights[0] is None else np.concatenate(weights)[order],
            k,
            self.n_folds,
        )

    def _fit_fixed_views(
        self, names: tuple[str, ...] | None, whole: _Whole | None, base: RowMap | None, features: Blocks[Array]
    ) -> tuple[list[FixedView], Blocks[FixedScores]]:
        if whole is None:
            asked = [name for name in names or () if name in FIXED_VIEWS]
            if asked:
                raise InvalidOption(
                    f"Judge: view {asked[0]} needs all rows in memory; use --engine memory or views=linear,kernel"
                )
            return [], features.from_items([FixedScores()] * len(features))
        hashes = content_hash(whole.features)
        folds, k = folds_of_hashes(hashes, self.n_folds), len(self.classes_)
        order = canonical_order(hashes, whole.codes)
        labelled = LabelledRows(
            whole.features[order],
            whole.codes[order],
            folds[order],
            None if whole.weight is None else whole.weight[order],
            k,
            self.n_folds,
            RowNormalizer.of(whole.features) if base is None else base,
            None if whole.probabilities is None else whole.probabilities[order],
        )
        wanted = [*fitting_views(*whole.features.shape)] if names is None else [*names]
        if whole.probabilities is not None and names is None:
            wanted.append("probabilities")
        views = [FIXED_VIEWS[name].fit(labelled) for name in wanted if name in FIXED_VIEWS]
        nested = bool(self._row_maps) and k <= MAX_DENSE_CLASSES
        scores = FixedScores.of(views, whole.features, folds, nested, whole.probabilities)
        chunks = row_chunks(len(folds), 1, block_rows(whole.features))
        return views, features.from_items([scores.take(chunk) for chunk in chunks])

    def _score(self, X: Array, codes: Ints) -> Float64s:
        if self._margins is not None:
            return self._margins.log_odds(X, codes)
        scores = np.empty(len(X))
        for chunk in row_chunks(len(X), 1, block_rows(X)):
            scores[chunk] = self._model.log_odds(self._candidates(X[chunk], codes[chunk]))
        return scores

    def _suggest(self, X: Array, codes: Ints, rows: Ints, cut: Cut) -> tuple[Ints, Float64s]:
        if self._margins is not None:
            return self._margins.suggest(X, codes, rows)
        best, share = np.empty(len(rows), dtype=np.intp), np.empty(len(rows))
        for chunk in row_chunks(len(rows), 1, block_rows(X)):
            candidates = self._candidates(X[rows[chunk]], codes[rows[chunk]])
            best[chunk], share[chunk] = suggest(candidates, np.arange(len(candidates)), self._model)
        return best, share

    def _candidates(self, X: Array, codes: Ints) -> Candidates:
        features, probabilities = self._split_columns(X)
        folds = content_folds(features, self.n_folds)
        rows = [UnitRows(features, folds, row_map) for row_map in self._row_maps]
        fixed = FixedScores.of(self._fixed_views, features, folds, probabilities=probabilities)
        return Candidates.of(list(zip(self._discriminants, rows, strict=True)), codes, fixed.tables)

    @property
    def transition_(self) -> Float64s:
        """K x K, P(given label | right label)."""
        return self._overall_transition.to_dense()

    def _made_by(self, cut: Cut) -> dict[str, Any]:
        record = super()._made_by(cut)
        record["instance_noise_rate"], record["rounds"] = float(self.instance_noise_rate_), self.n_rounds_
        record["views"] = {name: round(weight, 4) for name, weight in self.view_weights_.items()}
        record["noise_rate_range"] = [round(rate, 6) for rate in self.noise_rate_range_]
        record["cautions"] = list(self.cautions_)
        if len(self.classes_) <= 100:
            record["transition"] = np.round(self.transition_, 4).tolist()
        return record


def _take(
    features: Array, codes: Ints, weight: Float64s | None, hashes: NDArray[np.uint64], rows: Ints
) -> tuple[Array, Ints, Float64s | None, NDArray[np.uint64]]:
    return features[rows], codes[rows], None if weight is None else weight[rows], hashes[rows]
