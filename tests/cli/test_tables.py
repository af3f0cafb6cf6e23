"""Tables as people have them, from the command line: mixed columns, gaps, ids, and what the console says."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from eigenclean.patch import Patch
from eigenclean.sources import open_source
from eigenclean.tables import TableEncoding

N = 240
WRONG = (3, 77, 150)
LINE = (
    "features: 3 numbers, 2 categories (5 values), 1 date; filled 5 missing values; "
    "left out: bird_id (identifier), station (constant), remark (text: name it with --text-column); "
    "column 'species_code' repeats the label; left out"
)


def birds(seed: int = 1) -> dict[str, list[Any]]:
    """Three species with measures, categories, gaps, and columns that say nothing; three labels are wrong."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, N)
    bill = np.array([39.0, 48.0, 47.0])[kind] + rng.normal(0, 1.5, N)
    depth = np.array([18.0, 18.5, 15.0])[kind] + rng.normal(0, 0.5, N)
    mass = np.array([3700, 3800, 5000])[kind] + rng.integers(-300, 300, N)
    given = kind.copy()
    given[list(WRONG)] = (kind[list(WRONG)] + 1) % 3
    missing = set(range(0, 50, 10))
    return {
        "bird_id": list(range(1000, 1000 + N)),
        "station": ["north"] * N,
        "island": [("Biscoe", "Dream", "Torgersen")[i] for i in (kind + (rng.random(N) < 0.3)) % 3],
        "bill_mm": [None if i in missing else round(float(x), 1) for i, x in enumerate(bill)],
        "depth_mm": [round(float(x), 2) for x in depth],
        "mass_g": mass.tolist(),
        "sex": [None if i % 40 == 7 else ("male", "female")[i % 2] for i in range(N)],
        "seen": [f"200{7 + i % 3}-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in rng.permutation(N).tolist()],
        "remark": [f"seen near the coast for {i} days" for i in range(N)],
        "species_code": [f"S{i}" for i in given],
        "species": [("Adelie", "Chinstrap", "Gentoo")[i] for i in given],
    }


@pytest.fixture
def penguins(tmp_path: Path) -> Path:
    pa.csv.write_csv(pa.table(birds()), tmp_path / "birds.csv")
    return tmp_path / "birds.csv"


def test_one_command_on_a_mixed_table(cli: Callable[..., Any], penguins: Path, tmp_path: Path) -> None:
    done = cli("detect", penguins, "--label-column", "species", "--out", tmp_path / "run", "--json")
    assert done.code == 0, done.err
    assert LINE in " ".join(done.err.split())
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["features"]["sentence"] == LINE
    assert summary["features"]["columns"]["sex"] == "category"
    assert "bird_id (identifier)" in (tmp_path / "run" / "report.html").read_text()
    flagged = pq.read_table(tmp_path / "run" / "verdict.parquet").to_pylist()
    worst = sorted(flagged, key=lambda row: row["label_score"])[:3]
    assert {row["id"] for row in worst} == {*WRONG}
    encoding = TableEncoding.load(tmp_path / "run" / "encoding.json")
    source = open_source(penguins, label_column="species")
    np.testing.assert_array_equal(encoding.transform(pa.csv.read_csv(penguins)), source.features())
    assert summary["data_hash"] == source.data_hash()


def test_options_overrule_and_are_remembered(cli: Callable[..., Any], penguins: Path, tmp_path: Path) -> None:
    options = ["--label-column", "species", "--out", tmp_path / "run", "--json"]
    done = cli("detect", penguins, *options, "--leave-out", "s*n", "--category-column", "mass_g")
    columns = json.loads(done.out)["features"]["columns"]
    assert columns["mass_g"] == "category" and {"seen", "station"}.isdisjoint(columns)
    assert "seen (--leave-out)" in done.err
    assert json.loads(done.out)["source"]["leave_out"] == ["s*n"]
    done = cli("detect", penguins, *options, "--feature-column", "bird_id", "--feature-column", "island")
    assert json.loads(done.out)["features"]["columns"] == {"bird_id": "number", "island": "category"}
    done = cli("detect", penguins, *options, "--leave-out", "island", "--feature-column", "island")
    assert done.code == 2 and "cannot be a feature and left out at once" in " ".join(done.err.split())


def test_check_and_review_read_the_same_columns(cli: Callable[..., Any], penguins: Path, tmp_path: Path) -> None:
    done = cli("check", penguins, "--label-column", "species", "--max-noise", "0.5")
    assert done.code == 0 and LINE in " ".join(done.err.split())
    cli("detect", penguins, "--label-column", "species", "--out", tmp_path / "run", "--leave-out", "seen")
    done = cli("review", tmp_path / "run", "--export", tmp_path / "page.html")
    assert done.code == 0, done.err
    assert "other features now than were judged" not in (tmp_path / "page.html").read_text()


def test_a_patch_is_applied_and_reverted(cli: Callable[..., Any], penguins: Path, tmp_path: Path) -> None:
    """The code of the label is no copy of it any more once a label is fixed; the data are known all the same."""
    cli("detect", penguins, "--label-column", "species", "--out", tmp_path / "run")
    data_hash = json.loads((tmp_path / "run" / "summary.json").read_text())["data_hash"]
    before = penguins.read_bytes()
    labels = birds()["species"]
    new = "Adelie" if labels[3] != "Adelie" else "Gentoo"
    record = {"id": 3, "decision": "relabel", "old": labels[3], "new": new, "data_hash": data_hash}
    Patch.from_records([record]).save(tmp_path / "patch.jsonl")
    options = ["--label-column", "species", "--in-place"]
    assert cli("patch", "apply", penguins, tmp_path / "patch.jsonl", *options).code == 0
    assert penguins.read_bytes() != before
    assert cli("patch", "revert", penguins, tmp_path / "patch.jsonl", *options).code == 0
    assert penguins.read_bytes() == before


def test_fine_says_that_it_does_not_suit_centred_columns(
    cli: Callable[..., Any], penguins: Path, tmp_path: Path
) -> None:
    done = cli("detect", penguins, "--label-column", "species", "--out", tmp_path / "run", "--method", "fine")
    assert done.code == 0 and "note: fine ignores the sign of a direction" in done.err


def test_frames_of_every_library_are_encoded_alike(penguins: Path) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = open_source(penguins, label_column="species")
    for frame in (pandas.read_csv(penguins), polars.read_csv(penguins), pa.csv.read_csv(penguins)):
        source = open_source(frame, label_column="species")
        np.testing.assert_allclose(source.features(), expected.features(), atol=1e-12)
        assert source.encoding is not None and source.encoding.sentence() == LINE


def test_training_keeps_the_encoding_and_tests_with_it(
    cli: Callable[..., Any], penguins: Path, tmp_path: Path
) -> None:
    pytest.importorskip("torch", reason="needs the train extra")
    few = (
        pa.table(birds(seed=2)).slice(0, 40).drop_columns(["species_code"])
    )  # an encoding of its own is another one
    pa.csv.write_csv(few, tmp_path / "test.csv")
    options = ["--label-column", "species", "--epochs", "2", "--test", tmp_path / "test.csv", "--json"]
    done = cli("train", penguins, "--out", tmp_path / "run", *options, "--device", "cpu")
    assert done.code == 0, done.err
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["features"]["sentence"] == LINE
    encoding = TableEncoding.load(tmp_path / "run" / "encoding.json")
    assert encoding.transform(few).shape == (40, len(encoding.feature_names))
