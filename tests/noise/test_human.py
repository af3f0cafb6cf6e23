"""Human labels: the files as they are out there, and files that mean harm."""

import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.noise import add_noise, corrupt
from eigenclean.noise.human import Human
from eigenclean.sources.layouts.safe_pickle import read_pickled_arrays

CLEAN = np.array([6, 9, 9, 4, 1, 0, 2, 3, 5, 7, 8])
WORSE = np.array([6, 9, 1, 4, 1, 0, 2, 5, 5, 7, 0])
SETS = {"clean_label": CLEAN, "worse_label": WORSE, "aggre_label": CLEAN, "random_label1": CLEAN}


def write_pt(path: Path, content: Any, protocol: int = 2, archive: str = "archive") -> Path:
    """The layout of ``torch.save``: an uncompressed zip archive with the pickle as NAME/data.pkl."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{archive}/data.pkl", pickle.dumps(content, protocol=protocol))
        file.writestr(f"{archive}/version", "3\n")
    return path


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_a_pt_file_as_pytorch_writes_it(tmp_path: Path, protocol: int) -> None:
    path = write_pt(tmp_path / "CIFAR-10_human.pt", SETS, protocol, archive="CIFAR-10_human")
    record = corrupt(CLEAN, "human", path=path)
    np.testing.assert_array_equal(record.labels, WORSE)
    assert record.true_rate == pytest.approx(3 / 11)
    assert record.rate is None


def test_a_pt_file_that_numpy_1_wrote(tmp_path: Path) -> None:
    data = pickle.dumps(SETS, protocol=2)
    renamed = data.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    assert renamed != data
    with zipfile.ZipFile(tmp_path / "old.pt", "w") as file:
        file.writestr("archive/data.pkl", renamed)
    np.testing.assert_array_equal(read_pickled_arrays(tmp_path / "old.pt")["worse_label"], WORSE)


def test_a_bare_pickle(tmp_path: Path) -> None:
    path = tmp_path / "bare.pt"
    path.write_bytes(pickle.dumps(SETS))
    np.testing.assert_array_equal(add_noise(CLEAN, "human", path=path), WORSE)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(5, dtype=">i4"),
        np.arange(5, dtype="u1"),
        np.array([True, False]),
        np.array(["cat", "dög"]),
        np.array([b"cat"]),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
    ],
)
def test_arrays_come_back_as_they_were(tmp_path: Path, array: Array) -> None:
    back = read_pickled_arrays(write_pt(tmp_path / "x.pt", {"x": array}))["x"]
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


class Attack:
    """Runs a command when unpickled in the ordinary way."""

    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self) -> Any:
        return os.system, (f"echo owned > {self.witness}",)


@pytest.mark.parametrize("wrap", ["alone", "value", "key order", "inside an array"])
@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_runs_code_is_refused_unrun(tmp_path: Path, wrap: str, zipped: bool, protocol: int) -> None:
    witness = tmp_path / "witness"
    attack = Attack(witness)
    content = {
        "alone": attack,
        "value": {**SETS, "extra": attack},
        "key order": {"extra": attack, **SETS},
        "inside an array": {**SETS, "extra": np.array([attack], dtype=object)},
    }[wrap]
    path = tmp_path / "evil.pt"
    if zipped:
        write_pt(path, content, protocol)
    else:
        path.write_bytes(pickle.dumps(content, protocol))
    with pytest.raises(InvalidData, match="contains something other than arrays"):
        add_noise(CLEAN, "human", path=path)
    assert not witness.exists()


def test_the_attack_would_leave_its_witness(tmp_path: Path) -> None:
    run, arguments = Attack(tmp_path / "witness").__reduce__()  # what an ordinary unpickler calls
    run(*arguments)
    assert (tmp_path / "witness").exists()


@pytest.mark.parametrize(
    "name",
    [
        "builtins.eval",
        "builtins.getattr",
        "numpy.load",
        "numpy.core.multiarray.scalar",
        "numpy._core.multiarray.fromfile",
        "torch._utils._rebuild_tensor_v2",
        "_codecs.decode",
        "eigenclean.sources.layouts.safe_pickle.pickle",
    ],
)
def test_every_other_name_is_refused(tmp_path: Path, name: str) -> None:
    module, _, attribute = name.rpartition(".")
    path = tmp_path / "named.pt"
    path.write_bytes(f"c{module}\n{attribute}\n.".encode())
    with pytest.raises(InvalidData, match=f"contains something other than arrays \\({name}\\)"):
        read_pickled_arrays(path)


def test_a_dotted_name_does_not_reach_further(tmp_path: Path) -> None:
    path = tmp_path / "dotted.pt"
    path.write_bytes(b"\x80\x04\x8c\x05numpy\x8c\x12ndarray.__class__.x\x93.")
    with pytest.raises(InvalidData):
        read_pickled_arrays(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a pickle",
        pickle.dumps(SETS)[:-40],
        pickle.dumps([1, 2]),
        pickle.dumps({"clean_label": [1, 2]}),
        pickle.dumps({"clean_label": np.array([0.5])}),
        b"PK\x03\x04 broken archive",
        b"cnumpy\ndtype\n}b.",  # sets attributes on the stand-in itself, not on an instance
        b"c_codecs\nencode\n}b.",
        b"}(Vclean_label\ncnumpy.core.multiarray\n_reconstruct\n)Rs.",  # an array without a state
    ],
)
def test_broken_files_are_refused_in_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.pt"
    path.write_bytes(content)
    with pytest.raises(InvalidData, match=r"broken.pt is not a readable .pt file") as caught:
        add_noise(CLEAN, "human", path=path)
    assert "\n" not in str(caught.value)


def test_an_array_that_claims_more_than_it_has_is_refused(tmp_path: Path) -> None:
    data = pickle.dumps({"clean_label": np.zeros(7, dtype=np.int64)}, protocol=4)
    path = tmp_path / "long.pt"
    path.write_bytes(data.replace(b"K\x07\x85", b"K\x63\x85"))
    with pytest.raises(InvalidData, match="not a readable"):
        read_pickled_arrays(path)


def test_an_archive_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eigenclean.sources.layouts.safe_pickle.LARGEST", 1 << 8)
    path = tmp_path / "bare.pt"
    path.write_bytes(pickle.dumps(SETS))
    for large in (path, write_pt(tmp_path / "large.pt", SETS)):
        with pytest.raises(InvalidData, match="too much for a pickle"):
            read_pickled_arrays(large)


@pytest.mark.parametrize(("which", "key"), [("rand1", "rand1"), ("random_label1", "random1"), ("random1", "rand1")])
def test_npz_under_the_known_names(tmp_path: Path, which: str, key: str) -> None:
    arrays: dict[str, Any] = {"clean": CLEAN, key: WORSE, "features": np.zeros((3, 3))}
    np.savez(tmp_path / "labels.npz", **arrays)
    np.testing.assert_array_equal(add_noise(CLEAN, "human", path=tmp_path / "labels.npz", which=which), WORSE)


def test_structured_npy(tmp_path: Path) -> None:
    rows = np.zeros(len(CLEAN), dtype=[("clean_label", "i8"), ("noisy_label", "u1")])
    rows["clean_label"], rows["noisy_label"] = CLEAN, WORSE
    np.save(tmp_path / "labels.npy", rows)
    np.testing.assert_array_equal(add_noise(CLEAN, "human", path=tmp_path / "labels.npy", which="noisy"), WORSE)


def test_numbers_in_the_file_count_names(tmp_path: Path) -> None:
    path = write_pt(tmp_path / "x.pt", SETS)
    names = np.array(["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"])
    np.testing.assert_array_equal(add_noise(names[CLEAN], "human", path=path), names[WORSE])


@pytest.mark.parametrize(
    ("content", "labels", "message"),
    [
        (
            {"clean": CLEAN, "worst": WORSE},
            CLEAN[::-1],
            "must equal the given labels, but 10 of 11 differ, the first",
        ),
        (
            {"clean": CLEAN, "worst": WORSE},
            CLEAN[:-1],
            "8 in row 10 of .* is not among the classes .*give all of them",
        ),
        ({"clean": CLEAN[1:], "worst": WORSE[1:]}, CLEAN, "is for 10 labels, got 11"),
        ({"clean": CLEAN, "worst": WORSE[1:]}, CLEAN, "must have equal length"),
        ({"clean": CLEAN, "worst": WORSE + 1}, CLEAN, "label 10 in row 1 of"),
        ({"clean": CLEAN, "worst": WORSE + 0.5}, CLEAN, "labels must be classes"),
        ({"clean": CLEAN.astype(str), "worst": WORSE.astype(str)}, CLEAN, "has labels of type <U"),
        ({"worst": WORSE}, CLEAN, "has no clean labels"),
        ({"clean": CLEAN, "noisy": WORSE}, CLEAN, "has no worst labels.* it has clean, noisy"),
        ({"x": WORSE}, CLEAN, "it has no known label set"),
        ({"clean": CLEAN, "worst": np.array([None] * 11)}, CLEAN, "not a readable .npz file"),
    ],
)
def test_a_file_that_does_not_fit_is_explained(
    tmp_path: Path, content: dict[str, Array], labels: Array, message: str
) -> None:
    path = tmp_path / "labels.npz"
    np.savez(path, allow_pickle=True, **content)
    with pytest.raises(InvalidData, match=message):
        add_noise(labels, "human", path=path)


def test_a_plain_npy_has_no_clean_labels(tmp_path: Path) -> None:
    np.save(tmp_path / "plain.npy", WORSE)
    with pytest.raises(InvalidData, match="has no clean labels"):
        add_noise(CLEAN, "human", path=tmp_path / "plain.npy")


@pytest.mark.parametrize("suffix", [".npz", ".npy"])
def test_truncated_numpy_files(tmp_path: Path, suffix: str) -> None:
    whole = io.BytesIO()
    np.savez(whole, clean=CLEAN, worst=WORSE) if suffix == ".npz" else np.save(whole, CLEAN)
    path = tmp_path / f"cut{suffix}"
    for length in (0, 5, 60, len(whole.getvalue()) - 30):
        path.write_bytes(whole.getvalue()[:length])
        with pytest.raises(InvalidData, match="is not a readable"):
            add_noise(CLEAN, "human", path=path)


def test_there_must_be_a_file_of_a_known_kind(tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match="there is no file"):
        add_noise(CLEAN, "human", path=tmp_path / "none.pt")
    (tmp_path / "labels.csv").write_text("1,2")
    with pytest.raises(InvalidData, match=r"must come as \.pt, \.npz or \.npy"):
        add_noise(CLEAN, "human", path=tmp_path / "labels.csv")


def test_names_of_label_sets_are_checked() -> None:
    with pytest.raises(InvalidOption, match=r"which must be one of aggregate, clean, .* did you mean 'worst'"):
        Human("x.pt", which="worsst")
    assert Human("x.pt", which="worse_label") == Human(Path("x.pt"), which="worst")
