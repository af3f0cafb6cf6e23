"""An experiment as a profile measures it: with the columns it has data for, and with its own augmentation."""

from collections.abc import Sequence
from dataclasses import replace

from eigenclean.train import recipe
from eigenclean_lab.reproduce.columns import LAST, LAST_TEN
from eigenclean_lab.reproduce.profile import Profile
from eigenclean_lab.reproduce.profiles import IMAGES
from eigenclean_lab.reproduce.values import Column, Experiment, MethodSpec, TableRow
from eigenclean_lab.theory.run import PROFILES as GRIDS

_AUGMENT = "augment"


def in_profile(experiment: Experiment, profile: Profile) -> Experiment:
    """The experiment with the columns for which the profile has data, or a grid of settings to simulate.

    Where the profile has no separate images, its CIFAR-10 is images already: what needs images takes that, and
    shares cells with other tables. Where its trainings augment images already, they do so in rows that ask for
    augmentation, too. Where a training has ten epochs and not hundreds, its last one is shown, not the mean of the
    last ten.
    """
    kinds = {spec.kind for row in experiment.rows for spec in row.specs}
    named = (
        replace(column, name=column.name.replace("Fashion", "C10"), data="cifar10")
        if column.data == IMAGES and not profile.has("train", IMAGES)
        else column
        for column in experiment.columns
    )
    columns = tuple(column for column in named if all(_can_measure(profile, kind, column.data) for kind in kinds))
    metrics = tuple(
        LAST if metric == LAST_TEN and not profile.is_papers else metric for metric in experiment.metrics
    )
    return replace(experiment, columns=columns, rows=_rows(experiment.rows, columns, profile), metrics=metrics)


def _can_measure(profile: Profile, kind: str, data: str) -> bool:
    """Whether the profile has the data; for a theorem, which is simulated, whether it has a grid of settings."""
    return profile.name in GRIDS if kind == "theory" else profile.has(kind, data)


def _rows(rows: Sequence[TableRow], columns: Sequence[Column], profile: Profile) -> tuple[TableRow, ...]:
    """The rows without an augmentation that would replace the profile's; of equal rows only the first."""
    if not columns:
        return tuple(rows)
    kept: dict[tuple[MethodSpec, ...], TableRow] = {}
    new_names: dict[str | None, str] = {}
    for row in rows:
        specs = tuple(_with_own_augmentation(spec, columns[0], profile) for spec in row.specs)
        first = kept.setdefault(specs, replace(row, specs=specs))
        new_names[row.name] = first.name
    return tuple(replace(row, against=new_names.get(row.against)) for row in kept.values())


def _with_own_augmentation(spec: MethodSpec, column: Column, profile: Profile) -> MethodSpec:
    options = dict(spec.options)
    if _AUGMENT in options:
        preset = profile.data(spec.kind, column.data).preset
        if recipe(spec.method, preset=preset).augment != "none":
            del options[_AUGMENT]
    return replace(spec, options=tuple(options.items()))
