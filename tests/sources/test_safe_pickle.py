"""Arrays out of pickles: all that NumPy writes, nothing that runs, and a sentence for every damage."""

import io
import os
import pickle
import subprocess
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.sources.layouts import pickle_data, safe_pickle
from eigenclean.sources.layouts.safe_pickle import read_pickled_arrays, read_python2_batch

LABEL_TYPES = st.one_of(
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.boolean_dtypes(),
    hnp.unicode_string_dtypes(endianness="?", max_len=4),
    hnp.byte_string_dtypes(max_len=4),
)
ARRAYS = LABEL_TYPES.flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(max_dims=2, max_side=5)))


def write(path: Path, content: bytes, *, zipped: bool) -> Path:
    """A bare pickle, or the archive that PyTorch puts around one."""
    if zipped:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", content)
            archive.writestr("archive/version", "3")
    else:
        path.write_bytes(content)
    return path


@settings(max_examples=40)
@given(array=ARRAYS, by_column=st.booleans(), protocol=st.integers(0, 4), zipped=st.booleans())
def test_arrays_are_what_pickle_itself_would_load(
    array: Array, by_column: bool, protocol: int, zipped: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    array = np.asfortranarray(array) if by_column else array
    content = pickle.dumps({"clean": array, "worse": np.arange(3)}, protocol=protocol)
    path = write(tmp_path_factory.mktemp("pickle") / "x.pt", content, zipped=zipped)
    loaded = read_pickled_arrays(path)
    assert list(loaded) == ["clean", "worse"]
    assert loaded["clean"].dtype == array.dtype and loaded["clean"].shape == array.shape
    np.testing.assert_array_equal(loaded["clean"], array)
    np.testing.assert_array_equal(loaded["worse"], np.arange(3))


class Call:
    """Pickled as a call of that function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> Any:
        return self.function, self.arguments


@pytest.mark.parametrize("protocol", range(5))
@pytest.mark.parametrize("function", [os.mkdir, subprocess.getoutput, eval, getattr, np.load, np.fromfile])
@pytest.mark.parametrize("zipped", [False, True])
def test_functions_are_never_called(function: Any, protocol: int, zipped: bool, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    argument = f"__import__('os').mkdir({str(witness)!r})" if function is eval else str(witness)
    call = Call(function, f"mkdir {witness}" if function is subprocess.getoutput else argument)
    path = write(tmp_path / "x.pt", pickle.dumps({"clean": call}, protocol=protocol), zipped=zipped)
    with pytest.raises(InvalidData, match=rf"something other than arrays \(.*\.{function.__name__}\)"):
        read_pickled_arrays(path)
    assert not witness.exists()


def test_functions_inside_an_array_are_not_called_either(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    objects = np.array([Call(os.mkdir, str(witness))], dtype=object)
    with pytest.raises(InvalidData, match="something other than arrays"):
        read_pickled_arrays(write(tmp_path / "x.pt", pickle.dumps({"a": objects}, protocol=2), zipped=False))
    assert not witness.exists()


@pytest.mark.parametrize("dtype", ["f8", "c16", "O", "M8[s]", "V4"])
def test_arrays_of_other_types_are_no_labels(dtype: str, tmp_path: Path) -> None:
    content = pickle.dumps({"a": np.zeros(2, dtype=dtype)}, protocol=2)
    with pytest.raises(InvalidData, match=r"is not a readable \.pt file of arrays by name; download it again"):
        read_pickled_arrays(write(tmp_path / "x.pt", content, zipped=False))


def test_every_cut_and_every_lost_byte_is_arrays_or_a_sentence(tmp_path: Path) -> None:
    content = pickle.dumps({"a": np.arange(4, dtype=np.int16)}, protocol=2)
    cuts = [content[:end] for end in range(len(content))]
    damaged = [*cuts, *(content[:place] + b"\0" + content[place + 1 :] for place in range(len(content)))]
    path = tmp_path / "x.pt"
    n_refused = 0
    for piece in damaged:
        path.write_bytes(piece)
        try:
            loaded = read_pickled_arrays(path)
        except InvalidData as error:
            n_refused += 1
            assert "\n" not in str(error) and str(path) in str(error)
        else:
            assert all(isinstance(array, np.ndarray) for array in loaded.values())
    assert n_refused >= len(content)  # every cut


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe_pickle, "LARGEST", 1000)
    content = pickle.dumps({"a": np.zeros(4000, dtype=np.int8)}, protocol=2)
    for zipped in (False, True):
        path = write(tmp_path / f"{zipped}.pt", content, zipped=zipped)
        with pytest.raises(InvalidData, match="too much for a pickle; save its arrays as"):
            read_pickled_arrays(path)


def test_an_archive_that_grows_when_it_is_unpacked_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", bytes(5_000_000))
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(safe_pickle, "LARGEST", 10_000)
    n_read: list[int | None] = []
    read = zipfile.ZipExtFile.read

    def recording(file: zipfile.ZipExtFile, n: int | None = -1) -> bytes:
        n_read.append(n)
        return read(file, n)

    monkeypatch.setattr(zipfile.ZipExtFile, "read", recording)
    with pytest.raises(InvalidData):
        read_pickled_arrays(path)
    assert n_read == [10_001]


def test_batches_of_python_2_give_the_wanted_entries_only(tmp_path: Path) -> None:
    written = io.BytesIO()
    entries = {b"data": np.arange(6, dtype=np.uint8).reshape(2, 3), b"labels": [3, 1], b"filenames": [b"a", b"b"]}
    pickle.Pickler(written, protocol=2).dump(entries)
    path = write(tmp_path / "data_batch_1", written.getvalue(), zipped=False)
    loaded = read_python2_batch(path, ["data", "labels"])
    assert list(loaded) == ["data", "labels"] and loaded["labels"].tolist() == [3, 1]
    np.testing.assert_array_equal(loaded["data"], entries[b"data"])
    for wanted in ("coarse_labels", "filenames"):  # missing, and neither an array nor integers
        with pytest.raises(InvalidData, match="is not a readable batch of the python version"):
            read_python2_batch(path, [wanted])


# --- Damage and attacks that Python's own unpickler answers with gigabytes -------------------------------------


LARGE = (1 << 31) - 1
BOMBS = {
    "memo entry of four bytes": b"\x80\x02}q\x00r" + LARGE.to_bytes(4, "little") + b".",
    "memo entry as text": b"}p999999999999\n.",
    "length of bytes": b"\x80\x04B" + LARGE.to_bytes(4, "little") + b"x.",
    "length of bytes, eight bytes": b"\x80\x04\x8e" + (1 << 40).to_bytes(8, "little") + b"x.",
    "length of a text": b"\x80\x04X" + LARGE.to_bytes(4, "little") + b"x.",
    "length of a bytearray": b"\x80\x05\x96" + (1 << 40).to_bytes(8, "little") + b"x.",
    "length of a number": b"\x80\x02\x8b" + LARGE.to_bytes(4, "little") + b"x.",
    "frame": b"\x80\x04\x95" + (1 << 40).to_bytes(8, "little") + b"}.",
    "many lists": b"\x80\x02" + b"]" * 200_000 + b".",
    "long text encoded often": b"\x80\x02c_codecs\nencode\nq\x00X\x40\x42\x0f\x00" + b"a" * 1_000_000
    + b"q\x01X\x06\x00\x00\x00latin1q\x02" + b"h\x00h\x01h\x02\x86R" * 2000 + b".",
    "key of nested tuples": b"\x80\x02})" + b"q\x00h\x00\x86" * 60 + b"K\x01s.",
    "type of a long name": b"\x80\x02cnumpy\ndtype\nU" + bytes([200]) + b"a" * 200 + b"\x85R.",
}  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_small_file_cannot_ask_for_much_memory(
    bomb: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pickle_data, "MAX_INSTRUCTIONS", 10_000)
    path = write(tmp_path / "x.pt", bomb, zipped=False)
    assert peak_of_reading(path) < 5 * len(bomb) + 2_000_000


def test_no_flipped_bit_asks_for_memory(tmp_path: Path) -> None:
    """Bits all over a small file."""
    content = pickle.dumps({"a": np.arange(4, dtype=np.int16)}, protocol=2)
    for bit in range(0, 8 * len(content), 5):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        (tmp_path / "x").write_bytes(damaged)
        assert peak_of_reading(tmp_path / "x") < 1_000_000


def peak_of_reading(path: Path) -> int:
    """Bytes that were allocated at most while the file was read, or refused with a sentence."""
    tracemalloc.start()
    try:
        assert isinstance(read_pickled_arrays(path), dict)
    except InvalidData as error:
        assert "\n" not in str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


def test_other_instructions_are_refused(tmp_path: Path) -> None:
    """Objects, extension codes and persistent names: nothing that an array needs."""
    for content in (
        b"(ios\nsystem\n.",
        b"(cos\nsystem\no.",
        b"\x82\x01.",
        b"Pname\n.",
        b"cos\nsystem\n)\x81.",
        b"\x97.",
    ):
        with pytest.raises(InvalidData):
            read_pickled_arrays(write(tmp_path / "x.pt", content, zipped=False))
