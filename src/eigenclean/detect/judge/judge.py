"""The judge: P(label right) by cross-fitted linear discriminants and EM for a model of the label noise.

The algorithm, in the order of `Judge._learn_blocks`:

1. *Scan.* Every row gets a hash of its content, and with it a fold. Cross-fitting by content keeps copies of a row
   in one fold and finds the fold of a row again, in any order and on any machine.
2. *Normalise.* Rows are scaled to unit length and centred, after square roots if no value is negative. Few rows
   with many columns are given by their coordinates in the space that they span.
3. *Moments.* One second moment per fold, and class sums per fold. Moments of the other folds are total minus fold.
4. *Discriminants.* Each fold is scored by a linear discriminant analysis with a shrunken covariance, computed from
   the moments of the other folds. The amount of shrinkage is the one under which the given labels are most likely.
5. *Noise model.* EM on the given labels calibrates the discriminants and estimates the transition matrix.
6. *Reassign.* Rows whose label is probably wrong are distributed over the classes by their posterior, class sums
   are computed again, and steps 4 and 5 are repeated until the noise rate settles.
7. *Instance-dependent noise.* Its rate is estimated once, at the end.
8. *Scores.* The score of a row is the log-odds of P(right label = given label | features, given label).

Everything is a sum over rows, so the same code judges arrays in memory, files larger than memory and Dask clusters.
"""

from functools import partial
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

from eigenclean.arrays import Array, Float64s, Ints, row_chunks
from eigenclean.deprecation import RenamedAttribute
from eigenclean.detect.block_detector import BlockDetector, BlockScores
from eigenclean.detect.blocks import Blocks, block_rows
from eigenclean.detect.cuts import Cut
from eigenclean.detect.folds import content_folds
from eigenclean.detect.judge.block_statistics import (
    add_moments,
    add_reassigned,
    log_odds,
    normalise,
    suggest,
    sum_p_right,
    zero_class_sums,
    zero_moments,
)
from eigenclean.detect.judge.candidate_blocks import CandidateBlocks, RowSample
from eigenclean.detect.judge.candidates import Candidates
from eigenclean.detect.judge.discriminants import Discriminants, DiscriminantSolver
from eigenclean.detect.judge.em import fit_noise_model, refine
from eigenclean.detect.judge.instance_noise import fit_instance_noise
from eigenclean.detect.judge.noise_model import NoiseModel
from eigenclean.detect.judge.shrinkage import ShrinkageSearch
from eigenclean.detect.judge.transition_matrix import TransitionMatrix
from eigenclean.detect.judge.unit_rows import CACHE_LIMIT, RowNormalizer, UnitRows, scan_block
from eigenclean.errors import InvalidOption
from eigenclean.progress import track

NOISE_RATE_TOLERANCE = 0.002  # rounds end when the noise rate changes by less


