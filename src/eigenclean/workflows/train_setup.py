"""What `eigenclean train` prepares before the run: the recipe with its changes, and the sources to learn from."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

from eigenclean.detect import DETECTORS
from eigenclean.names import check_name
from eigenclean.nets import NETS, takes_images
from eigenclean.sources import Source
from eigenclean.sources.tabular.source import TableSource
from eigenclean.train import RECIPES, Recipe, recipe, with_settings
from eigenclean.workflows.options import Notify, SourceOptions, ignore


@dataclass(frozen=True)
class TrainingSources:
    """What to learn from, to choose the best epoch by, and to test on; None where there is none."""

    data: Source
    validation: Source | None = None
    test: Source | None = None


def default_preset(net: str | None) -> str:
    """The preset for a network: "small" if it takes images, "head" otherwise.

    >>> default_preset(None), default_preset("small-cnn")
    ('head', 'small')
    """
    return "small" if net in NETS and takes_images(net) else "head"


def build_recipe(
    name: str,
    *,
    preset: str,
    selector: str | None = None,
    epochs: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Recipe:
    """The recipe of that name with changed options, selector, epochs and numbers in its stages."""
    check_name(name, RECIPES, by="eigenclean train", what="recipe")
    options = signature(RECIPES[name]).parameters
    of_recipe = {key: value for key, value in (settings or {}).items() if key in options}
    of_stages = {key: value for key, value in (settings or {}).items() if key not in options}
    built = recipe(name, **{"preset": preset, **of_recipe})
    if selector is not None:
        check_name(selector, DETECTORS, by="eigenclean train", what="selector")
        built = built.with_selector(selector)
    if epochs is not None:
        built = built.with_epochs(epochs)
    return with_settings(built, of_stages, others=options)


def open_training_sources(
    source: str, test: str | None, reading: SourceOptions, *, use_validation_split: bool, notify: Notify = ignore
) -> TrainingSources:
    """Open the data and, where the source has splits of its own and none was named, its validation and test splits.

    Args:
        source: the data to learn from.
        test: the data to test on; None for the test split of the source.
        reading: how the source is opened; its file of labels is about the source alone.
        use_validation_split: whether the validation split is wanted.
        notify: told about links that are left out.
    """
    data = reading.open(source, notify=notify)
    splits = data.splits if "split=" not in source else ()
    columns = replace(reading, labels=None)
    validation = columns.open(source, split="val") if use_validation_split and "val" in splits else None
    if test is not None:
        return TrainingSources(data, validation, _encoded_like(data, columns.open(test)))
    test_split = next((name for name in ("test", "imagenet") if name in splits), None)
    return TrainingSources(data, validation, None if test_split is None else columns.open(source, split=test_split))


def _encoded_like(data: Source, test: Source) -> Source:
    """The test rows of a table with columns of several kinds, encoded as those to learn from."""
    if data.encoding is None or not isinstance(test, TableSource):
        return test
    return test.encoded_by(data.encoding)
