"""Rows in blocks are judged with decisions of people as rows in memory are: streamed, and on a cluster."""

from typing import Any

import numpy as np
import pytest

from eigenclean import FINE, open_source
from eigenclean.arrays import Array
from eigenclean.detect.decisions import Decision
from eigenclean.detect.judge.judge import Judge
from eigenclean.detect.judge.verified import judge_verified
from eigenclean.errors import InvalidOption
from eigenclean.evidence import VerifiedLabels
from eigenclean.scale.stream import judge_stream
from eigenclean.verdict import Verdict

COLUMNS = ("ids", "labels", "score", "p_clean", "flagged", "suggested", "suggested_confidence", "rank")
BUDGET = Decision(budget=30)
GONE = [5, *range(500, 511)]  # of two blocks

pytestmark = pytest.mark.usefixtures("small_blocks")


@pytest.fixture(scope="module")
def data() -> tuple[Array, Array, VerifiedLabels]:
    """Rows of three classes with wrong labels; of a small class all are removed, and one label is new."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=900)
    X = (rng.normal(size=(900, 5)) + 2.0 * np.eye(5)[truth]).astype(np.float32)
    y = np.where(rng.random(900) < 0.1, (truth + 1) % 3, truth)
    y[GONE] = 3
    decisions: list[tuple[Any, ...]] = [(i, "keep", y[i], None) for i in range(10, 40)]
    decisions += [(i, "relabel", y[i], truth[i]) for i in range(40, 200) if y[i] != truth[i]]
    decisions += [(i, "remove", 3, None) for i in GONE]
    decisions += [(700, "unsure", y[700], None), (800, "relabel", y[800], 9)]
    return X, y, VerifiedLabels.match(np.arange(900), y, decisions)


@pytest.fixture
def expected(data: tuple[Array, Array, VerifiedLabels]) -> Verdict:
    X, y, verified = data
    return judge_verified(judge(), X, y, verified, decision=BUDGET)


def judge() -> Judge:
    return Judge(views="linear", n_repeats=1, rounds=3)


def check(verdict: Verdict, expected: Verdict) -> None:
    for column in COLUMNS:
        np.testing.assert_allclose(getattr(verdict, column), getattr(expected, column), rtol=1e-6, atol=1e-6)
    assert verdict.suggested[800] == 9 and not verdict.flagged[[*GONE, 700, 800]].any()
    assert verdict.n_flagged == 30


def test_streamed(data: tuple[Array, Array, VerifiedLabels], expected: Verdict) -> None:
    X, y, verified = data
    done = judge_stream(open_source((X, y)), judge(), decision=BUDGET, verified=verified)
    assert done.engine["blocks"] > 1
    check(done.verdict, expected)
    with pytest.raises(InvalidOption, match="learns from decisions, not fine"):
        judge_stream(open_source((X, y)), FINE(), verified=verified)


def test_on_a_cluster(data: tuple[Array, Array, VerifiedLabels], expected: Verdict) -> None:
    dask = pytest.importorskip("dask", reason="the dask engine needs eigenclean[dask]")
    da = pytest.importorskip("dask.array", reason="the dask engine needs eigenclean[dask]")
    from eigenclean.scale.dask import judge_dask

    X, y, verified = data
    with dask.config.set(scheduler="threads", num_workers=2):
        done = judge_dask(da.from_array(X, chunks=(250, 5)), y, judge=judge(), decision=BUDGET, verified=verified)
        check(done.compute(), expected)
