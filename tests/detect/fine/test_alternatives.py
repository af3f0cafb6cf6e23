"""The classes that a sample may belong to instead."""

import numpy as np
import pytest

from eigenclean.detect.cuts import make_cut
from eigenclean.detect.fine.alternatives import N_ALTERNATIVES, best_alternative, top_alternatives


@pytest.mark.parametrize("k", [2, 3, N_ALTERNATIVES + 1, 40])
def test_alternatives_are_the_best_others_in_order(k: int) -> None:
    rng = np.random.default_rng(k)
    scores, codes = rng.random((50, k)), rng.integers(k, size=50)
    alternatives, alternative_scores = top_alternatives(scores.copy(), codes)
    for row, (given, classes, found_scores) in enumerate(zip(codes, alternatives, alternative_scores, strict=True)):
        others = sorted((j for j in range(k) if j != given), key=lambda j: -scores[row, j])[:N_ALTERNATIVES]
        assert classes.tolist() == others
        np.testing.assert_array_equal(found_scores, scores[row, others])


def test_nothing_flagged_has_no_alternative() -> None:
    empty = np.zeros((0, 3))
    best, share = best_alternative(empty.astype(np.intp), empty, make_cut("gaussian"))
    assert len(best) == len(share) == 0
