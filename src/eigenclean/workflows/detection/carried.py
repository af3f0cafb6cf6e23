"""What a run carries with it, so that it can be judged again: groups, and decisions from elsewhere.

Groups may be an array of a Python program, and decisions may come from a patch or another run. Both are written
into the folder of the run, as plain tables: what is read back may be somebody else's and is checked.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.patch import RELABEL, Patch
from eigenclean.paths import inside
from eigenclean.review.past_decisions import PastDecision
from eigenclean.sources import Source

GROUPS = "groups.parquet"  # a row for each row that was judged: its id and its group
DECISIONS = "known_decisions.jsonl"  # a patch: what was given, beside decisions of the review of the run
_AGAIN = "repeat its `eigenclean detect` with the same --out"

Files = dict[str, Callable[[Path], None]]


def group_files(groups: Array | None, data: Source) -> Files:
    """The file of the groups of the rows that were judged; nothing without groups."""
    if groups is None:
        return {}
    table = pa.table({"id": pa.array(data.ids.tolist()), "group": pa.array(groups.astype(str).tolist())})
    return {GROUPS: lambda path: pq.write_table(table, path)}


def carried_groups(folder: Path, data: Source) -> Array | None:
    """The groups that the run in this folder was judged with; None if it has no file of them."""
    path = inside(folder, GROUPS, by="judging again")
    if not path.is_file():
        return None
    try:
        with pq.ParquetFile(path) as file:
            n = file.metadata.num_rows
            if n != len(data):
                raise InvalidData(f"{path} has groups of {n} rows, not of {len(data)}; {_AGAIN}")
            table = file.read(columns=["id", "group"])
        ids, groups = (table.column(name).to_pylist() for name in ("id", "group"))
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        if isinstance(error, InvalidData):
            raise
        raise InvalidData(f"{path} cannot be read ({str(error).splitlines()[0]}); {_AGAIN}") from None
    if ids != data.ids.tolist() or not all(isinstance(group, str) for group in groups):
        raise InvalidData(f"{path} has groups of other rows than were judged; {_AGAIN}")
    return np.array(groups, dtype=np.str_)


def decision_files(carried: Sequence[PastDecision], data: Source, data_hash: str | None = None) -> Files:
    """The file of decisions that were given; nothing if there are none. ``data_hash`` saves reading the data."""
    if not carried:
        return {}
    columns = {
        "id": [row.id for row in carried],
        "decision": [row.decision for row in carried],
        "old": [row.old for row in carried],
        "new": [row.new if row.decision == RELABEL else None for row in carried],
        "reviewer": [row.reviewer for row in carried],
        "reason": [row.note for row in carried],
    }
    patch = Patch.from_columns(columns, data_hash=data_hash or data.data_hash(), by=DECISIONS)
    return {DECISIONS: lambda path: _save(patch, path)}


def _save(patch: Patch, path: Path) -> None:
    patch.save(path)


def carried_decisions(folder: Path) -> Path | None:
    """The file of decisions that the run in this folder was given, if there is one."""
    path = inside(folder, DECISIONS, by="decisions")
    return path if path.is_file() else None
