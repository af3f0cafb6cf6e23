"""What `eigenclean train` prepares before the run: the recipe with its changes, and the sources to learn from."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

from eigenclean.detect import DEFAULT, DETECTORS
from eigenclean.errors import InvalidOption
from eigenclean.names import check_name
from eigenclean.nets import NETS, takes_images
from eigenclean.sources import Source
from eigenclean.sources.tabular.source import TableSource
from eigenclean.train import RECIPES, Probe, Recipe, recipe, recipe_names, with_settings
from eigenclean.train.probe.recipe import PROBE
from eigenclean.workflows.embedding import EmbeddingOptions, embed
from eigenclean.workflows.options import Notify, SourceOptions, ignore


@dataclass(frozen=True)
class TrainingSources:
    """What to learn from, to choose the best epoch by, and to test on; None where there is none."""

    data: Source
    validation: Source | None = None
    test: Source | None = None


def default_preset(net: str | None, recipe: str | None = None) -> str:
    """The preset for a network: "small" if it takes images, "finetune" if it is pretrained, "head" otherwise.

    >>> default_preset(None), default_preset("small-cnn"), default_preset("encoder")
    ('head', 'small', 'finetune')
    >>> default_preset(None, "finetune")
    'finetune'
    """
    if net == "encoder" or (net is None and recipe == "finetune"):
        return "finetune"
    return "small" if net in NETS and takes_images(net) else "head"


def default_recipe(*, network: bool, settings: Mapping[str, Any], selector: str | None = None) -> str:
    """The recipe that is taken when none is named: the measured best without and with a network.

    Args:
        network: whether an option was given that only networks have, such as ``--net``.
        settings: options of the recipe; those that are not about the probe or its detector mean a network.
        selector: the detector, when it is not the default.

    >>> default_recipe(network=False, settings={}), default_recipe(network=False, settings={"stage.2.lr": 0.1})
    ('probe', 'judge')
    """
    judge = DETECTORS.get(str(settings.get("detector", selector)), DETECTORS[DEFAULT])
    of_probe = {"detector", "heads", *judge().get_params()}
    return "judge" if network or any(key.partition(".")[0] not in of_probe for key in settings) else PROBE


def embeds(built: Recipe | Probe, net: str | None) -> bool:
    """Whether images and texts are embedded first: unless a network was named, or looks at images itself."""
    return isinstance(built, Probe) or (net is None and not takes_images(built.net))


def build_recipe(
    name: str,
    *,
    preset: str,
    selector: str | None = None,
    epochs: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Recipe | Probe:
    """The recipe of that name with changed options, selector, epochs and numbers in its stages."""
    check_name(name, recipe_names(), by="eigenclean train", what="recipe")
    if name == PROBE:
        if epochs is not None:
            raise InvalidOption(f"--epochs is for recipes that train a network, such as judge; {PROBE} trains none")
        detector = {} if selector is None else {"detector": selector}
        return recipe(PROBE, **{**detector, **(settings or {})})
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
    source: str,
    test: str | None,
    reading: SourceOptions,
    *,
    use_validation_split: bool,
    embedding: EmbeddingOptions | None = None,
    notify: Notify = ignore,
) -> TrainingSources:
    """Open the data and, where the source has splits of its own and none was named, its validation and test splits.

    Args:
        source: the data to learn from.
        test: the data to test on; None for the test split of the source.
        reading: how the source is opened; its file of labels and its annotators are about the source alone.
        use_validation_split: whether the validation split is wanted.
        embedding: how images and texts become features; None to leave them as they are.
        notify: told about links that are left out.
    """
    raw = embedding is not None and embedding.encoder is not None
    data = reading.open(source, raw=raw, notify=notify)
    splits = data.splits if "split=" not in source else ()
    columns = replace(reading, labels=None, annotator_columns=None, annotator_column=None)
    validation = columns.open(source, split="val") if use_validation_split and "val" in splits else None
    test_split = next((name for name in ("test", "imagenet") if name in splits), None)
    tested = None
    if test is not None:
        tested = _encoded_like(data, columns.open(test, raw=raw))
    elif test_split is not None:
        tested = columns.open(source, split=test_split, raw=raw)
    if embedding is None or not embedding.needed_for(data):
        return TrainingSources(data, validation, tested)
    embedded = embed(data, embedding, notify=notify)
    alike = replace(embedding, encoder=embedding.encoder or embedded.facts()["encoder"])
    others = [None if each is None else embed(each, alike, notify=notify) for each in (validation, tested)]
    return TrainingSources(embedded, *others)


def _encoded_like(data: Source, test: Source) -> Source:
    """The test rows of a table with columns of several kinds, encoded as those to learn from."""
    if data.encoding is None or not isinstance(test, TableSource):
        return test
    return test.encoded_by(data.encoding)
