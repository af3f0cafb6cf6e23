"""The base install, without any extra, in a virtual environment of its own: what most people start with."""

import json
import subprocess
import sys
import sysconfig
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


def base_dependencies(name: str = "eigenclean") -> set[str]:
    """Names of the distributions that ``name`` requires without any extra, and what these require in turn."""
    found: set[str] = set()
    todo = [name]
    while todo:
        for line in distribution(todo.pop()).requires or ():
            requirement = Requirement(line)
            needed = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if needed and requirement.name not in found:
                found.add(requirement.name)
                todo.append(requirement.name)
    return found


def environment(folder: Path, *options: str) -> Path:
    """The bin folder of a fresh environment into which eigenclean was installed."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([*pip, *options, str(ROOT)], check=True)
    return folder / "bin"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a fresh environment with eigenclean and what it depends on, nothing else.

    The dependencies are links to those of this environment: installing and compiling them anew takes two minutes.
    """
    folder = tmp_path_factory.mktemp("bare") / "venv"
    binaries = environment(folder, "--no-deps")
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    for name in base_dependencies():
        there = distribution(name)
        for top in {file.parts[0] for file in there.files or ()} - {"..", "__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(Path(str(there.locate_file(top))).resolve())
    return binaries


@pytest.mark.slow
def test_pip_installs_all_that_the_demo_needs(tmp_path: Path) -> None:
    binaries = environment(tmp_path / "venv")
    assert call(binaries, "demo", "--out", "run", cwd=tmp_path).returncode == 0
    assert (tmp_path / "run" / "report.html").is_file()


def call(bare: Path, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [str(bare / "eigenclean"), *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def test_imports_without_any_extra(bare: Path, tmp_path: Path) -> None:
    code = (
        "import eigenclean, sys; [getattr(eigenclean, name) for name in eigenclean.__all__]; "
        "print(sorted({'torch', 'dask', 'cleanlab', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [bare / "python", "-W", "error", "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_detects_from_noise_to_report(bare: Path, tmp_path: Path) -> None:
    assert call(bare, "noise", "digits", "--out", "noisy.npz", cwd=tmp_path).returncode == 0
    done = call(bare, "detect", "noisy.npz", "--out", "run", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n_samples"] == 1797
    assert (tmp_path / "run" / "report.html").stat().st_size > 10_000  # templates are in the package
    done = call(bare, "score", "run", "--truth", "noisy.truth.npy", cwd=tmp_path)
    assert "AUROC" in done.stdout


def test_raw_images_name_the_extra(bare: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", images=np.zeros((4, 8, 8), np.uint8), labels=[0, 1, 0, 1])
    done = call(bare, "detect", "x.npz", "--out", "run", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "to embed images an encoder is needed" in done.stderr
    assert "pip install 'eigenclean[embed]'" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"]
    assert "efficientnet-lite1" in call(bare, "list", "encoders", cwd=tmp_path).stdout


def test_reviews_in_a_single_file_and_names_the_extra_for_the_server(bare: Path, tmp_path: Path) -> None:
    assert call(bare, "demo", "--out", "run", cwd=tmp_path).returncode == 0
    done = call(bare, "review", "run", "--export", "review.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "class LocalBackend" in (tmp_path / "review.html").read_text()  # the page is in the package
    done = call(bare, "review", "run", "--no-browser", cwd=tmp_path)
    assert done.returncode == 2
    assert "pip install 'eigenclean[review]'" in done.stderr


def test_the_probe_trains_and_predicts(bare: Path, tmp_path: Path) -> None:
    done = call(bare, "train", "wine", "--out", "run", "--selector", "knn", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = call(bare, "predict", "run", "wine", "--out", "predictions.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "predictions.csv").read_text().count("\n") == 179


def test_torch_only_commands_name_the_extra(bare: Path, tmp_path: Path) -> None:
    done = call(bare, "train", "digits", "--out", "run", "--recipe", "fine", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "torch" in done.stderr
    assert "pip install 'eigenclean[train]'" in done.stderr
    assert list(tmp_path.iterdir()) == []
