"""A probe of somebody else: whatever is in its files, loading it is one sentence and touches nothing."""

import hashlib
import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean import RobustClassifier
from eigenclean.cli.app import run
from eigenclean.errors import EigencleanError
from eigenclean.train import Probe

Arrays = dict[str, Any]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("probe") / "run"
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    # One part that a line separates and one that it does not: a head that adds nothing would be left out.
    codes = (2 * (X[:, 2] + X[:, 3]) + np.sign(X[:, 0] * X[:, 1]) > 0).astype(int)
    RobustClassifier(Probe(detector="knn", heads="linear,trees")).fit(X, codes).save(folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "run"
    copy.mkdir()
    for path in saved.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    return copy


def forge(folder: Path, data: bytes, **changes: Any) -> None:
    """Replace the arrays; whoever forges a file forges its hashes as well."""
    (folder / "model.npz").write_bytes(data)
    record = json.loads((folder / "model.json").read_text())
    record |= {"weights": hashlib.blake2b(data, digest_size=16).hexdigest(), **changes}
    (folder / "model.json").write_text(json.dumps(record))
    (folder / "manifest.json").unlink(missing_ok=True)


def arrays(folder: Path) -> Arrays:
    with np.load(folder / "model.npz") as archive:
        return dict(archive)


def packed(members: Arrays, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=True, **members, **options)
    return buffer.getvalue()


def huge_header(name: str) -> bytes:
    """An archive whose one array claims a terabyte."""
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (137438953472,), }"
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def compressed(members: Arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **members)
    return buffer.getvalue()


def escaping(folder: Path) -> bytes:
    buffer = io.BytesIO((folder / "model.npz").read_bytes())
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("../../escaped.npy", b"x")
    return buffer.getvalue()


class _Executes:
    def __reduce__(self) -> Any:
        return (Path("executed").touch, ())


FORGERIES: dict[str, Callable[[Path], bytes]] = {
    "truncated": lambda folder: (folder / "model.npz").read_bytes()[:-400],
    "empty": lambda folder: b"",
    "no archive": lambda folder: b"\x00" * 1000,
    "object arrays": lambda folder: packed(
        arrays(folder) | {"stack.scales": np.array([_Executes(), _Executes()], dtype=object)}
    ),
    "huge header": lambda folder: huge_header("stack.scales"),
    "compressed": lambda folder: compressed(arrays(folder) | {"zeros": np.zeros(10**6)}),
    "path": escaping,
    "missing array": lambda folder: packed({"stack.scales": np.ones(2)}),
    "text": lambda folder: packed(arrays(folder) | {"stack.offsets": np.array(["a", "b"])}),
    "too many classes": lambda folder: packed(arrays(folder) | {"stack.offsets": np.zeros(9)}),
    "too many heads": lambda folder: packed(arrays(folder) | {"stack.scales": np.zeros(9)}),
    "narrow": lambda folder: packed(arrays(folder) | {"linear.directions": np.zeros((1, 2))}),
    "not finite": lambda folder: packed(arrays(folder) | {"stack.offsets": np.full(2, np.nan)}),
    "cycle": lambda folder: packed(arrays(folder) | {"trees.left": np.zeros_like(arrays(folder)["trees.left"])}),
    "column that is not there": lambda folder: packed(
        arrays(folder) | {"trees.feature": np.where(arrays(folder)["trees.feature"] >= 0, 999, -1)}
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_file_is_one_sentence(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    forge(folder, FORGERIES[name](folder))
    before = sorted(path.name for path in folder.parent.rglob("*"))
    np.save(folder.parent / "rows.npy", np.zeros((3, 4)))
    with pytest.raises(EigencleanError) as raised:
        RobustClassifier.load(folder)
    assert "\n" not in str(raised.value)
    assert run(["predict", str(folder), str(folder.parent / "rows.npy"), "--out", str(folder / "p.csv")]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert sorted(path.name for path in folder.parent.rglob("*") if path.name != "rows.npy") == before


@pytest.mark.parametrize(
    "changes",
    [
        {"model": {"n_columns": 10**12, "loss": 0.0, "heads": []}},
        {"model": None},
        {"model": {"n_columns": 4, "loss": 0, "heads": [{"name": "../x", "kind": "linear"}]}},
        {"classes": [0] * 50},
        {"classes_type": "O"},
        {"recipe": {"detector": "os.system"}},
        {"columns": 5},
    ],
)
def test_a_forged_record_is_one_sentence(changes: dict[str, Any], folder: Path) -> None:
    forge(folder, (folder / "model.npz").read_bytes(), **changes)
    with pytest.raises(EigencleanError):
        RobustClassifier.load(folder)


@pytest.mark.parametrize("n_columns", [10**13, 0, -4, "wide", 5])
def test_a_forged_width_is_one_sentence(n_columns: Any, folder: Path) -> None:
    model = json.loads((folder / "model.json").read_text())["model"]
    forge(folder, (folder / "model.npz").read_bytes(), model={**model, "n_columns": n_columns})
    with pytest.raises(EigencleanError, match="is not a saved classifier"):
        RobustClassifier.load(folder)
