"""Detectors in blocks give the same statistics as in memory, whatever the blocks."""

import numpy as np
import pytest
from sklearn.base import clone

from eigenclean import detector, open_source
from eigenclean.arrays import Array, Ints, encode_labels
from eigenclean.detect import DETECTORS, BlockDetector, Detector, as_block_detector
from eigenclean.detect.blocks import split_rows
from eigenclean.errors import InvalidOption, TooFewSamples
from eigenclean.scale.stream import judge_stream

IN_BLOCKS = sorted(name for name, kind in DETECTORS.items() if issubclass(kind, BlockDetector))
ROWS = 64  # of a block: the last one is smaller


def noisy_blobs() -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = 4 * np.eye(8)[y] + rng.standard_normal((300, 8))
    y[:30] = (y[:30] + 1) % 3
    return X, np.array(["ant", "bee", "cow"])[y]


def block_detector(name: str) -> BlockDetector:
    return as_block_detector(detector(name))


def fitted_in_blocks(name: str, X: Array, y: Array) -> tuple[BlockDetector, Array, Ints]:
    """A detector fitted on small blocks, and the scores of all rows."""
    judge = block_detector(name)
    classes, codes = encode_labels(y)
    blocks = judge.fit_blocks(split_rows(X, ROWS), split_rows(codes, ROWS), classes, X.shape[1])
    scores = np.concatenate(list(blocks.scores))
    judge.fit_cut_to_scores(scores, codes)
    return judge, scores, codes


@pytest.mark.parametrize("name", IN_BLOCKS)
def test_blocks_give_the_detector_that_memory_gives(name: str) -> None:
    X, y = noisy_blobs()
    judge, scores, codes = fitted_in_blocks(name, X, y)
    in_memory = detector(name, **({"views": "linear,kernel"} if name == "judge" else {})).fit(X, y)
    assert judge.n_features_in_ == 8
    np.testing.assert_array_equal(judge.classes_, in_memory.classes_)
    np.testing.assert_allclose(scores, in_memory.score_samples(X, y), rtol=1e-5, atol=1e-8)
    expected, result = in_memory.judge(X, y), judge.apply_decision(scores, codes)
    np.testing.assert_array_equal(result.flagged, expected.flagged)
    assert result.made_by["method"] == name


@pytest.mark.parametrize("name", IN_BLOCKS)
def test_a_fitted_detector_scores_new_blocks_as_it_scores_arrays(name: str) -> None:
    X, y = noisy_blobs()
    judge = block_detector(name).fit(X[:200], y[:200])
    codes = np.searchsorted(judge.classes_, y[200:])
    blocks = judge.score_blocks(split_rows(X[200:], 30), split_rows(codes, 30))
    np.testing.assert_allclose(
        np.concatenate(list(blocks.scores)), judge.score_samples(X[200:], y[200:]), rtol=1e-6
    )


@pytest.mark.parametrize("name", IN_BLOCKS)
def test_suggestions_of_blocks_are_those_of_the_verdict(name: str) -> None:
    X, y = noisy_blobs()
    judge = block_detector(name).fit(X, y)
    codes = np.searchsorted(judge.classes_, y)
    flagged = np.zeros(len(y), dtype=bool)
    flagged[[3, 5, 70, 299]] = True  # in the first two blocks and the last, none in between
    rows = split_rows(flagged, ROWS).map(np.flatnonzero)
    suggest = judge.score_blocks(split_rows(X, ROWS), split_rows(codes, ROWS)).suggest
    suggested, given_wrong = (np.concatenate(parts) for parts in zip(*suggest(rows, judge.cut_), strict=True))
    expected = judge._suggest(X, codes, np.flatnonzero(flagged), judge.cut_)
    np.testing.assert_array_equal(suggested, expected[0])
    np.testing.assert_allclose(given_wrong, expected[1], rtol=1e-6)


@pytest.mark.parametrize("name", IN_BLOCKS)
def test_refitting_forgets_the_cut_of_the_scores_before(name: str) -> None:
    X, y = noisy_blobs()
    judge = block_detector(name).fit(X, y)
    classes, codes = encode_labels(y)
    judge.fit_blocks(split_rows(X, ROWS), split_rows(codes, ROWS), classes, X.shape[1])
    assert not hasattr(judge, "cut_")


def test_one_class_is_refused_before_anything_is_read() -> None:
    X, y = noisy_blobs()
    with pytest.raises(TooFewSamples, match="at least two classes"):
        block_detector("fine").fit_blocks(split_rows(X, ROWS), split_rows(np.zeros(300, int), ROWS), y[:1], 8)


@pytest.mark.parametrize("name", sorted(set(DETECTORS) - set(IN_BLOCKS)))
def test_the_others_name_those_that_can(name: str) -> None:
    with pytest.raises(InvalidOption, match=f"^{name} needs all rows at once .*: judge, fine, fine-relative, mcd$"):
        as_block_detector(detector(name))


def test_wrong_options_are_reported_before_anything_else() -> None:
    with pytest.raises(InvalidOption, match="threshold"):
        as_block_detector(detector("knn", threshold=2.0))


def test_old_names_work_for_one_release() -> None:
    X, y = noisy_blobs()
    judge: Detector = clone(detector("fine")).fit(X, y)
    for old, new in (
        ("n_columns", "n_features_in_"),
        ("weigh", "apply_decision"),
        ("fit_scores", "fit_cut_to_scores"),
        ("judge_blocks", "score_blocks"),
    ):
        with pytest.warns(DeprecationWarning, match=f"FINE.{old} is now FINE.{new}"):
            assert getattr(judge, old) == getattr(judge, new)


@pytest.mark.parametrize("name", DETECTORS)
def test_a_class_for_every_row_is_refused_before_anything_is_computed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = np.random.default_rng(0).standard_normal((10_000, 3))
    judge = detector(name)
    monkeypatch.setattr(type(judge), "_learn", None)
    with pytest.raises(TooFewSamples, match="10000 of 10000 labels are the only one of their class"):
        judge.fit(X, np.arange(len(X)))
    if isinstance(judge, BlockDetector):
        monkeypatch.setattr(type(judge), "_learn_blocks", None)
        with pytest.raises(TooFewSamples, match="are the labels ids"):
            judge_stream(open_source((X, np.arange(len(X)))), judge)
