"""Habits of the released code, and of the printed text where it differs: each can be switched on and measured."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from eigenclean.evidence import Evidence
from eigenclean.train import FromDetector, Recipe, Selection, Stage
from eigenclean.train.selectors import Memory

Change = Callable[[Recipe], Recipe]


@dataclass(frozen=True)
class Emulation:
    """One habit.

    Attributes:
        item: where METHODS.md describes it: a row of A.3, or a section.
        family: "released" code, or "printed" text where the code does something else.
        says: one sentence.
        change: what it changes about a recipe; None when it is about the run.
        measured_on: the recipe that `reproduce discrepancies` measures it on.
        options: of that recipe.
        only: recipes it is about; all that select by FINE when empty.
    """

    item: str
    family: Literal["released", "printed"]
    says: str
    change: Change | None = None
    measured_on: str = "fine"
    options: Mapping[str, Any] = field(default_factory=dict)
    only: tuple[str, ...] = ()

    def applies_to(self, recipe: Recipe) -> bool:
        """Is the habit about such a recipe?"""
        if self.only:
            return recipe.name in self.only
        return any(_by_fine(stage) for stage in recipe.stages)


@dataclass(frozen=True)
class Shrinking(FromDetector):
    """Only members of the last clean set are judged, as Algorithm 2 prints it: who is out stays out."""

    kind: ClassVar[str] = "shrinking"

    def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
        """The samples that are kept, and were."""
        found = super().select(evidence, epoch, previous, memory)
        return found if previous is None else replace(found, keep=found.keep & previous.keep)


def _by_fine(stage: Stage) -> bool:
    return isinstance(stage.select, FromDetector) and stage.select.name == "fine" and not stage.warm_up


def _selecting(change: Callable[[FromDetector], FromDetector]) -> Change:
    def changed(recipe: Recipe) -> Recipe:
        stages = [
            replace(stage, select=change(stage.select))
            if isinstance(stage.select, FromDetector) and _by_fine(stage)
            else stage
            for stage in recipe.stages
        ]
        return replace(recipe, stages=tuple(stages))

    return changed


def _options(**more: Any) -> Change:
    return _selecting(lambda select: replace(select, options={**select.options, **more}))


def _rhythm(new: Callable[[int], int]) -> Change:
    def changed(recipe: Recipe) -> Recipe:
        stages = [
            replace(stage, refresh=new(stage.refresh)) if _by_fine(stage) else stage for stage in recipe.stages
        ]
        return replace(recipe, stages=tuple(stages))

    return changed


def _longer_warm_up(recipe: Recipe) -> Recipe:
    """Twice the epochs before the first division, at the cost of those after it."""
    first, second, *rest = recipe.stages
    more = min(first.epochs, second.epochs - 1)
    stages = (replace(first, epochs=first.epochs + more), replace(second, epochs=second.epochs - more), *rest)
    return replace(recipe, stages=stages)


def _constant_rate(recipe: Recipe) -> Recipe:
    steady = replace(recipe.optimiser, milestones=(), fade=None)
    return replace(recipe, optimiser=steady)


def _shrinking(select: FromDetector) -> FromDetector:
    return Shrinking(select.name, select.options, select.learn_from, select.soft)


REDRAWN, TEST_SELECTION, AUGMENTED = "redrawn-noise", "test-selection", "augmented-features"
_AUGMENT = {"augment": "crop-flip"}
EMULATIONS: dict[str, Emulation] = {
    REDRAWN: Emulation(
        "A.3, 9", "released",
        "after the warm-up, split and noise are drawn anew: the network judges labels that it was never trained on",
    ),
    TEST_SELECTION: Emulation("A.3, 10", "released", "the best epoch is chosen on the test samples"),
    "any-posterior": Emulation(
        "A.4", "released", "the posterior may fall again where alignment is highest",
        _options(**{"cut.monotone": False}),
    ),
    AUGMENTED: Emulation(
        "A.3, 14", "released", "features are those of randomly cropped and flipped images", options=_AUGMENT,
    ),
    "every-5": Emulation(
        "A.3, 6", "released", "with robust losses, FINE selects twice as often",
        _rhythm(lambda every: max(1, every // 2)),
        measured_on="gce+fine", only=("gce+fine", "sce+fine", "elr+fine"),
    ),
    "constant-rate": Emulation(
        "B.3", "released", "in F-Coteaching the learning rate never falls", _constant_rate,
        measured_on="f-coteaching", only=("f-coteaching",),
    ),
    "long-warm-up": Emulation(
        "A.3, 12", "released", "F-DivideMix warms up for twice as long", _longer_warm_up,
        measured_on="f-dividemix", only=("f-dividemix",),
    ),
    "squared-product": Emulation(
        "A.3, 1", "printed", "the score is the squared product with the raw feature", _options(preset="paper"),
    ),
    "vectors-of-all": Emulation(
        "A.3, 2", "printed", "eigenvectors of all samples, not of those kept last time",
        _selecting(lambda select: replace(select, learn_from="all")),
    ),
    "shrinking": Emulation(
        "A.3, 3", "printed", "only samples of the last clean set are judged, so that it can only shrink",
        _selecting(_shrinking),
    ),
    "every-epoch": Emulation("A.3, 5", "printed", "FINE selects before every epoch", _rhythm(lambda every: 1)),
}  # fmt: skip
NOT_EMULATED = {
    "A.3, 4": "the printed sums that are never reset would mix features of different networks; nobody can mean it",
    "A.3, 7": "≥ or > differ only for a posterior of exactly ζ",
    "A.3, 8": "the optimiser is an option of every recipe (--set stage.1.name=adam)",
    "A.3, 11": "128 000 instead of 120 000 samples of Clothing1M: open it with ?subset=128000",
    "A.3, 13": "there is no released code for the 1 % variant",
}


def as_released(recipe: Recipe) -> tuple[str, ...]:
    """Names of all habits of the released code that are about such a recipe.

    >>> from eigenclean.train import recipe
    >>> as_released(recipe("standard")), "every-5" in as_released(recipe("elr+fine"))
    ((), True)
    """
    return tuple(
        name for name, habit in EMULATIONS.items() if habit.family == "released" and habit.applies_to(recipe)
    )


def emulated(recipe: Recipe, names: Sequence[str]) -> Recipe:
    """The recipe with these habits, as far as they are about recipes."""
    for name in names:
        change = EMULATIONS[name].change
        if change is not None:
            recipe = change(recipe)
    return recipe
