"""Bad input: one clear sentence, exit code 2, nothing written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

Cli = Callable[..., Any]
X = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
Y = np.arange(40) % 2


def _npz(path: Path, **arrays: Any) -> list[str]:
    np.savez(path / "x.npz", **arrays)
    return [str(path / "x.npz")]


def _with(value: float, row: int) -> Any:
    broken = X.copy()
    broken[row, 1] = value
    return broken


def _table(path: Path, name: str, **columns: Any) -> str:
    table = pa.table({"a": X[:, 0].tolist(), "b": X[:, 1].tolist(), **columns})
    if name.endswith(".csv"):
        pyarrow.csv.write_csv(table, str(path / name))
    else:
        pq.write_table(table, path / name)
    return str(path / name)


def _cut(path: Path, name: str) -> list[str]:
    file = path / name
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    return [str(file)]


def _bytes(path: Path, name: str, content: bytes) -> list[str]:
    (path / name).write_bytes(content)
    return [str(path / name)]


def _npy(path: Path, n_labels: int) -> list[str]:
    np.save(path / "x.npy", X)
    np.save(path / "y.npy", Y[:n_labels])
    return [str(path / "x.npy"), "--labels", str(path / "y.npy")]


def _object_npz(path: Path) -> list[str]:
    objects = np.array([{"a": 1}] * 40, dtype=object)
    np.savez(path / "x.npz", features=objects, labels=Y)
    return [str(path / "x.npz")]


FINE = ["--method", "fine"]


def _good(path: Path) -> list[str]:
    return _npz(path, features=X, labels=Y)


CASES: dict[str, tuple[Callable[[Path], list[str]], list[str]]] = {
    "nan": (lambda p: _npz(p, features=_with(np.nan, 7), labels=Y), ["1 of 160 values", "row 7"]),
    "infinity": (lambda p: _npz(p, features=_with(-np.inf, 3), labels=Y), ["NaN or infinite", "row 3"]),
    "lengths differ": (lambda p: _npy(p, 39), ["40", "39"]),
    "one class": (lambda p: _npz(p, features=X, labels=np.zeros(40, int)), ["at least two classes"]),
    "text features": (lambda p: _npz(p, features=np.full((40, 2), "a"), labels=Y), ["numbers", "text"]),
    "one-dimensional features": (lambda p: _npz(p, features=X[:, 0], labels=Y), ["shape (40,)"]),
    "missing labels": (
        lambda p: [_table(p, "x.parquet", label=["u", None] * 20)],
        ["20 of 40 labels are missing", "row 1"],
    ),
    "fractions as labels": (lambda p: _npz(p, features=X, labels=Y + 0.5), ["integers or strings", "0.5"]),
    "no labels": (lambda p: _npz(p, features=X), ["labels", "features"]),
    "object array": (_object_npz, ["x.npz"]),
    "empty file": (lambda p: _bytes(p, "x.npz", b""), ["x.npz"]),
    "empty csv": (lambda p: _bytes(p, "x.csv", b""), ["x.csv"]),
    "no rows": (lambda p: _npz(p, features=X[:0], labels=Y[:0]), ["no rows"]),
    "foreign npz": (lambda p: _bytes(p, "x.npz", b"PK but not really"), ["x.npz"]),
    "foreign parquet": (lambda p: _bytes(p, "x.parquet", b"<html>"), ["x.parquet"]),
    "truncated npz": (lambda p: _good(p) and _cut(p, "x.npz"), ["x.npz"]),
    "truncated parquet": (
        lambda p: [_table(p, "x.parquet", label=Y.tolist())] and _cut(p, "x.parquet"),
        ["x.parquet"],
    ),
    "wrong label column": (
        lambda p: [_table(p, "x.csv", kind=Y.tolist()), "--label-column", "kinds"],
        ["kinds", "kind"],
    ),
    "wrong feature column": (
        lambda p: [_table(p, "x.csv", label=Y.tolist()), "--feature-column", "c"],
        ["no column 'c'", "'a', 'b', 'label'"],
    ),
    "duplicate ids": (lambda p: _npz(p, features=X, labels=Y, ids=Y), ["unique"]),
    "unknown suffix": (lambda p: _bytes(p, "x.xyz", b"1"), [".npz", ".parquet"]),
    "no such file": (lambda p: [str(p / "nothing.npz")], ["no file", "nothing.npz"]),
    "threshold out of range": (lambda p: [*_good(p), "--threshold", "1.5"], ["threshold", "0 and 1", "1.5"]),
    "threshold not a number": (lambda p: [*_good(p), "--threshold", "high"], ["threshold", "valid number"]),
    "unknown method": (lambda p: [*_good(p), "--method", "fin"], ["did you mean 'fine'"]),
    "unknown option": (lambda p: [*_good(p), *FINE, "--set", "subst=1"], ["did you mean 'subset'"]),
    "unknown option of the cut": (
        lambda p: [*_good(p), *FINE, "--set", "cut.splt=always"],
        ["did you mean 'split'"],
    ),
    "bad value of the cut": (lambda p: [*_good(p), *FINE, "--set", "cut.split=maybe"], ["split must be", "maybe"]),
    "bad value": (lambda p: [*_good(p), *FINE, "--set", "preset=novel"], ["preset must be one of", "novel"]),
    "setting without value": (lambda p: [*_good(p), "--set", "subset"], ["option=value"]),
}


@pytest.mark.parametrize("case", CASES)
def test_one_sentence_exit_code_2_nothing_written(cli: Cli, tmp_path: Path, case: str) -> None:
    make, fragments = CASES[case]
    out = tmp_path / "deep" / "run"
    ran = cli("detect", *make(tmp_path), "--out", out)
    assert ran.code == 2, ran.err
    assert ran.out == ""
    assert ran.err.startswith("eigenclean: ")
    assert ran.err.count("\n") == 1
    for fragment in fragments:
        assert fragment in ran.err
    assert not out.parent.exists()


def test_a_failed_run_leaves_earlier_results_alone(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert cli("detect", *_good(tmp_path), "--out", out).code == 0
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    assert cli("detect", *_npz(tmp_path, features=_with(np.nan, 0), labels=Y), "--out", out).code == 2
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before


def test_an_output_folder_that_cannot_be_written(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for out in (tmp_path / "file", tmp_path / "file" / "run"):
        ran = cli("detect", *_good(tmp_path), "--out", out)
        assert ran.code == 2
        assert "cannot" in ran.err
        assert ran.err.count("\n") == 1
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["detekt"], "'detekt'; did you mean 'detect'? See `eigenclean --help`"),
        (["detect"], "SOURCE"),
        (["detect", "x.npz"], "--out"),
        (["detect", "x.npz", "--out", "y", "--nonsense"], "--nonsense"),
        (["list", "detektors"], "did you mean 'detectors'"),
        (["score", "nowhere", "--truth", "y.npy"], "no verdict at nowhere"),
        (["noise", "digits", "--kind", "symetric", "--out", "x.npz"], "did you mean 'symmetric'"),
        (["noise", "digits", "--rate", "1.2", "--out", "x.npz"], "1.2"),
        (["noise", "digits", "--out", "x.csv"], ".npz"),
        (["demo", "--rate", "-1"], "-1"),
    ],
)
def test_mistakes_on_the_command_line(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], fragment: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = cli(*arguments)
    assert ran.code == 2, ran.err
    assert fragment in ran.err
    assert ran.err.startswith("eigenclean: ")
    assert ran.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_debug_shows_the_traceback(cli: Cli, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="no file or folder"):
        cli("detect", tmp_path / "nothing.npz", "--out", tmp_path / "run", "--debug")
