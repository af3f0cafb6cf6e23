"""The judge: P(label right) by several cross-fitted views of the features and one model of the label noise.

The algorithm, of which `JudgeFitter` does the steps 1 to 5:

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
5. *Instance-dependent noise.* Models with several rates of it are averaged; where people have decided about rows,
   also models in which labels follow the features more closely than right ones do. Few rows are assigned to folds
   several times, and probabilities are averaged. Where a network that was trained on these labels gave the
   features, the first eigenvectors of the classes say whether the views see the noise at all, see `in_sample`.
6. *Open-set noise.* Groups of rows whose labels look random to every view belong to none of the classes, see
   `open_set`.
7. *Scores.* The score of a row is the log-odds of P(right label = given label | features, given label).

Moments are sums over rows, so the same code judges arrays in memory, files larger than memory and Dask clusters.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit
from sklearn.base import clone

from eigenclean.arrays import Array, Float64s, Ints, row_chunks
from eigenclean.deprecation import RenamedAttribute
from eigenclean.detect.block_detector import BlockDetector, BlockScores
from eigenclean.detect.block_order import block_order, by_content, in_order
from eigenclean.detect.blocks import Blocks, block_rows, split_rows
from eigenclean.detect.cuts import Cut
from eigenclean.detect.decisions import Decision
from eigenclean.detect.folds import content_hash
from eigenclean.detect.group_folds import GroupFolds
from eigenclean.detect.judge.candidates import Candidates
from eigenclean.detect.judge.fitting import JudgeFitter, WholeRows
from eigenclean.detect.judge.guards import IN_SAMPLE, FitFacts, cautions, views_disagree
from eigenclean.detect.judge.in_sample import ALIGNMENT, LEADING, VIEWS, AlignmentMargins, choose_judgement
from eigenclean.detect.judge.instance_noise import AveragedNoiseModel
from eigenclean.detect.judge.open_set.component import NoneComponent, find_none_component, lower_log_odds
from eigenclean.detect.judge.repeats import (
    FittedRepeat,
    Repeat,
    default_repeats,
    log_odds,
    overall_transition,
    suggest,
    with_all_repeats,
)
from eigenclean.detect.judge.transition_matrix import TransitionMatrix
from eigenclean.detect.judge.view_agreement import comparable_rates, estimates_by_view
from eigenclean.detect.judge.views import AUTO
from eigenclean.detect.judge.views.probabilities import ProbabilityView, split_columns
from eigenclean.detect.judge.views.selection import check_views, combines_probabilities
from eigenclean.errors import InvalidOption
from eigenclean.evidence import EvidenceKind, VerifiedLabels
from eigenclean.verdict import Verdict


class Judge(BlockDetector):
    """P(label right) from several views of the features, out of sample, with an unknown label noise.

    Class means and one shared covariance give linear discriminants: the model under which FINE's theorem holds,
    with all directions instead of one. Other views see what is not linear. Each row is scored by the labels of the
    folds that it is not in. A noise model, with a transition matrix for class-conditional errors and an unknown
    rate of instance-dependent ones, is fitted by EM. Its posterior gives P(right) and the suggestion.

    Args:
        views: names of views with commas between: linear, kernel, neighbours, trees. "auto" takes those that fit
            the data. "probabilities": X are probabilities of the sorted classes, predicted by another model. With
            more views, as in "auto,probabilities", they are the last K columns of X, beside the features.
        in_sample: whether the features are those of a network that was trained on these labels.
        n_folds: a row is scored by the other folds; its fold depends on its content alone.
        n_repeats: how often rows are assigned to folds and judged; probabilities are averaged. None: several times
            if rows are few.
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
        n_none_clusters_: number of groups of rows that belong to none of the classes. They are looked for if all
            rows are in memory, `neighbours` is among the views and there are from 4 to 190 classes.
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
    training_options: ClassVar[dict[str, Any]] = {"views": "linear", "in_sample": True, "n_repeats": 1}
    # Neighbours and trees can explain as overlap of classes what is noise of a whole class. A classifier gains from
    # the other explanation, and these views are sums over rows.
    probe_options: ClassVar[dict[str, Any]] = {"views": "linear,kernel"}
    in_sample_options: ClassVar[dict[str, Any]] = {"in_sample": True}
    view_weights_: dict[str, float]
    shrinkages_: dict[str, float]
    instance_noise_rate_: float
    noise_rate_range_: tuple[float, float]
    n_rounds_: int
    n_none_clusters_: int
    cautions_: list[str]
    glances_ = RenamedAttribute("instance_noise_rate_")
    _repeats: list[Repeat]
    _overall_transition: TransitionMatrix
    _margins: AlignmentMargins | None
    _none: NoneComponent | None = None
    _groups: Any = None  # of the rows that are being fitted
    _fitted: BlockScores | None = None  # of the rows that are being fitted and judged
    _verified: VerifiedLabels | None = None

    def __init__(
        self,
        *,
        views: str = AUTO,
        in_sample: bool = False,
        n_folds: int = 5,
        n_repeats: int | None = None,
        rounds: int = 40,
        cut: str | Cut = "posterior",
        threshold: float = 0.5,
    ) -> None:
        self.views = views
        self.in_sample = in_sample
        self.n_folds = n_folds
        self.n_repeats = n_repeats
        self.rounds = rounds
        self.cut = cut
        self.threshold = threshold

    @property
    def consumes(self) -> EvidenceKind:
        """Features, or probabilities if these are the only view."""
        return "probabilities" if str(self.views).strip() == "probabilities" else "features"

    def with_probabilities(self, has_features: bool) -> "Judge":
        """A copy for predicted probabilities, alone or beside the features."""
        names = check_views(self.views, by="Judge")
        if names is not None and "probabilities" not in names:
            raise InvalidOption(
                f"Judge: views={self.views!r} leaves the predicted probabilities out; add the view probabilities"
            )
        judge: Judge = clone(self)
        if names is None:
            judge.views = f"{AUTO},probabilities" if has_features else "probabilities"
        return judge

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn what each class looks like; see `Detector.fit`.

        Rows of one of the ``groups`` (one value per row: a scene, a patient, a user) are in one fold, so that none
        of them is judged by others that belong to it.
        """
        with self._knowing(groups):
            return super().fit(X, y, sample_weight)

    def fit_judge(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        ids: Any = None,
        decision: Decision | None = None,
        groups: Any = None,
    ) -> Verdict:
        """The same as `fit` and then `judge` on these samples, but the samples are scored only once."""
        with self._knowing(groups):
            return super().fit_judge(X, y, sample_weight, ids, decision)

    @contextmanager
    def _knowing(self, groups: Any, verified: VerifiedLabels | None = None) -> Iterator[None]:
        """While rows are fitted: which of them belong together, and what people know about them."""
        self._groups, self._verified = groups, verified
        try:
            yield
        finally:
            self._groups = self._verified = self._fitted = None

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed; `fit` does so too."""
        super().check_options()
        check_views(self.views, by="Judge")
        if self.in_sample and "probabilities" in str(self.views):
            raise InvalidOption("Judge: in_sample is about features; predicted probabilities must be out of sample")
        if self.n_folds < 3:  # labels of a fold are corrected without it and another one
            raise InvalidOption(f"Judge: n_folds must be at least 3, got {self.n_folds}")
        if self.n_repeats is not None and self.n_repeats < 1:
            raise InvalidOption(f"Judge: n_repeats must be at least 1, got {self.n_repeats}")
        if self.rounds < 1:
            raise InvalidOption(f"Judge: rounds must be at least 1, got {self.rounds}")

    def _learn_blocks(
        self, features: Blocks[Array], codes: Blocks[Ints], weights: Blocks[Float64s] | None = None
    ) -> BlockScores:
        if combines_probabilities(self.views):
            raise InvalidOption("Judge: view probabilities needs all rows in memory; use --engine memory")
        known = None
        if self._verified is not None:
            ends = np.cumsum(list(codes.map(len)))
            known = features.from_items(np.split(self._verified.codes(self.classes_), ends[:-1]))
        return self._fit_rows(features, codes, weights, None, None, known)

    def _learn(self, X: Array, codes: Ints, weight: Float64s | None) -> Float64s:
        features, probabilities = self._split_columns(X)
        n_rows = block_rows(features)
        weights = None if weight is None else split_rows(weight, n_rows)
        whole = WholeRows(features, codes, weight, probabilities)
        groups = known = None
        if self._verified is not None:
            known = split_rows(self._verified.codes(self.classes_), n_rows)
        if self._groups is not None:
            groups = GroupFolds.of(content_hash(features), self._groups, self.n_folds, by="Judge")
        block_scores = self._fit_rows(
            split_rows(features, n_rows), split_rows(codes, n_rows), weights, whole, groups, known
        )
        self._fitted = block_scores
        scores = np.concatenate(list(block_scores.scores))
        p_none = self._none_probability(X, codes)
        if p_none is None:
            return scores
        lowered = lower_log_odds(scores, p_none)
        added = float(np.mean(expit(scores) - expit(lowered)))
        self.noise_rate_range_ = self.noise_rate_range_[0] + added, min(self.noise_rate_range_[1] + added, 1.0)
        return lowered

    def _none_probability(self, X: Array, codes: Ints) -> Float64s | None:
        return None if self._none is None else self._none.probability(self._split_columns(X)[0], codes)

    @property
    def none_component(self) -> NoneComponent | None:
        """What was learned about samples that belong to none of the classes; None if there are none."""
        return self._none

    def _split_columns(self, X: Array) -> tuple[Array, Array | None]:
        """The features, and the probabilities in the last columns if there are any."""
        if not combines_probabilities(self.views):
            return X, None
        return split_columns(X, len(self.classes_), self.feature_exponent_)

    def _fit_rows(
        self,
        features: Blocks[Array],
        codes: Blocks[Ints],
        weights: Blocks[Float64s] | None,
        whole: WholeRows | None,
        groups: GroupFolds | None = None,
        known: Blocks[Ints] | None = None,
    ) -> BlockScores:
        k = len(self.classes_)
        order = block_order(features, codes)
        if order is not None:
            codes, whole = in_order(codes, order), None if whole is None else whole.take(order)
            known = None if known is None else in_order(known, order)
            weights = None if weights is None else in_order(weights, order)
            features = in_order(features, order) if whole is None else features.from_items([whole.features])
        new_fitter = partial(
            JudgeFitter, features, codes, weights, k=k, n_folds=self.n_folds, n_features=self.n_features_in_,
            max_rounds=self.rounds, groups=groups, known=known,
        )  # fmt: skip
        fitter = new_fitter(whole, names=check_views(self.views, by="Judge"))
        n_repeats = default_repeats(fitter.n, k) if self.n_repeats is None else self.n_repeats
        fits = [fitter.fit(repeat) for repeat in range(n_repeats)]
        self._margins = self._none = None
        scores = self._finish(fits, fitter)
        if self.in_sample:
            margins = AlignmentMargins.fit(features, codes, weights, self)
            trusted, fits, fitter = choose_judgement(fits, fitter, scores, margins, new_fitter, features)
            scores = self._finish(fits, fitter) if trusted == LEADING else scores
            scores = self._finish_in_sample(scores, trusted, margins, codes)
        elif whole is not None:
            self._none = find_none_component(
                whole, fits[0], fitter, self.transition_, max_rounds=self.rounds, groups=groups, known=known
            )
        self.n_none_clusters_ = 0 if self._none is None else self._none.n_clusters
        return scores if order is None else scores.in_original_order(order)

    def _finish_in_sample(
        self, scores: BlockScores, trusted: str, margins: AlignmentMargins, codes: Blocks[Ints]
    ) -> BlockScores:
        rates = [margins.clearly_other, margins.below_zero, margins.expected, *self.noise_rate_range_]
        self.noise_rate_range_ = min(rates), max(rates)
        self.cautions_ = [*self.cautions_, IN_SAMPLE]
        if trusted != VIEWS:
            self.view_weights_ = {trusted: 1.0}
        if trusted != ALIGNMENT:
            return scores
        self._margins, self._overall_transition = margins, margins.transition(codes, len(self.classes_))
        self.instance_noise_rate_ = 0.0
        return margins.block_scores

    def _finish(self, fits: list[FittedRepeat], fitter: JudgeFitter) -> BlockScores:
        self._repeats = [fit.repeat for fit in fits]
        models = [repeat.model for repeat in self._repeats]
        self.n_rounds_ = max(fit.n_rounds for fit in fits)
        self.instance_noise_rate_ = float(np.mean([model.instance_noise_rate for model in models]))
        lows, highs = zip(*(fit.noise_rate_range() for fit in fits), strict=True)
        first = fits[0]
        names = fitter.view_names(self._repeats[0].fixed_views)
        view_rates = comparable_rates(estimates_by_view(names, models[0].models[0], first.candidates))
        if views_disagree(view_rates):
            lows, highs = (*lows, *view_rates.values()), (*highs, *view_rates.values())
        self.noise_rate_range_ = min(lows), max(highs)
        self._overall_transition = overall_transition(fits, len(self.classes_))
        self.shrinkages_ = dict(zip(names, first.shrinkages, strict=False))
        shares = np.mean([fit.view_shares() for fit in fits], axis=0)
        self.view_weights_ = {name: float(share) for name, share in zip(names, shares, strict=True)}
        self.cautions_ = cautions(self._fit_facts(fits, fitter.views_left_out, view_rates))
        tables = first.candidates.blocks.map(with_all_repeats, *(fit.candidates.blocks for fit in fits[1:]))
        return BlockScores(
            tables.map(log_odds, args=(models,)),
            lambda flagged, cut: tables.map(suggest, flagged, args=(models,)),
        )

    def _fit_facts(self, fits: list[FittedRepeat], left_out: list[str], view_rates: dict[str, float]) -> FitFacts:
        counts, right = fits[0].sums.counts, np.mean([fit.sums.right_per_class for fit in fits], axis=0)
        views = self._repeats[0].fixed_views
        return FitFacts(
            self.classes_,
            counts,
            counts - right,
            self.noise_rate_range_,
            all(fit.predicts for fit in fits),
            left_out,
            next((view.agreement for view in views if isinstance(view, ProbabilityView)), None),
            self.consumes,
            view_rates,
        )

    def _score(self, X: Array, codes: Ints) -> Float64s:
        if self._margins is not None:
            return self._margins.log_odds(X, codes)
        scores = by_content(self._log_odds, X, codes, self._split_columns(X)[0])
        p_none = self._none_probability(X, codes)
        return scores if p_none is None else lower_log_odds(scores, p_none)

    def _log_odds(self, X: Array, codes: Ints) -> Float64s:
        scores = np.empty(len(X))
        for chunk in row_chunks(len(X), 1, block_rows(X)):
            scores[chunk] = log_odds(self._candidates(X[chunk], codes[chunk]), self._models)
        return scores

    def _suggest(self, X: Array, codes: Ints, rows: Ints, cut: Cut) -> tuple[Ints, Float64s]:
        if self._margins is not None:
            return self._margins.suggest(X, codes, rows)
        if self._fitted is not None:
            return self._fitted.suggest_rows(rows, block_rows(X), cut)
        best, share = np.empty(len(rows), dtype=np.intp), np.empty(len(rows))
        for chunk in row_chunks(len(rows), 1, block_rows(X)):
            candidates = self._candidates(X[rows[chunk]], codes[rows[chunk]])
            best[chunk], share[chunk] = suggest(candidates, np.arange(len(candidates[0])), self._models)
        return best, share

    def _candidates(self, X: Array, codes: Ints) -> list[Candidates]:
        features, probabilities = self._split_columns(X)
        return [repeat.candidates(features, codes, probabilities) for repeat in self._repeats]

    @property
    def _models(self) -> list[AveragedNoiseModel]:
        return [repeat.model for repeat in self._repeats]

    @property
    def transition_(self) -> Float64s:
        """K x K, P(given label | right label)."""
        return self._overall_transition.to_dense()

    def _made_by(self, cut: Cut) -> dict[str, Any]:
        record = super()._made_by(cut)
        record["instance_noise_rate"], record["rounds"] = float(self.instance_noise_rate_), self.n_rounds_
        record["views"] = {name: round(weight, 4) for name, weight in self.view_weights_.items()}
        record["noise_rate_range"] = [round(rate, 6) for rate in self.noise_rate_range_]
        record["none_clusters"] = self.n_none_clusters_
        record["cautions"] = list(self.cautions_)
        if len(self.classes_) <= 100:
            record["transition"] = np.round(self.transition_, 4).tolist()
        return record
