"""Free memory, and the engine that suits it: features in memory, or streamed from the disk."""

import os
from pathlib import Path
from typing import Literal

from eigenclean.sources import Source

Engine = Literal["memory", "stream", "dask"]
ENGINES: tuple[Engine, ...] = ("memory", "stream", "dask")
ENGINES_IN_BLOCKS: tuple[Engine, ...] = ("stream", "dask")  # those that never hold all rows
# Share of the free memory that features may take in memory; detectors need the rest for prepared copies and tables.
FEATURE_SHARE = 0.4

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


def free_memory() -> int:
    """Return the bytes that this process can take without swapping.

    On Linux it is the lower of what the system and the container have left; elsewhere half of the physical memory.
    """
    known = [size for size in (_available_in_system(), _available_in_container()) if size is not None]
    if known:
        return min(known)
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def feature_bytes(source: Source) -> int:
    """Return the memory that the features of the source need beyond what they take already."""
    if source.in_memory:
        return 0
    width, dtype = source.kind()
    return len(source) * width * dtype.itemsize


def choose_engine(source: Source, free: int | None = None) -> Engine:
    """Return ``"stream"`` for features that are larger than a share of the free memory, else ``"memory"``.

    >>> from eigenclean.sources import open_source
    >>> choose_engine(open_source("digits"))
    'memory'
    """
    free = free_memory() if free is None else free
    return "stream" if feature_bytes(source) > FEATURE_SHARE * free else "memory"


def _available_in_system() -> int | None:
    """Read the kernel's estimate; None where there is none."""
    try:
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _available_in_container() -> int | None:
    """Subtract the usage of this control group (version 2) from its limit; None where there is no limit."""
    try:
        limit = (_CGROUP / "memory.max").read_text(encoding="ascii").strip()
        usage = int((_CGROUP / "memory.current").read_text(encoding="ascii"))
        return None if limit == "max" else max(int(limit) - usage, 0)
    except (OSError, ValueError):
        return None
