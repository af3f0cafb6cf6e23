"""Connect to a Dask cluster, or start one on this machine, and ask how much memory its workers have."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from eigenclean.errors import InvalidOption
from eigenclean.extras import require

_CONNECT_TIMEOUT = "10s"
# By default Dask makes the C library of its workers return freed memory to the system at once. Every block then
# asks for fresh pages, and clearing those takes as long as the arithmetic on the block.
_ALLOCATION = {
    f"distributed.nanny.pre-spawn-environ.MALLOC_{name}_THRESHOLD_": size
    for name, size in (("TRIM", 1 << 28), ("MMAP", 1 << 25))
}


@contextmanager
def cluster(scheduler: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """Yield a Dask client; a cluster that was started for it is closed at the end.

    Args:
        scheduler: address of a running scheduler; None starts processes on this machine.
        workers: number of those processes; None takes one per core.
    """
    distributed: Any = require("distributed", extra="dask", caller="--engine dask")
    if scheduler is not None:
        try:
            client = distributed.Client(scheduler, timeout=_CONNECT_TIMEOUT, set_as_default=True)
        except (OSError, ValueError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InvalidOption(
                f"--scheduler: there is no Dask scheduler at {scheduler} ({reason}); start one with "
                "`dask scheduler`"
            ) from None
        with client:
            yield client
        return
    config: Any = require("dask", extra="dask", caller="--engine dask").config
    with (
        config.set(_ALLOCATION),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=None,
            host="127.0.0.1",
            silence_logs=logging.ERROR,  # a worker that is slow to close is of no interest to the user
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


def worker_memory() -> int:
    """Return the sum of the memory limits of the current client's workers; 0 where there is no client."""
    distributed: Any = find_spec("distributed") and import_module("distributed")
    try:
        workers = distributed.get_client().scheduler_info(n_workers=-1)["workers"].values() if distributed else ()
    except ValueError:  # Dask's schedulers within one process have no client
        return 0
    return sum(int(worker.get("memory_limit") or 0) for worker in workers)


@contextmanager
def without_graph_warning() -> Iterator[None]:
    """Raise the size from which Dask warns about a task graph: a thousand classes make a large one."""
    dask: Any = require("dask", extra="dask", caller="judge_dask")
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "10GB"}):
        yield
