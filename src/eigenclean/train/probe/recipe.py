"""The probe as a value, like a `Recipe`: it prints, compares, and goes to JSON and back."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from eigenclean.detect import DEFAULT, DETECTORS, Detector, build_detector
from eigenclean.errors import InvalidOption
from eigenclean.names import check_name
from eigenclean.train.component import check_fields, json_options

PROBE = "probe"
AUTO = "auto"
HEADS = ("linear", "kernel", "trees")


@dataclass(frozen=True)
class Probe:
    """Judge the labels of feature vectors once, then fit a classifier to the judged labels. No network is trained.

    Attributes:
        name: what to call it.
        detector: who judges, a name from `DETECTORS` that needs features alone.
        options: options of the detector; where they say nothing, its `probe_options` count.
        heads: names of heads with commas between: linear, kernel, trees; "auto" takes those that suit the data.

    >>> probe = Probe(heads="linear")
    >>> Probe.from_dict(probe.to_dict()) == probe
    True
    """

    name: str = field(default=PROBE, compare=False)
    detector: str = DEFAULT
    options: Mapping[str, Any] = field(default_factory=dict)
    heads: str = AUTO

    epochs = 1  # of a record with one line per epoch

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", json_options(self.options, by="recipe probe"))
        self.make_detector()
        self.head_names()

    def __hash__(self) -> int:
        return hash((self.detector, repr(sorted(self.options.items())), self.heads))

    def make_detector(self) -> Detector:
        """The detector, not fitted; `InvalidOption` when it does not judge features."""
        check_name(self.detector, DETECTORS, by="recipe probe", what="detector")
        judge = build_detector(self.detector, {**DETECTORS[self.detector].probe_options, **self.options})
        if judge.consumes != "features":
            raise InvalidOption(
                f"recipe probe: the detector must judge features, but {self.detector} needs {judge.consumes}; "
                f"take {DEFAULT}"
            )
        return judge

    def head_names(self) -> tuple[str, ...] | None:
        """Names of the heads; None to choose by the data."""
        if self.heads == AUTO:
            return None
        names = tuple(name.strip() for name in str(self.heads).split(","))
        for name in names:
            check_name(name, (AUTO, *HEADS), by="recipe probe", what="head")
        return names

    def with_selector(self, select: str, name: str | None = None) -> "Probe":
        """The same with another detector, with its default options."""
        if not isinstance(select, str):
            raise InvalidOption(f"recipe probe: its labels are judged by a detector, give its name, got {select!r}")
        return dataclasses.replace(self, detector=select, options={}, name=name or self.name)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {**values, "options": dict(self.options)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "Probe":
        """The value that `to_dict` described."""
        return cls(**check_fields(record, tuple(item.name for item in fields(cls)), by="recipe probe"))


def probe(detector: str = DEFAULT, heads: str = AUTO, **options: Any) -> Probe:
    """Judge the labels, then fit a head to the judged labels of feature vectors.

    Args:
        detector: who judges.
        heads: linear, kernel, trees, with commas between; "auto" takes those that suit the data.
        **options: options of the detector.
    """
    return Probe(detector=detector, options=options, heads=heads)
