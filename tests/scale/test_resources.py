"""Free memory as the system and the container report it, and the engine that follows from it."""

from pathlib import Path

import numpy as np
import pytest

from eigenclean import open_source
from eigenclean.arrays import Array
from eigenclean.scale import resources

MEMINFO = "MemTotal:       16000 kB\nMemFree:         1000 kB\nMemAvailable:    9000 kB\n"


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of the root of the file system."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "sys" / "fs" / "cgroup").mkdir(parents=True)
    monkeypatch.setattr(resources, "_MEMINFO", tmp_path / "proc" / "meminfo")
    monkeypatch.setattr(resources, "_CGROUP", tmp_path / "sys" / "fs" / "cgroup")
    return tmp_path


def limit_container(system: Path, limit: str, usage: str) -> None:
    (system / "sys" / "fs" / "cgroup" / "memory.max").write_text(f"{limit}\n")
    (system / "sys" / "fs" / "cgroup" / "memory.current").write_text(f"{usage}\n")


def test_what_the_kernel_calls_available_is_free(system: Path) -> None:
    (system / "proc" / "meminfo").write_text(MEMINFO)
    assert resources.free_memory() == 9000 * 1024


@pytest.mark.parametrize(
    ("limit", "usage", "free"),
    [
        ("5000000", "1000000", 4_000_000),  # the container has less than the system
        ("99000000000", "1000000", 9000 * 1024),  # the system has less than the container
        ("5000000", "6000000", 0),  # over its limit: nothing, rather than a negative number
        ("max", "1000000", 9000 * 1024),  # no limit
        ("5000000", "unknown", 9000 * 1024),
    ],
)
def test_the_lower_of_system_and_container_counts(system: Path, limit: str, usage: str, free: int) -> None:
    (system / "proc" / "meminfo").write_text(MEMINFO)
    limit_container(system, limit, usage)
    assert resources.free_memory() == free


def test_a_container_counts_where_the_kernel_says_nothing(system: Path) -> None:
    limit_container(system, "5000000", "1000000")
    assert resources.free_memory() == 4_000_000


@pytest.mark.parametrize("text", ["", "MemTotal: 16000 kB\n", "MemAvailable:\n", "MemAvailable: much kB\n"])
def test_without_either_it_is_half_of_the_physical_memory(
    text: str, system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (system / "proc" / "meminfo").write_text(text)
    monkeypatch.setattr("os.sysconf", {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}.__getitem__)
    assert resources.free_memory() == 1000 * 4096 // 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_features_on_the_disk_need_their_size(dtype: type, tmp_path: Path) -> None:
    X: Array = np.ones((50, 20), dtype=dtype)
    np.save(tmp_path / "x.npy", X)
    on_disk = open_source(tmp_path / "x.npy", labels=np.arange(50) % 2)
    assert resources.feature_bytes(on_disk) == X.nbytes
    assert resources.feature_bytes(open_source((X.astype(np.float64), np.arange(50) % 2))) == 0


def test_the_engine_streams_what_does_not_fit_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.ones((100, 10))
    np.save(tmp_path / "x.npy", X)
    source = open_source(tmp_path / "x.npy", labels=np.arange(100) % 2)
    enough = int(np.ceil(X.nbytes / 0.4))
    assert resources.choose_engine(source, free=enough) == "memory"
    assert resources.choose_engine(source, free=enough - 1) == "stream"
    monkeypatch.setattr(resources, "free_memory", lambda: 0)
    assert resources.choose_engine(source) == "stream"
    assert resources.choose_engine(open_source((X, np.arange(100) % 2))) == "memory"
