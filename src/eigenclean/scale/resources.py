"""How much memory there is, and which engine that calls for."""

import os
from pathlib import Path
from typing import Literal

from eigenclean.sources import Source

Engine = Literal["memory", "stream", "dask"]
ENGINES: tuple[Engine, ...] = ("memory", "stream", "dask")
SHARE = 0.4  # of the free memory that features may take: detectors hold prepared copies and tables beside them


def free_memory() -> int:
    """Bytes that can be had without pushing anybody out, as far as the system says."""
    found = [_line("/proc/meminfo", "MemAvailable"), _left_in_group()]
    known = [value for value in found if value is not None]
    if known:
        return min(known)
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def feature_bytes(source: Source) -> int:
    """How much memory the features of the source will take beyond what they take already."""
    if source.in_memory:
        return 0
    width, dtype = source.kind()
    return len(source) * width * dtype.itemsize


def choose_engine(source: Source, free: int | None = None) -> Engine:
    """``"stream"`` for features larger than a share of the free memory.

    >>> from eigenclean.sources import open_source
    >>> choose_engine(open_source("digits"))
    'memory'
    """
    return "stream" if feature_bytes(source) > SHARE * (free_memory() if free is None else free) else "memory"


def _line(path: str, key: str) -> int | None:
    try:
        for line in Path(path).read_text(encoding="ascii").splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _left_in_group() -> int | None:
    """What a container may still take (control groups, version 2)."""
    folder = Path("/sys/fs/cgroup")
    try:
        most = (folder / "memory.max").read_text(encoding="ascii").strip()
        used = int((folder / "memory.current").read_text(encoding="ascii"))
        return None if most == "max" else max(int(most) - used, 0)
    except (OSError, ValueError):
        return None
