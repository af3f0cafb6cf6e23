"""The classes that a sample may belong to instead."""

import numpy as np
import pytest

from eigenclean.detect.cuts import make_cut
from eigenclean.detect.fine.alternatives import CANDIDATES, best_rival, closest


@pytest.mark.parametrize("k", [2, 3, CANDIDATES + 1, 40])
def test_the_closest_are_the_best_others_in_order(k: int) -> None:
    rng = np.random.default_rng(k)
    scores, codes = rng.random((50, k)), rng.integers(k, size=50)
    rivals, fit = closest(scores.copy(), codes)
    for row, (own, found, there) in enumerate(zip(codes, rivals, fit, strict=True)):
        others = sorted((j for j in range(k) if j != own), key=lambda j: -scores[row, j])[:CANDIDATES]
        assert found.tolist() == others
        np.testing.assert_array_equal(there, scores[row, others])


def test_nothing_flagged_has_no_rival() -> None:
    empty = np.zeros((0, 3))
    best, share = best_rival(empty.astype(np.intp), empty, make_cut("gaussian"))
    assert len(best) == len(share) == 0
