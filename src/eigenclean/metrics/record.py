"""The base of measurements that are dataclasses of arrays: their values as plain numbers, ready for JSON."""

import dataclasses
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False)
class Record:
    """Base of the dataclasses that measurements return; adds `as_dict`."""

    def as_dict(self) -> dict[str, Any]:
        """The fields by name; arrays become lists, and NaN (not measured) becomes None."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
