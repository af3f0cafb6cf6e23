"""A source that was opened once is opened again, wherever the user is by then."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eigenclean.errors import InvalidData
from eigenclean.sources import open_source
from eigenclean.sources.record import reopen, source_record


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "x.npz", features=rng.random((6, 3)), labels=np.arange(6) % 2)
    np.save(tmp_path / "x.npy", rng.random((6, 3)))
    np.save(tmp_path / "y.npy", np.arange(6) % 2)
    (tmp_path / "x.csv").write_text("kind,f,g,words\n" + "\n".join(f"k{i % 2},{i},{i * i},w{i}" for i in range(6)))
    for name in ("a", "b"):
        (tmp_path / "pets" / name).mkdir(parents=True)
        Image.new("RGB", (8, 6)).save(tmp_path / "pets" / name / "1.png")
    return tmp_path


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("x.npz", {}),
    ("x.npy", {"labels": Path("y.npy")}),
    ("x.csv", {"label_column": "kind", "feature_columns": ["f"], "text_column": "words"}),
    ("pets", {}),
    ("folder:pets?resize=4", {}),
    ("digits", {}),
]


@pytest.mark.parametrize(("name", "options"), CALLS, ids=[name for name, _ in CALLS])
@pytest.mark.parametrize("moved", [False, True])
def test_the_same_source_again(
    data: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    options: Any,
    moved: bool,
) -> None:
    monkeypatch.chdir(data)
    first = open_source(name, **options)
    data_hash = first.data_hash()
    record = json.loads(json.dumps(source_record(name, **options, id_column=None)))
    if moved:
        data = data.rename(tmp_path_factory.mktemp("elsewhere") / "data")
        monkeypatch.chdir(data)
    else:
        monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    again = reopen(record)
    np.testing.assert_array_equal(again.labels, first.labels)
    np.testing.assert_array_equal(again.ids, first.ids)
    assert again.texts == first.texts and type(again) is type(first)
    assert again.data_hash() == data_hash


def test_what_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match=r"there is no file or folder gone\.npz"):
        reopen({"name": "gone.npz", "folder": str(tmp_path)})
    with pytest.raises(InvalidData, match="does not say"):
        reopen({})
