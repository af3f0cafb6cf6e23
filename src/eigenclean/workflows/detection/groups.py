"""Groups of rows in `eigenclean detect`: what they exclude, and the rows that they belong to."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from eigenclean.arrays import Array, preview
from eigenclean.detect import Detector
from eigenclean.detect.group_folds import check_groups, groups_of_one_class
from eigenclean.detect.judge.judge import Judge
from eigenclean.errors import InvalidOption
from eigenclean.features import EmbeddedSource
from eigenclean.sources import Source
from eigenclean.workflows.options import Notify, refuse_blocks


def check_grouping(detectors: Sequence[Detector], engine: str | None, *, judges_once: bool) -> None:
    """Raise `InvalidOption` for options that have no meaning with groups."""
    refuse_blocks(engine, by="groups need")
    if not judges_once:
        raise InvalidOption("--self-test and --method auto judge without groups: leave one out")
    grouping_detector(detectors[0])


def grouping_detector(detector: Detector) -> Judge:
    """The detector, if it can keep groups together."""
    if not isinstance(detector, Judge):
        raise InvalidOption(f"groups are kept together by the default method, not by {detector.name}")
    return detector


def rows_of_groups(given: Any, data: Source, *, notify: Notify) -> Array | None:
    """The groups of the rows that are judged: as they were given, else those of the source."""
    groups = data.groups
    if given is not None:
        raw = data.raw if isinstance(data, EmbeddedSource) else data
        groups = check_groups(given, len(raw), by="groups")
        groups = groups[data.rows] if isinstance(data, EmbeddedSource) else groups
    if groups is None:
        return None
    single_group_classes = groups_of_one_class(data.labels, groups)
    if single_group_classes:
        names = preview(np.array(single_group_classes), 4)
        notify(f"all rows of class {names} are in one group: no other group can judge them")
    return groups
