"""Rows that no annotator has labelled are left out, and the others keep the numbers that they have in the data."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from eigenclean import open_source
from eigenclean.errors import InvalidData

LABELS = np.array([[0, 0], [-1, -1], [1, 1], [1, -1], [0, 1]])
FEATURES = np.arange(10.0).reshape(5, 2)
LABELLED = [0, 2, 3, 4]


def frame(**more: Any) -> pl.DataFrame:
    labels = {f"rater_{a}": [None if label < 0 else label for label in LABELS[:, a].tolist()] for a in range(2)}
    return pl.DataFrame({"height": FEATURES[:, 0], "width": FEATURES[:, 1], **labels, **more})


@pytest.mark.parametrize("features", [FEATURES, FEATURES.tolist(), pl.DataFrame(FEATURES)])
@pytest.mark.parametrize("labels", [LABELS, np.where(LABELS < 0, np.nan, LABELS)])
def test_arrays(features: Any, labels: Any) -> None:
    source = open_source((features, labels))
    assert source.ids.tolist() == LABELLED and source.n_unlabelled == 1
    np.testing.assert_array_equal(source.features(), FEATURES[LABELLED])
    assert source.annotations is not None and source.annotations.n_rows == 4
    assert source.labels.tolist()[:3] == [0, 1, 1]


def test_arrays_with_ids_and_texts() -> None:
    names = list("abcde")
    source = open_source({"texts": [f"text {name}" for name in names], "ids": names, "labels": LABELS})
    assert source.ids.tolist() == ["a", "c", "d", "e"]
    assert list(source.texts or ()) == ["text a", "text c", "text d", "text e"]


def test_a_frame_of_mixed_columns() -> None:
    mixed = pl.DataFrame({"height": [1.0, 2.0, 3.0, 4.0, 5.0], "colour": ["red", "red", "blue", "blue", "red"]})
    source = open_source((mixed, LABELS))
    assert source.ids.tolist() == LABELLED and len(source.features()) == 4


def test_a_file_has_the_numbers_of_its_rows(tmp_path: Path) -> None:
    frame().write_csv(tmp_path / "table.csv")
    for data in (str(tmp_path / "table.csv"), frame()):
        assert open_source(data, annotator_columns=["rater_*"]).ids.tolist() == LABELLED
    named = open_source(frame(id=list("abcde")), annotator_columns=["rater_*"])
    assert named.ids.tolist() == ["a", "c", "d", "e"]


def test_arrays_of_other_lengths_are_named() -> None:
    with pytest.raises(InvalidData, match="4 rows of features, but 5 rows of labels"):
        open_source((FEATURES[:4], LABELS))
    with pytest.raises(InvalidData, match="no labels by any annotator"):
        open_source((FEATURES, np.full((5, 2), -1)))