class Judge(BlockDetector):
    """P(label right) from class moments, out of sample, with an unknown label noise.

    Class means and one shared covariance give linear discriminants: the model under which FINE's theorem holds,
    with all directions instead of one. Each row is scored by the moments of the folds that it is not in. A model of
    the noise, with a transition matrix for class-conditional errors and a rate of instance-dependent errors, is
    fitted by EM on the given labels alone. The posterior of the right label gives P(right), the suggestion and the
    transition matrix.

    Args:
        n_folds: a row is scored by the other folds; its fold depends on its content alone.
        rounds: how often class sums are computed at most, the first time with the given labels and then with labels
            that are probably wrong reassigned.
        threshold: labels are kept when P(right) is strictly above it.
        cut: "posterior"; the score is the log-odds of being right already.

    Attributes:
        classes_: sorted labels.
        transition_: K x K, P(given label | right label).
        shrinkage_: the amount of shrinkage under which the given labels are most likely, out of sample.
        instance_noise_rate_: share of the labels with instance-dependent noise.
        n_rounds_: how often class sums were computed.

    Examples:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> wrong = y.copy()
        >>> wrong[:100] = (wrong[:100] + 1) % 10
        >>> verdict = Judge().judge(X, wrong)
        >>> bool(verdict.flagged[:100].mean() > 0.8), bool(verdict.flagged[100:].mean() < 0.05)
        (True, True)
    """

    name: ClassVar[str] = "judge"
    shrinkage_: float
    instance_noise_rate_: float
    n_rounds_: int
    glances_ = RenamedAttribute("instance_noise_rate_")
    _normalizer: RowNormalizer
    _discriminants: Discriminants
    _model: NoiseModel
    _overall_transition: TransitionMatrix

    def __init__(
        self, *, n_folds: int = 5, rounds: int = 40, cut: str | Cut = "posterior", threshold: float = 0.5
    ) -> None:
        self.n_folds = n_folds
        self.rounds = rounds
        self.cut = cut
        self.threshold = threshold

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed; `fit` does so too."""
        super().check_options()
        if self.n_folds < 2:
            raise InvalidOption(f"Judge: n_folds must be at least 2, got {self.n_folds}")
        if self.rounds < 1:
            raise InvalidOption(f"Judge: rounds must be at least 1, got {self.rounds}")

    def _learn_blocks(
        self, features: Blocks[Array], codes: Blocks[Ints], weights: Blocks[Float64s] | None = None
    ) -> BlockScores:
        k, n_folds = len(self.classes_), self.n_folds
        scans = features.map(scan_block).persist()
        statistics = list(scans.map(attrgetter("statistics")))
        row_hashes = scans.map(attrgetter("row_hashes"))
        n = sum(block.n for block in statistics)

        normalizer = RowNormalizer.of_blocks(features, statistics)
        self._normalizer = normalizer.projected(features, n)
        d = self._normalizer.n_columns
        rows = features.map(normalise, row_hashes, args=(self._normalizer, n_folds))
        if n * d * statistics[0].itemsize <= CACHE_LIMIT:
            rows = rows.persist()

        weight = features.from_items([None] * len(features)) if weights is None else weights
        second_moments, fold_weights, class_sums = rows.total(
            add_moments, codes, weight, initial=partial(zero_moments, n_folds, k, d)
        )
        solver = DiscriminantSolver(second_moments, fold_weights, normalizer.n_columns)
        search = ShrinkageSearch(rows, codes, solver, RowSample.of(row_hashes, n), n, k)

        candidates: CandidateBlocks | None = None
        model: NoiseModel | None = None
        noise_rate = np.inf
        for n_rounds in track(range(1, self.rounds + 1), "judging"):
            if candidates is not None:
                # With thousands of classes there is no room for two sets of sums, discriminants or candidates:
                # each is released before the next one is computed.
                del class_sums, self._discriminants
                initial = partial(zero_class_sums, n_folds, k, d)
                class_sums = rows.total(add_reassigned, candidates.blocks, weight, args=(model,), initial=initial)
                candidates = None
            self.shrinkage_, self._discriminants, candidates = search.fit(class_sums, model)
            model = fit_noise_model(candidates) if model is None else refine(model, candidates)
            self.n_rounds_ = n_rounds
            previous, noise_rate = noise_rate, _noise_rate(model, candidates)
            if abs(noise_rate - previous) < NOISE_RATE_TOLERANCE:
                break
        assert model is not None and candidates is not None

        self._model = fit_instance_noise(model, candidates)
        self.instance_noise_rate_ = self._model.instance_noise_rate
        self._overall_transition = self._model.overall_transition(candidates)
        args = (self._model,)
        tables = candidates.blocks
        return BlockScores(
            tables.map(log_odds, args=args), lambda flagged, cut: tables.map(suggest, flagged, args=args)
        )

    def _score(self, X: Array, codes: Ints) -> Float64s:
        scores = np.empty(len(X))
        for chunk in row_chunks(len(X), 1, block_rows(X)):
            scores[chunk] = self._model.log_odds(self._candidates(X[chunk], codes[chunk]))
        return scores

    def _suggest(self, X: Array, codes: Ints, rows: Ints, cut: Cut) -> tuple[Ints, Float64s]:
        best, share = np.empty(len(rows), dtype=np.intp), np.empty(len(rows))
        for chunk in row_chunks(len(rows), 1, block_rows(X)):
            candidates = self._candidates(X[rows[chunk]], codes[rows[chunk]])
            best[chunk], share[chunk] = suggest(candidates, np.arange(len(candidates)), self._model)
        return best, share

    def _candidates(self, X: Array, codes: Ints) -> Candidates:
        rows = UnitRows.of(X, content_folds(X, self.n_folds), self._normalizer)
        return Candidates.of(self._discriminants, rows, codes)

    @property
    def transition_(self) -> Float64s:
        """K x K, P(given label | right label)."""
        return self._overall_transition.to_dense()

    def _made_by(self, cut: Cut) -> dict[str, Any]:
        record = super()._made_by(cut)
        record["instance_noise_rate"], record["rounds"] = float(self.instance_noise_rate_), self.n_rounds_
        if len(self.classes_) <= 100:
            record["transition"] = np.round(self.transition_, 4).tolist()
        return record


def _noise_rate(model: NoiseModel, candidates: CandidateBlocks) -> float:
    """The expected share of wrong labels."""
    return 1.0 - candidates.total(sum_p_right, args=(model,)) / len(candidates)
