"""The encoder "trained": features of a network that is trained on the given labels, as in the paper."""

import copy
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Ints, check_two_classes, encode_labels
from eigenclean.errors import EigencleanError, InvalidData, InvalidOption
from eigenclean.extras import require
from eigenclean.features.embedding import Skipped
from eigenclean.features.source import EmbeddedSource
from eigenclean.names import check_name
from eigenclean.nets import NETS, make_net, standardises, takes_images
from eigenclean.seeds import tagged_generator
from eigenclean.sources import Source
from eigenclean.sources.images.lazy import LazyImages
from eigenclean.sources.raw import RawSource
from eigenclean.train.data.inputs import InputSpec, as_inputs, take_rows
from eigenclean.train.data.scaling import MEASURED, UNIT

NAME = "trained"
OPTIONS = ("net", "epochs", "size", "seed", "folds")
# Enough to learn the classes, too few to memorise wrong labels; a head on good features learns faster.
EPOCHS_ON_IMAGES = 5
EPOCHS_ON_VECTORS = 2
# With folds a network never sees the labels of the rows that it describes, so it may learn for longer.
FOLDED_EPOCHS = 10
_DEFAULT_SIZE = 32  # pixels, for images of different sizes
_THREADS = 8


def trained_features(
    inputs: Any,
    labels: Array,
    *,
    net: str | None = None,
    epochs: int | None = None,
    seed: int = 0,
    device: str | None = None,
    net_options: Mapping[str, Any] | None = None,
    scale: bool = True,
    folds: int | None = None,
) -> Array:
    """Features of a network that is trained on these labels for a few epochs; equal seeds give equal features.

    With ``folds``, as many networks are trained, each without one fold of the rows, and the features of a row are
    the logits of the network that has not seen its label: it cannot know a wrong one by heart, however long it
    learns.

    Args:
        inputs: images or vectors, as for `RobustClassifier`.
        labels: the given labels, right or wrong.
        net: a name from `NETS`; by default "small-cnn" for images and "mlp" for vectors.
        epochs: number of epochs; by default enough to learn the classes and too few to memorise wrong labels.
        seed: of the weights and of the order of the samples.
        device: "cpu", or None for the best there is.
        net_options: options of the network.
        scale: standardise the inputs first.
        folds: number of networks that each leave a part of the rows out; None trains one network on all rows.

    >>> rng = np.random.default_rng(0)
    >>> trained_features(rng.normal(size=(40, 6)), np.arange(40) % 2, device="cpu").shape
    (40, 128)
    """
    for library in ("torch", "accelerate"):
        require(library, extra="train", caller="encoder trained")
    from eigenclean.train.data.pool import Pool
    from eigenclean.train.engine import Engine
    from eigenclean.train.loop.evaluation import network_outputs
    from eigenclean.train.recipes import recipe

    array = as_inputs(inputs, by="encoder trained")
    images = array.ndim > 2
    name = net or ("small-cnn" if images else "mlp")
    check_name(name, NETS, by="encoder trained", what="net")
    if takes_images(name) and not images:
        raise InvalidData(f"encoder trained: the net {name} needs images, got vectors; take mlp or linear")
    classes, codes = encode_labels(labels)
    check_two_classes(classes, by="encoder trained")
    if folds is not None and not 2 <= folds <= len(codes):
        raise InvalidOption(
            f"encoder trained: folds must be from 2 to the number of rows, {len(codes)}, got {folds}"
        )
    spec = InputSpec.fit(array, UNIT if standardises(name) else MEASURED)
    options = {"hidden": [128]} if name == "mlp" and not net_options else dict(net_options or {})
    default_epochs = FOLDED_EPOCHS if folds else EPOCHS_ON_IMAGES if images else EPOCHS_ON_VECTORS
    plan = recipe("standard", warm_up=1, epochs=epochs or default_epochs)

    def make_pool(rows: Ints | None) -> Pool:
        chosen, given = (array, codes) if rows is None else (take_rows(array, rows), codes[rows])
        if not scale:
            return Pool.from_arrays(np.asarray(chosen, np.float32), given, classes)
        scaled: Pool = spec.pool(chosen, given, classes)
        return scaled

    def train(rows: Ints | None) -> Engine:
        network = partial(make_net, name, spec.shape, len(classes), **options)
        return Engine(plan, network, make_pool(rows), seed=seed, device=device).fit()

    if folds is None:
        engine = train(None)
        features, _ = network_outputs(engine.networks[0], engine.pool, features=True)
        assert features is not None
        return np.asarray(features.float().cpu().numpy())
    fold = tagged_generator(seed, "folds").permutation(len(codes)) % folds
    table, whole = np.empty((len(codes), len(classes)), dtype=np.float32), make_pool(None)
    for number in range(folds):
        left_out = np.flatnonzero(fold == number)
        engine = train(np.flatnonzero(fold != number))
        _, logits = network_outputs(engine.networks[0], whole, rows=left_out)
        table[left_out] = (logits - logits.mean(dim=1, keepdim=True)).cpu().numpy()
    return table


def embed_by_training(
    source: Source, options: Mapping[str, Any], *, device: str | None = None, strict: bool = False
) -> EmbeddedSource:
    """The source with features of a network trained on its own labels: of its images, else of its features."""
    for option in options:
        check_name(option, OPTIONS, by=f"encoder {NAME}", what="option")
    training_options = {key: value for key, value in options.items() if key != "size"}
    skipped: list[Skipped] = []
    if source.images is not None:
        inputs: Any = source.images
        if isinstance(inputs, LazyImages):
            inputs = copy.copy(inputs)
            inputs.resize = options.get("size", inputs.resize or _DEFAULT_SIZE)
            skipped = _unreadable(inputs, strict)
    elif isinstance(source, RawSource):
        raise InvalidData(
            f"encoder {NAME} needs images or numbers, but {source.name} has {source.holds}; take another encoder"
        )
    else:
        inputs = source.features()
    good = np.ones(len(source), dtype=bool)
    good[[image.row for image in skipped]] = False
    rows = np.flatnonzero(good)
    if len(rows) == 0:
        raise InvalidData(f"{source.name}: none of its {len(source)} images can be read; {skipped[0].reason}")
    array = as_inputs(inputs, by=source.name)
    features = trained_features(
        take_rows(array, rows) if skipped else array, source.labels[rows], device=device, **training_options
    )
    facts = {"encoder": NAME, "kind": "image" if source.images is not None else "features", **options}
    return EmbeddedSource(source, rows, features, facts=facts, skipped=skipped)


def _unreadable(images: LazyImages, strict: bool) -> list[Skipped]:
    """Images that cannot be decoded; all are decoded once before the training starts."""

    def try_decoding(row: int) -> Skipped | None:
        try:
            images[row]
        except EigencleanError as error:
            return Skipped(row, str(error))
        return None

    first = next((row for row in range(len(images)) if try_decoding(row) is None), None)
    if first is None:
        return [Skipped(row, f"{images.title(row)} cannot be read") for row in range(len(images))]
    images.shape = (len(images), *images._decoded(first).shape)
    with ThreadPoolExecutor(_THREADS) as pool:
        skipped = [image for image in pool.map(try_decoding, range(len(images))) if image is not None]
    if strict and skipped:
        raise InvalidData(f"{skipped[0].reason} (and --strict stops at the first)")
    return skipped
