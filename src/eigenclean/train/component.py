"""A loss or a step of a recipe as a value: its name and options, before torch builds it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eigenclean.errors import InvalidOption
from eigenclean.names import check_name


@dataclass(frozen=True)
class ComponentSpec:
    """A name from a table and the options to build it with.

    >>> ComponentSpec("gce", {"q": 0.7})
    ComponentSpec('gce', q=0.7)
    >>> ComponentSpec.from_dict(ComponentSpec("gce", {"q": 0.7}).to_dict()) == ComponentSpec("gce", {"q": 0.7})
    True
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", json_options(self.options, by=self.name))

    def __repr__(self) -> str:
        arguments = [repr(self.name), *(f"{key}={value!r}" for key, value in self.options.items())]
        return f"ComponentSpec({', '.join(arguments)})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"name": self.name, "options": dict(self.options)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "ComponentSpec":
        """The component that `to_dict` described."""
        return cls(**check_fields(record, ("name", "options"), by="component"))


def json_options(options: Mapping[str, Any], *, by: str) -> dict[str, Any]:
    """A copy of ``options`` as JSON would give it back, so that recipes compare equal after a round trip."""
    try:
        values: dict[str, Any] = json.loads(json.dumps(dict(options), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InvalidOption(f"{by}: options must be numbers, texts, lists and tables of those; {error}") from None
    return values


def check_fields(record: Mapping[str, Any], allowed: tuple[str, ...], *, by: str) -> dict[str, Any]:
    """``record`` as keyword arguments; `InvalidOption` for a field that does not exist."""
    if not isinstance(record, Mapping):
        raise InvalidOption(f"{by}: must be a table of {', '.join(allowed)}, got {record!r}")
    for key in record:
        check_name(key, allowed, by=by, what="field")
    return dict(record)
