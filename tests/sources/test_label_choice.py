"""A table whose labels have no usual name: the only column that can hold them is taken, and nothing is guessed."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

from eigenclean.errors import InvalidData
from eigenclean.sources import open_source
from eigenclean.sources.tabular.columns import ColumnOptions
from eigenclean.sources.tabular.frames import FrameTable
from eigenclean.sources.tabular.label_choice import find_label_columns

N = 60
BASE = {"width": np.linspace(0, 1, N), "height": np.linspace(5, 9, N)}
SPECIES = np.array(["ant", "bee", "cat"])[np.arange(N) % 3]


def chosen(columns: dict[str, Any], **options: Any) -> list[str]:
    return find_label_columns(FrameTable(pd.DataFrame({**BASE, **columns})), ColumnOptions(**options))


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"species": SPECIES}, ["species"]),
        ({"Label": np.arange(N)}, ["Label"]),
        ({"churned": np.arange(N) % 2 == 0}, ["churned"]),
        ({"churned": np.arange(N) % 2}, ["churned"]),
        ({"species": SPECIES, "note": [f"note {i}" for i in range(N)]}, ["species"]),
        ({"species": SPECIES, "customer_id": np.arange(N) // 10}, ["species"]),
        ({"species": SPECIES, "text": SPECIES}, ["species"]),
        ({"species": SPECIES, "x1": np.arange(N) % 3, "x2": np.arange(N) % 4}, ["species"]),
        ({"species": SPECIES, "island": SPECIES[::-1]}, ["species", "island"]),
        ({"species": SPECIES, "rooms": np.arange(N) % 5}, ["species", "rooms"]),
        ({"Label": SPECIES, "Class": SPECIES}, ["Label", "Class"]),
        ({"species": SPECIES, "label": SPECIES}, []),  # it has a usual name, so nothing is to be found
        ({"count": np.arange(N)}, []),
        ({"species": ["ant"] * N}, []),
        ({}, []),
    ],
)
def test_columns_that_can_hold_labels_are_found(columns: dict[str, Any], names: list[str]) -> None:
    assert chosen(columns) == names


def test_columns_with_another_role_are_no_candidates() -> None:
    two = {"species": SPECIES, "island": SPECIES[::-1]}
    assert chosen(two, category_columns=["island"]) == ["species"]
    assert chosen(two, leave_out="species") == ["island"]
    assert chosen({"species": SPECIES}, id_column="species") == []


def test_several_candidates_are_named() -> None:
    frame = pd.DataFrame(
        {**{f"m{k}_mm": np.linspace(k, 9, N) for k in range(12)}, "a": SPECIES, "b": SPECIES[::-1]}
    )
    with pytest.raises(InvalidData, match="those that can hold labels are 'a', 'b'; choose the labels with"):
        open_source(frame)


@pytest.mark.parametrize("shards", [False, True])
def test_labels_of_a_file_stay_as_they_are_written(shards: bool, tmp_path: Path) -> None:
    codes = np.array(["007", "008"])[np.arange(N) % 2]
    frame = pd.DataFrame({**BASE, "agent": codes})
    if shards:
        (tmp_path / "rows").mkdir()
        frame[: N // 2].to_csv(tmp_path / "rows" / "a.csv", index=False)
        frame[N // 2 :].to_csv(tmp_path / "rows" / "b.csv", index=False)
    else:
        frame.to_csv(tmp_path / "rows", index=False)
        (tmp_path / "rows").rename(tmp_path / "rows.csv")
    source = open_source(tmp_path / ("rows" if shards else "rows.csv"))
    assert source.labels.tolist() == codes.tolist()
    assert source.found_label and source.label_column == "agent"
