"""What holds for every cut: one suite over the whole table."""

import inspect
import json
from collections.abc import Callable

import numpy as np
import pytest
from sklearn.base import clone

from eigenclean.arrays import Array, Ints
from eigenclean.detect.cuts import CUTS, Cut, GaussianCut
from eigenclean.detect.cuts.base import plain_numbers


def scores_of_classes(seed: int = 0) -> tuple[Array, Ints]:
    """Five classes of different size, scale and shape, in random order."""
    rng = np.random.default_rng(seed)
    sizes = [300, 40, 1000, 120, 11]
    groups = np.repeat(np.arange(5), sizes)
    low = rng.random(len(groups)) < 0.3
    scores = np.where(low, rng.beta(5, 5, len(groups)), rng.beta(40, 4, len(groups)))
    order = rng.permutation(len(groups))
    return scores[order], groups[order]


def check_constructor_only_stores(cut: Cut) -> None:
    kind = type(cut)
    odd = {name: object() for name in inspect.signature(kind).parameters}
    stored = kind(**odd)
    assert all(getattr(stored, name) is value for name, value in odd.items())
    assert set(vars(stored)) == set(odd)


def check_parameters_round_trip(cut: Cut) -> None:
    parameters = cut.get_params(deep=False)
    assert type(cut)(**parameters).get_params(deep=False) == parameters
    assert clone(cut).get_params(deep=False) == parameters
    assert repr(cut).startswith(f"{type(cut).__name__}(")


def check_inputs_unchanged(cut: Cut) -> None:
    scores, groups = scores_of_classes()
    before = scores.tobytes(), groups.tobytes()
    scores.setflags(write=False)
    groups.setflags(write=False)
    parameters = cut.get_params(deep=False)
    assert cut.fit(scores, groups) is cut
    cut.p_clean(scores, groups)
    cut.boundary(0.5)
    assert (scores.tobytes(), groups.tobytes()) == before
    assert cut.get_params(deep=False) == parameters


def check_probabilities_rise_with_the_score(cut: Cut) -> None:
    scores, groups = scores_of_classes()
    cut.fit(scores, groups)
    grid = np.linspace(-0.5, 1.5, 401)  # also far beyond what was seen
    for k in range(5):
        p = cut.p_clean(grid, np.full(401, k))
        assert ((p >= 0) & (p <= 1)).all()
        assert (np.diff(p) >= -1e-12).all()


def check_row_order(cut: Cut) -> None:
    scores, groups = scores_of_classes()
    order = np.random.default_rng(1).permutation(len(scores))
    a = clone(cut).fit(scores, groups).p_clean(scores, groups)
    b = clone(cut).fit(scores[order], groups[order]).p_clean(scores[order], groups[order])
    np.testing.assert_allclose(b, a[order], atol=1e-9)


def check_same_data_same_result(cut: Cut) -> None:
    scores, groups = scores_of_classes()
    a, b = (clone(cut).fit(scores, groups).p_clean(scores, groups) for _ in range(2))
    np.testing.assert_array_equal(a, b)


def check_fitting_again_forgets(cut: Cut) -> None:
    scores, groups = scores_of_classes()
    again = clone(cut).fit(0.5 * scores[:200], groups[:200]).fit(scores, groups)
    np.testing.assert_array_equal(
        again.p_clean(scores, groups), clone(cut).fit(scores, groups).p_clean(scores, groups)
    )


def check_single_precision(cut: Cut) -> None:
    scores, groups = scores_of_classes()
    a = clone(cut).fit(scores, groups).p_clean(scores, groups)
    b = clone(cut).fit(scores.astype(np.float32), groups).p_clean(scores.astype(np.float32), groups)
    assert np.abs(a - b).max() < 1e-2
    assert np.mean((a > 0.5) != (b > 0.5)) < 0.01


def check_classes_without_a_decision_are_kept_whole(cut: Cut) -> None:
    scores, groups = scores_of_classes()
    more = [np.full(50, 0.6), 0.6 + 6e-8 * (np.arange(50) % 2), np.zeros(30), np.array([0.1])]
    groups = np.concatenate([groups, *(np.full(len(x), 5 + i) for i, x in enumerate(more))])
    scores = np.concatenate([scores, *more])
    cut.fit(scores, groups)
    p = cut.p_clean(scores, groups)
    assert len(cut.whole_) == 9
    assert (p[cut.whole_[groups]] == 1).all()
    if type(cut) is not CUTS["fixed"]:  # its boundary is given, so there is always a decision
        assert cut.whole_[5:].all()
        assert not cut.whole_[:5].any()


def check_classes_that_were_not_seen(cut: Cut) -> None:
    scores, groups = scores_of_classes()
    some = (groups != 1) & (groups != 4)
    cut.fit(scores[some], groups[some], n_groups=7)
    classes = np.arange(7)
    p = cut.p_clean(np.full(7, 0.9), classes)
    assert ((p >= 0) & (p <= 1)).all()
    assert len(cut.whole_) == len(cut.boundary(0.5)) == 7


def check_boundary(cut: Cut) -> None:
    scores, groups = scores_of_classes()
    cut.fit(scores, groups)
    for threshold in (0.3, 0.5, 0.8):
        boundary = cut.boundary(threshold)
        kept = cut.p_clean(scores, groups) > threshold
        for k in range(5):
            own, its = scores[groups == k], kept[groups == k]
            if np.isnan(boundary[k]):
                assert its.all() or not its.any()
            else:
                np.testing.assert_array_equal(its, own >= boundary[k])


def check_record_is_plain(cut: Cut) -> None:
    scores, groups = scores_of_classes()
    scores, groups = np.append(scores, 0.5), np.append(groups, 6)  # classes 5 and 6 are not fitted
    cut.fit(scores, groups)
    json.dumps([cut.describe(), plain_numbers(cut.boundary(0.5))], allow_nan=False)


def check_nothing(cut: Cut) -> None:
    nothing = np.array([]), np.array([], dtype=np.intp)
    assert len(cut.fit(*nothing).p_clean(*nothing)) == 0


Check = Callable[[Cut], None]
CHECKS: dict[str, Check] = {
    name.removeprefix("check_"): check
    for name, check in list(globals().items())
    if name.startswith("check_") and inspect.isfunction(check) and check.__module__ == __name__
}


def check_cut(cut: Cut) -> None:
    """Every check, each on a fresh copy."""
    for check in CHECKS.values():
        check(clone(cut))


@pytest.mark.parametrize("name", sorted(CUTS))
@pytest.mark.parametrize("check", sorted(CHECKS))
def test_cut(name: str, check: str) -> None:
    CHECKS[check](CUTS[name]())


def test_a_whole_cut_at_once() -> None:
    assert len(CHECKS) >= 12
    check_cut(GaussianCut(split="always"))
