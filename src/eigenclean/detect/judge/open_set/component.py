"""P(none): the probability that a sample belongs to none of the classes.

1. *Seeds* are rows whose neighbours have labels of all classes, see `evidence`.
2. Seeds are clustered. A cluster counts if the views do not predict the labels in it: samples of no class come in
   groups too, of the classes that nobody named.
3. The clusters are further classes of linear discriminants with a noise model of their own, on the same folds. It
   finds rows that are like the seeds but have no flat neighbourhood, and gives up seeds that are not. Seeds are the
   rows that are least like a class; so it is fitted again with all rows that may be members of the clusters.
4. P(none | x) is the sum over these classes. The given label changes it: a label at random is as probable as its
   class is frequent, one of a sample of a class is mostly the right one. Where some labels of the rows found are
   predicted, P(none) is lowered by their share.

Without a cluster that counts there is no component, and verdicts are what they are without it.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.cluster.vq import kmeans2

from eigenclean.arrays import Array, Float64s, Floats, Ints, row_chunks
from eigenclean.detect.blocks import Blocks, block_rows, split_rows
from eigenclean.detect.folds import canonical_order, content_hash
from eigenclean.detect.group_folds import GroupFolds
from eigenclean.detect.judge.candidates import MAX_DENSE_CLASSES, Candidates
from eigenclean.detect.judge.fitting import JudgeFitter, WholeRows
from eigenclean.detect.judge.instance_noise import AveragedNoiseModel
from eigenclean.detect.judge.open_set.evidence import LabelPredictions, flat_rows
from eigenclean.detect.judge.repeats import FittedRepeat, Repeat
from eigenclean.detect.judge.row_maps import PrincipalComponents
from eigenclean.detect.judge.views.neighbours import N_NEIGHBOURS, NeighbourView

MIN_CLASSES = 4  # where few classes overlap, all labels occur too
MAX_CLUSTERS = 10
SEEDS_PER_CLUSTER = 25
MIN_CLUSTER = 8
MIN_SEEDS = 10
MAX_SEEDS = 0.5  # of all rows: with more, the features say too little
MIN_PREDICTED = 0.1  # how much better than chance the labels of other rows must be predicted
LEAST_MEMBER = 0.1  # P(none | x, given label) of a row that the second fit takes for a member of a cluster
LEAST_DOUBT = 0.05  # P(none) is at most 1 minus this and minus the share of labels that are predicted
N_COMPONENTS = 128  # rows with more columns are projected


@dataclass(frozen=True, eq=False)
class NoneComponent:
    """What was learned about samples of no class.

    Attributes:
        repeat: discriminants and noise model of the classes, and of the clusters after them.
        transition: K x K, P(given label | right label).
        shares: of the classes among the given labels.
        reliability: factor of P(none), because some of the rows that are like the seeds have a class.
    """

    repeat: Repeat
    transition: Float64s
    shares: Float64s
    reliability: float = 1.0

    @property
    def n_clusters(self) -> int:
        """Number of clusters of samples of no class."""
        return self.repeat.discriminants[0].n_classes - len(self.shares)

    def probability(self, features: Array, codes: Ints) -> Float64s:
        """P(none | x, given label) of rows; those of fit are judged out of sample."""
        return np.asarray(self.reliability * self._probabilities(features, codes)[1])

    def checked(self, features: Array, predictions: LabelPredictions) -> "NoneComponent | None":
        """The same with its reliability, from rows that are none by their features; None if their labels are
        predicted after all."""
        rows = np.flatnonzero(self._probabilities(features, predictions.given)[0] > 0.5)
        if not len(rows) or not predictions.look_random(rows):
            return None
        predicted = max(predictions.predicted_share(rows, errors=0.0), 0.0)
        return replace(self, reliability=1.0 - predicted - LEAST_DOUBT)

    def members(self, features: Array, codes: Ints, least: float) -> tuple[Ints, Ints]:
        """Rows whose P(none | x, given label) is at least that, and the cluster that each is most likely in."""
        rows = np.flatnonzero(self._probabilities(features, codes)[1] >= least)
        if not len(rows):
            return rows, rows
        table = mean_prior(self.repeat.model, self.repeat.candidates(features[rows], codes[rows], None))
        return rows, np.asarray(table[len(self.shares) :].argmax(axis=0))

    def _probabilities(self, features: Array, codes: Ints) -> Float64s:
        """P(none | x) and P(none | x, given label), 2 x n."""
        p, k = np.empty((2, len(features))), len(self.shares)
        for chunk in row_chunks(len(features), 1, block_rows(features)):
            given = codes[chunk]
            table = mean_prior(self.repeat.model, self.repeat.candidates(features[chunk], given, None))
            p[0, chunk] = table[k:].sum(axis=0)
            none = p[0, chunk] * self.shares[given]
            some = (table[:k] * self.transition[:, given]).sum(axis=0)
            p[1, chunk] = none / np.maximum(none + some, 1e-300)
        return p


def find_none_component(
    whole: WholeRows,
    fit: FittedRepeat,
    row_fitter: JudgeFitter,
    transition: Float64s,
    *,
    max_rounds: int,
    groups: GroupFolds | None,
    known: Blocks[Ints] | None,
) -> NoneComponent | None:
    """Look for samples of no class among rows in memory that were judged with the view `neighbours`.

    Args:
        whole: the rows.
        fit: how they were judged.
        row_fitter: what fitted it.
        transition: K x K, P(given label | right label).
        max_rounds: how often class sums are computed at most.
        groups: assigns the rows of groups to folds; None if rows are assigned by their content.
        known: right classes that people have verified; None if there are none.
    """
    views = fit.repeat.fixed_views
    k = len(transition)
    if not MIN_CLASSES <= k <= MAX_DENSE_CLASSES - MAX_CLUSTERS or not fit.predicts or row_fitter.base is None:
        return None
    number = next((i for i, view in enumerate(views) if isinstance(view, NeighbourView)), None)
    if number is None:
        return None
    view = views[number]
    assert isinstance(view, NeighbourView)
    candidates = fit.candidates.gathered()
    counts = np.bincount(whole.codes, whole.weight, k)
    shares = counts / counts.sum()
    flat = flat_rows(view.votes(candidates.values[len(fit.repeat.row_maps) + number].T), shares, N_NEIGHBOURS)
    if whole.weight is not None:
        flat &= whole.weight > 0
    seeds = np.flatnonzero(flat)
    if not MIN_SEEDS <= len(seeds) <= MAX_SEEDS * len(flat):
        return None
    probabilities = mean_prior(fit.repeat.model, candidates)
    level = float(probabilities[whole.codes[~flat], np.flatnonzero(~flat)].mean(dtype=np.float64))
    predictions = LabelPredictions(probabilities, whole.codes, shares, level)
    if level - predictions.chance < MIN_PREDICTED:
        return None

    order = canonical_order(content_hash(whole.features[seeds]), whole.codes[seeds])
    seeds = seeds[order]  # the same clusters in whatever order the rows come
    row_map = PrincipalComponents.of(row_fitter.base, row_fitter.sample_features, N_COMPONENTS)
    clusters = _clusters(row_map.apply(whole.features, seeds), len(seeds) // SEEDS_PER_CLUSTER)
    is_random = [
        np.count_nonzero(clusters == cluster) >= MIN_CLUSTER and predictions.look_random(seeds[clusters == cluster])
        for cluster in range(int(clusters.max()) + 1)
    ]
    rows = np.flatnonzero(np.array(is_random)[clusters])
    if not len(rows):
        return None
    fitter = _ComponentFitter(whole, fit, row_map, transition, shares, max_rounds, groups, known)
    component = fitter.fit(seeds[rows], clusters[rows]).checked(whole.features, predictions)
    if component is None:
        return None
    rows, numbers = component.members(whole.features, whole.codes, LEAST_MEMBER)
    if whole.weight is not None:
        rows, numbers = rows[whole.weight[rows] > 0], numbers[whole.weight[rows] > 0]
    large = np.bincount(numbers, minlength=1)[numbers] >= MIN_CLUSTER if len(rows) else np.zeros(0, dtype=bool)
    if not large.any():
        return component
    others = np.setdiff1d(np.arange(len(whole.codes)), rows)
    level = float(probabilities[whole.codes[others], others].mean(dtype=np.float64))
    again = fitter.fit(rows[large], numbers[large]).checked(whole.features, predictions._replace(level=level))
    return component if again is None else again


class _ComponentFitter(NamedTuple):
    """Fits discriminants and a noise model to the classes and to clusters of rows of no class."""

    whole: WholeRows
    judged: FittedRepeat
    row_map: PrincipalComponents
    transition: Float64s
    shares: Float64s
    max_rounds: int
    groups: GroupFolds | None
    known: Blocks[Ints] | None

    def fit(self, rows: Ints, clusters: Ints) -> NoneComponent:
        """These rows are members of the clusters; the numbers of the clusters may have gaps."""
        whole, k = self.whole, len(self.transition)
        names, numbers = np.unique(clusters, return_inverse=True)
        extended = whole.codes.copy()
        extended[rows] = k + numbers
        n_rows = block_rows(whole.features)
        fitter = JudgeFitter(
            split_rows(whole.features, n_rows),
            split_rows(extended, n_rows),
            None if whole.weight is None else split_rows(whole.weight, n_rows),
            None,
            names=("linear",),
            k=k + len(names),
            n_features=whole.features.shape[1],
            n_folds=self.judged.repeat.n_folds,
            max_rounds=self.max_rounds,
            groups=self.groups,
            known=self.known,
            row_map=self.row_map,
        )
        return NoneComponent(fitter.fit(self.judged.repeat.number).repeat, self.transition, self.shares)


def lower_log_odds(log_odds: Float64s, p_none: Float64s) -> Float64s:
    """Log-odds of P·(1 − P(none)), from the log-odds of P.

    >>> lower_log_odds(np.array([0.0, 0.0]), np.array([0.1, 0.5])).round(3)
    array([-0.201, -1.099])
    """
    p = np.clip(p_none, 1e-300, 1.0 - 1e-12)
    return np.asarray(log_odds + np.log1p(-p) - np.logaddexp(0.0, log_odds + np.log(p)))


def mean_prior(averaged: AveragedNoiseModel, candidates: Candidates) -> Floats:
    """P(y | x) of all classes, K x n, a mean over the noise models."""
    total = averaged.weights[0] * averaged.models[0].prior(candidates)
    for weight, model in zip(averaged.weights[1:], averaged.models[1:], strict=True):
        total += weight * model.prior(candidates)
    return np.asarray(total)


def _clusters(rows: Floats, n_clusters: int) -> Ints:
    """The cluster of each row, by k-means."""
    from sklearn.cluster import kmeans_plusplus

    rows = rows.astype(np.float64)
    n_clusters = min(max(n_clusters, 1), MAX_CLUSTERS)
    start, _ = kmeans_plusplus(rows, n_clusters, random_state=0)
    _, numbers = kmeans2(rows, start, iter=50, minit="matrix", missing="warn")
    return np.asarray(numbers)
