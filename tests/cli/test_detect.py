import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from eigenclean import FINE, Verdict, __version__
from eigenclean.arrays import Array
from eigenclean.metrics import noise_rate_interval

SUMMARY = {
    "n_samples", "n_classes", "n_flagged", "estimated_noise_rate", "estimated_noise_rate_interval", "per_class",
    "method", "parameters", "seconds", "version", "data_hash",
}  # fmt: skip
COLUMNS = [
    "id", "given_label", "is_label_issue", "label_score",
    "suggested_label", "suggested_confidence", "score", "rank",
]  # fmt: skip

Digits = tuple[Array, Array, Array]
Cli = Callable[..., Any]


def test_writes_verdict_summary_and_report(cli: Cli, npz: Path, tmp_path: Path, digits: Digits) -> None:
    out = tmp_path / "run"
    ran = cli("detect", npz, "--out", out, "--csv", "--method", "fine")
    assert ran.code == 0, ran.err
    assert {file.name for file in out.iterdir()} == {
        "verdict.parquet",
        "verdict.csv",
        "manifest.json",
        "summary.json",
        "report.html",
        "report.json",
    }
    frame = pq.read_table(out / "verdict.parquet")
    assert frame.column_names == COLUMNS
    assert pyarrow.csv.read_csv(out / "verdict.csv").column_names == COLUMNS
    summary = json.loads((out / "summary.json").read_text())
    assert set(summary) >= SUMMARY
    assert summary["version"] == __version__
    expected = FINE().fit(digits[0], digits[1]).judge(digits[0], digits[1])
    loaded = Verdict.load(out)
    np.testing.assert_array_equal(loaded.flagged, expected.flagged)
    np.testing.assert_allclose(loaded.p_clean, expected.p_clean)
    assert summary["n_flagged"] == expected.n_flagged
    assert f"{expected.n_flagged} of 600 labels look wrong" in ran.out
    low, high = summary["estimated_noise_rate_interval"]
    assert (low, high) == pytest.approx(noise_rate_interval(expected.p_clean))
    rate = summary["estimated_noise_rate"]
    assert f"estimated noise rate {100 * rate:.1f} % ({100 * low:.1f} to {100 * high:.1f} %); fine" in ran.out
    page = (out / "report.html").read_text()
    assert f"eigenclean detect {npz}" in page or "Run it again" in page


def test_json_is_the_only_output(cli: Cli, npz: Path, tmp_path: Path) -> None:
    ran = cli("detect", npz, "--out", tmp_path / "run", "--json", "--no-report")
    assert json.loads(ran.out) == json.loads((tmp_path / "run" / "summary.json").read_text())
    assert not (tmp_path / "run" / "report.html").exists()


def test_options_reach_the_detector(cli: Cli, npz: Path, tmp_path: Path) -> None:
    ran = cli(
        "detect", npz, "--out", tmp_path / "run", "--json", "--threshold", "0.9", "--seed", "7", "--method", "fine",
        "--set", "preset=paper", "--set", "cut=beta", "--set", "cut.split=always", "--set", "subset=0.5",
    )  # fmt: skip
    parameters = json.loads(ran.out)["parameters"]
    assert parameters["preset"] == "paper"
    assert parameters["threshold"] == 0.9
    assert parameters["subset"] == 0.5
    assert parameters["random_state"] == 7
    assert parameters["cut"]["name"] == "beta"
    assert parameters["cut"]["split"] == "always"


@pytest.mark.parametrize("form", ["npy", "parquet", "csv", "arrow"])
def test_every_form_gives_the_same_verdict(cli: Cli, npz: Path, tmp_path: Path, digits: Digits, form: str) -> None:
    pixels, labels, _ = digits
    names = [f"class {label}" for label in labels]
    source, options = tmp_path / f"digits.{form}", ["--label-column", "which"]
    columns = {f"f{j}": pixels[:, j].astype(np.float64) for j in range(pixels.shape[1])}
    if form == "npy":
        np.save(source, pixels)
        np.save(tmp_path / "y.npy", np.array(names))
        options = ["--labels", str(tmp_path / "y.npy")]
    elif form == "csv":
        pyarrow.csv.write_csv(pa.table({**columns, "which": names}), str(source))
    else:
        flat = pa.FixedSizeListArray.from_arrays(pa.array(pixels.ravel()), pixels.shape[1])
        table = pa.table({"z": flat, "which": names})
        if form == "parquet":
            pq.write_table(table, source)
        else:
            with pa.OSFile(str(source), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)
    assert cli("detect", npz, "--out", tmp_path / "a", "--method", "fine").code == 0
    ran = cli("detect", source, *options, "--out", tmp_path / "b", "--method", "fine")
    assert ran.code == 0, ran.err
    a, b = Verdict.load(tmp_path / "a"), Verdict.load(tmp_path / "b")
    np.testing.assert_array_equal(a.flagged, b.flagged)
    assert b.labels[0] == f"class {a.labels[0]}"


def test_a_small_class_is_a_note_not_a_traceback(cli: Cli, tmp_path: Path, digits: Digits) -> None:
    labels = digits[1].copy()
    labels[:3] = 77
    np.savez(tmp_path / "x.npz", features=digits[0], labels=labels)
    ran = cli("detect", tmp_path / "x.npz", "--out", tmp_path / "run", "--method", "fine")
    assert ran.code == 0
    assert re.search(r"^note: FINE: class 77 kept whole", ran.err, re.M)
    assert "Warning" not in ran.err


def test_running_again_replaces_the_results(cli: Cli, npz: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert cli("detect", npz, "--out", out).code == 0
    assert cli("detect", npz, "--out", out, "--threshold", "0.01").code == 0
    assert json.loads((out / "summary.json").read_text())["parameters"]["threshold"] == 0.01
    assert not [file for file in out.iterdir() if file.suffix == ".tmp"]
