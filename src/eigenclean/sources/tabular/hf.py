"""Folders saved by Hugging Face's ``Dataset.save_to_disk``: their Arrow files, without the ``datasets`` library."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eigenclean.errors import InvalidData
from eigenclean.files import parse_json
from eigenclean.paths import inside
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.tabular.arrow import ArrowTable
from eigenclean.sources.tabular.table import class_labels

STATE, _INFO, _SPLITS = "state.json", "dataset_info.json", "dataset_dict.json"


class HuggingFaceTable(ArrowTable):
    """The columns of a saved data set; ``ClassLabel`` numbers become names."""

    def __init__(self, folder: Path, *, name: str, follow_links: bool = False) -> None:
        if (folder / _SPLITS).is_file():
            splits = list(_load(folder / _SPLITS).get("splits") or ["train"])
            raise InvalidData(
                f"{name} holds the splits {', '.join(map(str, splits))}; "
                f"choose one of them, for example {name.rstrip('/')}/{splits[0]}"
            )
        super().__init__(*_files(folder, name=name, follow_links=follow_links), name=name)
        info = _load(folder / _INFO) if (folder / _INFO).is_file() else {}
        self._class_names = class_labels(info.get("features"))

    def class_names(self) -> Mapping[str, Sequence[str]]:
        """The names in ``dataset_info.json``, else those in the Arrow schema."""
        return self._class_names or super().class_names()


def is_saved_dataset(folder: Path) -> bool:
    """Whether the folder looks like one that ``save_to_disk`` wrote."""
    return any((folder / name).is_file() for name in (STATE, _INFO, _SPLITS)) or any(folder.glob("*.arrow"))


def _files(folder: Path, *, name: str, follow_links: bool) -> list[Path]:
    if not (folder / STATE).is_file():
        # "cache-….arrow" are leftovers of `map` and `filter`, not the data.
        names = sorted(path.name for path in folder.glob("*.arrow") if not path.name.startswith("cache-"))
        if not names:
            raise InvalidData(f"{name} has no .arrow files; save the data set again with save_to_disk")
        return [inside(folder, file, by=name, follow_links=follow_links) for file in names]
    state = _load(folder / STATE)
    if state.get("_indices_data_files"):
        raise InvalidData(
            f"{name} is a selection of another data set's rows; save dataset.flatten_indices() instead"
        )
    with explain_read_errors(str(folder / STATE), "state of a saved data set"):
        names = [str(entry["filename"]) for entry in state["_data_files"]]
    files = [inside(folder, file, by=str(folder / STATE), follow_links=follow_links) for file in names]
    for path in files:
        if not path.is_file():
            raise InvalidData(f"{name} lacks the file {path.name} that its {STATE} names; copy the whole folder")
    if not files:
        raise InvalidData(f"{name} has no rows; its {STATE} names no files")
    return files


def _load(path: Path) -> dict[str, Any]:
    with explain_read_errors(str(path), "JSON file"):
        record = parse_json(path.read_text(encoding="utf-8"))
        if not isinstance(record, dict):
            raise ValueError("expected an object with named entries")
        return record
