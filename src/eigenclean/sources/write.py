"""A source with features as files that can be mapped: one ``.npz``, or a folder of Arrow shards."""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from eigenclean.arrays import Array
from eigenclean.errors import InvalidOption
from eigenclean.files import replacing, sweep, write_json
from eigenclean.publication import MANIFEST, finish_publication, publication
from eigenclean.sources.base import Source

SHARD_ROWS = 1 << 16
_ROWS = 4096  # per write
_ABOUT = "embedding.json"


def write_npz(source: Source, path: Path) -> None:
    """Write features, labels, ids and texts; uncompressed, so that the features are mapped when it is opened."""
    small: dict[str, Array] = {"labels": source.labels, "ids": source.ids}
    if source.texts is not None:
        small["texts"] = np.asarray(list(source.texts), dtype=np.str_)
    sweep(path.parent, path.name)  # what a killed process left
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        for name, array in small.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        with archive.open("features.npy", "w", force_zip64=True) as member:
            for number, block in enumerate(source._blocks(_ROWS)):
                if number == 0:
                    header = {
                        "descr": np.lib.format.dtype_to_descr(block.dtype),
                        "fortran_order": False,
                        "shape": (len(source), block.shape[1]),
                    }
                    np.lib.format.write_array_header_2_0(member, header)
                member.write(np.ascontiguousarray(block).data)


def write_shards(
    source: Source, folder: Path, *, facts: Mapping[str, Any], shard_rows: int = SHARD_ROWS
) -> list[str]:
    """Write a folder of Arrow files with the columns id, label, features and perhaps text; return their names.

    Each file can be mapped, and the folder opened like any other source. The files appear as one or not at all;
    those of an older folder of this kind are replaced, any other folder is left alone.
    """
    _refuse_foreign(folder)
    earlier = [path.name for path in folder.glob("part-*.arrow")]
    with publication(folder, removes=earlier) as staging:
        names = _write_shard_files(source, staging, shard_rows)
        write_json(staging / _ABOUT, facts)
    return names


def _write_shard_files(source: Source, folder: Path, shard_rows: int) -> list[str]:
    names: list[str] = []
    writer: Any = None
    start = 0
    labels, ids = _column(source.labels), _column(source.ids)
    try:
        for block in source._blocks(min(_ROWS, shard_rows)):
            stop = start + len(block)
            flat = pa.array(np.ascontiguousarray(block).reshape(-1))
            columns = {
                "id": ids.slice(start, len(block)),
                "label": labels.slice(start, len(block)),
                "features": pa.FixedSizeListArray.from_arrays(flat, block.shape[1]),
            }
            if source.texts is not None:
                columns["text"] = pa.array(list(source.texts[start:stop]), pa.string())
            batch = pa.record_batch(columns)
            if writer is None or start // shard_rows >= len(names):
                if writer is not None:
                    writer.close()
                names.append(f"part-{len(names):05d}.arrow")
                writer = pa.ipc.new_file(str(folder / names[-1]), batch.schema)
            writer.write_batch(batch)
            start = stop
    finally:
        if writer is not None:
            writer.close()
    return names


def _column(values: Array) -> Any:
    return pa.array(values.tolist() if values.dtype.kind in "US" else values)


def _refuse_foreign(folder: Path) -> None:
    """Only what `write_shards` wrote may be replaced."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InvalidOption(f"{folder} is a file; give --out a new folder, or a file that ends in .npz")
    finish_publication(folder)
    others = [entry.name for entry in folder.iterdir() if not _is_shard_file(entry.name)]
    if others:
        raise InvalidOption(f"{folder} has other files in it, such as {sorted(others)[0]}; give --out a new folder")


def _is_shard_file(name: str) -> bool:
    leftover = name.startswith(".publication.") and name.endswith(".tmp")  # of a run that was killed
    return name in (_ABOUT, MANIFEST) or leftover or (name.startswith("part-") and name.endswith(".arrow"))
