"""Deviations of the released code from the paper, and of the printed text from the code: each can be measured."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from eigenclean.evidence import Evidence
from eigenclean.train import FromDetector, Memory, Recipe, Selection, Stage
from eigenclean_lab.reproduce.profiles import IMAGES
from eigenclean_lab.reproduce.values import Column, MethodSpec, Task

Change = Callable[[Recipe], Recipe]


@dataclass(frozen=True)
class Deviation:
    """One deviation of the released code from the paper.

    Attributes:
        item: its number in the list of all known differences, so that a test can tell that none was forgotten.
        family: "released" code, or "printed" text where the code does something else.
        description: one sentence.
        change: how it changes a recipe; None when it concerns the run.
        measured_on: the recipe that `reproduce discrepancies` measures it on.
        options: of that recipe.
        only: recipes that it concerns; all that select by FINE when empty.
        noise: kind of noise that it concerns; any when empty.
        data: names of the data that it concerns; all when empty.
    """

    item: str
    family: Literal["released", "printed"]
    description: str
    change: Change | None = None
    measured_on: str = "fine"
    options: Mapping[str, Any] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    noise: str = ""
    data: tuple[str, ...] = ()

    def concerns(self, setting: Column) -> bool:
        """Whether the deviation changes anything in such a setting."""
        kind = setting.noise.partition(":")[0]
        return self.noise in ("", kind) and (not self.data or setting.data in self.data)

    def applies_to(self, recipe: Recipe) -> bool:
        """Whether the deviation concerns such a recipe."""
        if self.only:
            return recipe.name in self.only
        return any(_by_fine(stage) for stage in recipe.stages)


@dataclass(frozen=True)
class Shrinking(FromDetector):
    """Only members of the last clean set are judged, as Algorithm 2 prints it: a dropped sample stays dropped."""

    kind: ClassVar[str] = "shrinking"

    def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
        """The samples that are kept now and were kept before."""
        selection = super().select(evidence, epoch, previous, memory)
        return selection if previous is None else replace(selection, keep=selection.keep & previous.keep)


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
CHAINED = "chained-flips"
_ROBUST = ("gce", "sce", "elr")
_ROBUST_BY_FINE = ("gce+fine", "sce+fine", "elr+fine")
# F-DivideMix has code of its own: one noisy data set, and features of images as they are.
_SAMPLE_SELECTION = ("fine", "f-coteaching", *_ROBUST_BY_FINE)
# Trained by the code of ELR and FINE, or quoted from its runs; DivideMix and its kin have a noise of their own.
_BY_ELR_CODE = (
    *("standard", "bootstrap", "forward", "co-teaching", "co-teaching+", "topofilter", "crust", "fine"),
    *("f-coteaching", *_ROBUST, *_ROBUST_BY_FINE),
)
_AUGMENT = {"augment": "crop-flip"}
DEVIATIONS: dict[str, Deviation] = {
    REDRAWN: Deviation(
        "A.3, 9", "released",
        "after the warm-up, split and noise are drawn anew: the network judges labels that it was never trained on",
        only=_SAMPLE_SELECTION,
    ),
    TEST_SELECTION: Deviation(
        "A.3, 10", "released",
        "with robust losses and in F-Coteaching, the best epoch is chosen on the test samples",
        measured_on="gce+fine", only=(*_ROBUST, *_ROBUST_BY_FINE, "f-coteaching"),
    ),
    "any-posterior": Deviation(
        "A.4", "released", "the posterior may fall again where alignment is highest",
        _options(**{"cut.monotone": False}),
    ),
    AUGMENTED: Deviation(
        "A.3, 14", "released",
        "features are those of augmented images: cropped and flipped at random, where medium only flips",
        options=_AUGMENT, only=_SAMPLE_SELECTION,
    ),
    CHAINED: Deviation(
        "F", "released",
        "asymmetric noise on CIFAR-10 changes labels class by class in place, so that a cat that became a dog can "
        "become a cat again: 18.4 % of the labels are wrong, not 20 %",
        measured_on="standard", only=_BY_ELR_CODE, noise="asymmetric", data=("cifar10", IMAGES),
    ),
    "every-5": Deviation(
        "A.3, 6", "released", "with robust losses, FINE selects twice as often",
        _rhythm(lambda every: max(1, every // 2)),
        measured_on="gce+fine", only=_ROBUST_BY_FINE,
    ),
    "constant-rate": Deviation(
        "B.3", "released", "in F-Coteaching the learning rate never falls", _constant_rate,
        measured_on="f-coteaching", only=("f-coteaching",),
    ),
    "long-warm-up": Deviation(
        "A.3, 12", "released", "F-DivideMix warms up for twice as long", _longer_warm_up,
        measured_on="f-dividemix", only=("f-dividemix",),
    ),
    "squared-product": Deviation(
        "A.3, 1", "printed", "the score is the squared product with the raw feature", _options(preset="paper"),
    ),
    "vectors-of-all": Deviation(
        "A.3, 2", "printed", "eigenvectors of all samples, not of those kept last time",
        _selecting(lambda select: replace(select, learn_from="all")),
    ),
    "shrinking": Deviation(
        "A.3, 3", "printed", "only samples of the last clean set are judged, so that it can only shrink",
        _selecting(_shrinking),
    ),
    "every-epoch": Deviation("A.3, 5", "printed", "FINE selects before every epoch", _rhythm(lambda every: 1)),
}  # fmt: skip
NOT_IMPLEMENTED = {
    "A.3, 4": "the printed sums that are never reset would mix features of different networks; it cannot be meant",
    "A.3, 7": "≥ or > differ only for a posterior of exactly ζ",
    "A.3, 8": "the optimiser is an option of every recipe (--set stage.1.name=adam)",
    "A.3, 11": "128 000 instead of 120 000 samples of Clothing1M: open it with ?subset=128000",
    "A.3, 12, on CIFAR-100": "its warm-up is 50 instead of 30 epochs; `long-warm-up` doubles it there, too",
    "A.3, 13": "there is no released code for the 1 % variant",
    "B.3": "F-Coteaching selects in epochs 43, 53, …, with batch normalisation in the wrong mode",
    "F": "under asymmetric noise, validation labels of CIFAR-100 are swapped within pairs of classes",
}


def released_deviations(recipe: Recipe) -> tuple[str, ...]:
    """Names of all deviations of the released code that concern such a recipe.

    >>> from eigenclean.train import recipe
    >>> released_deviations(recipe("standard")), "every-5" in released_deviations(recipe("elr+fine"))
    (('chained-flips',), True)
    """
    return tuple(
        name
        for name, deviation in DEVIATIONS.items()
        if deviation.family == "released" and deviation.applies_to(recipe)
    )


def task_in(spec: MethodSpec, setting: Column) -> Task:
    """The method in the setting, with those of its deviations that concern it: other cells stay what they are."""
    emulate = tuple(name for name in spec.emulate if DEVIATIONS[name].concerns(setting))
    return Task(replace(spec, emulate=emulate), setting.data, setting.noise)


def with_deviations(recipe: Recipe, names: Sequence[str]) -> Recipe:
    """The recipe with these deviations, as far as they concern recipes."""
    for name in names:
        change = DEVIATIONS[name].change
        if change is not None:
            recipe = change(recipe)
    return recipe
