"""The data of a cell: samples with noisy labels, some of them held out, and right labels to test on."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, encode_labels
from eigenclean.errors import InvalidData
from eigenclean.noise import Noise, corrupt, make_noise, parse_noise
from eigenclean.seeds import tagged_generator
from eigenclean.sources import Source, open_source
from eigenclean.train import as_inputs, held_out, take_rows
from eigenclean.truth import Truth
from eigenclean_lab.reproduce.profile import PEOPLE, ProfileData
from eigenclean_lab.store import MissingData

VALIDATION_SHARE = 0.1  # share of the samples that choose the best epoch
_HUMAN_FILE = "CIFAR-10_human.pt"
_BY = "reproduce"
Pair = tuple[Any, Array]


@dataclass(frozen=True, eq=False)
class PaperCase:
    """One draw of a setting.

    Attributes:
        inputs: images or features to learn from.
        labels: as given.
        truth: the right labels; None when they are unknown.
        validation: samples that choose the best epoch; None when there are none.
        test: samples with right labels.
        imagenet: a second test, for WebVision.
    """

    inputs: Any
    labels: Array
    truth: Truth | None
    validation: Pair | None
    test: Pair
    imagenet: Pair | None = None

    @property
    def noise_rate(self) -> float | None:
        """Share of labels that are wrong, if it is known."""
        return None if self.truth is None else self.truth.noise_rate(self.labels)

    def inputs_hash(self) -> str:
        """A fingerprint of what is learned from, without the labels."""
        if isinstance(self.inputs, np.ndarray):
            content = np.ascontiguousarray(self.inputs).reshape(-1).view(np.uint8)
            return hashlib.blake2b(content.data, digest_size=8).hexdigest()
        return str(self.inputs.digest())

    def noise_hash(self) -> str:
        """A fingerprint of all noisy labels: equal draws, equal hash."""
        digest = hashlib.blake2b(digest_size=8)
        for labels in (self.labels, *(() if self.validation is None else (self.validation[1],))):
            digest.update("\n".join(map(str, labels.tolist())).encode() + b"\0")
        return digest.hexdigest()


def make_case(
    data: ProfileData,
    noise: str,
    seed: int,
    folder: Path | None,
    *,
    validated: bool,
    draw: int | None = None,
    chained: bool = False,
) -> PaperCase:
    """The draw for this seed; `MissingData` says what is needed.

    Samples are split by their right labels, then each part gets noise from its own random stream. Another ``draw``
    splits the same samples differently and makes other labels wrong. ``chained``: asymmetric noise as the released
    loops make it, in which a changed label can be changed again.
    """
    draw_seed = seed if draw is None else draw
    if ":" in data.source:
        return _published(data, noise, draw_seed, folder, validated, chained)
    people = data.people if noise == PEOPLE else None
    recorded = None if people is None or ":" in people else people
    most = 10**9 if data.samples is None else data.samples
    whole = _load(data.source, recorded, folder, seed, most)
    planted = data.noise(noise) if people is None else None if recorded else parse_noise(str(people))
    planted = _chained(planted) if chained else planted
    return _split_and_corrupt(whole, planted, draw_seed, validated)


# By source: the module and the function that read its samples. The code of a cell is that of its own loader.
LOADERS: dict[str, tuple[str, str]] = {
    "banking77": ("eigenclean_lab.reproduce.loaders", "load_texts"),
    "cifar100": ("eigenclean_lab.reproduce.loaders", "load_cifar100"),
    "cifar10-pixels": ("eigenclean_lab.reproduce.cifar10_images", "load_pixels"),
    "cifar10-maps": ("eigenclean_lab.reproduce.cifar10_images", "load_maps"),
    "cifar10-features": ("eigenclean_lab.reproduce.cifar10_images", "load_features"),
}
_ROWS = ("eigenclean_lab.reproduce.loaders", "load_rows")


def loader_module(source: str) -> str:
    """Name of the module that reads the samples of a source."""
    return LOADERS.get(source, _ROWS)[0]


def _load(source: str, people: str | None, folder: Path | None, seed: int, most: int) -> PaperCase:
    module, function = LOADERS.get(source, _ROWS)
    case: PaperCase = getattr(import_module(module), function)(source, people, folder, seed, most)
    return case


def _chained(noise: Noise | None) -> Noise | None:
    """Asymmetric noise as the released loops make it; other noise as it is."""
    if noise is None or noise.name != "asymmetric":
        return noise
    options = {field.name: getattr(noise, field.name) for field in fields(noise)}
    return type(noise)(**{**options, "draw": "chained"})


def _split_and_corrupt(whole: PaperCase, noise: Noise | None, seed: int, validated: bool) -> PaperCase:
    assert whole.truth is not None
    right, classes = whole.truth.labels, encode_labels(whole.truth.labels)[0]
    is_held_out = held_out(right, VALIDATION_SHARE if validated else 0.0, random_state=seed)
    splits = []
    for number, rows in enumerate((np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out))):
        inputs, labels = take_rows(whole.inputs, rows), whole.labels[rows]
        if noise is not None and len(rows):
            rng = tagged_generator([seed, number], "noise")
            pixels = _rows_of(inputs) if noise.name == "instance" else None
            labels = corrupt(right[rows], noise, random_state=rng, features=pixels, classes=classes).labels
        splits.append((inputs, labels))
    (inputs, labels), validation = splits
    truth = Truth(right[~is_held_out])
    return replace(whole, inputs=inputs, labels=labels, truth=truth, validation=validation if validated else None)


def _rows_of(inputs: Any) -> Array:
    return np.asarray(inputs).reshape(len(inputs), -1)


# The data sets themselves.


def _published(
    data: ProfileData, noise: str, seed: int, folder: Path | None, validated: bool, chained: bool
) -> PaperCase:
    train, val, test, imagenet = _splits(data, folder)
    inputs = as_inputs(train.images, by=_BY)
    own_test = _pair(test if test is not None else val)
    assert own_test is not None
    if noise == PEOPLE and data.people is not None:
        given = _labels_of_people(train, data, folder)
        return _split_and_corrupt(
            PaperCase(inputs, given, Truth(train.labels), None, own_test), None, seed, validated
        )
    if noise != PEOPLE:
        whole = PaperCase(inputs, train.labels, Truth(train.labels), None, own_test)
        planted = data.noise(noise)
        return _split_and_corrupt(whole, _chained(planted) if chained else planted, seed, validated)
    # The labels came with the data and the right ones are unknown; those of the validation samples were checked.
    return PaperCase(inputs, train.labels, None, _pair(val), own_test, _pair(imagenet))


def _labels_of_people(train: Source, data: ProfileData, folder: Path | None) -> Array:
    assert folder is not None
    try:
        return corrupt(train.labels, make_noise("human", path=str(folder / _HUMAN_FILE), which=data.people)).labels
    except InvalidData as error:
        raise MissingData(f"needs {data.needs}; {error}") from None


def _splits(data: ProfileData, folder: Path | None) -> Iterator[Any]:
    if folder is None:
        raise MissingData(f"needs {data.needs}")
    name = data.source.format(data=folder)
    try:
        train = open_source(name, split="train")
        others = (
            open_source(name, split=split) if split in train.splits else None
            for split in ("val", "test", "imagenet")
        )
        return iter((train, *others))
    except InvalidData as error:
        raise MissingData(f"needs {data.needs}; {error}") from None


def _pair(source: Source | None) -> Pair | None:
    return None if source is None else (as_inputs(source.images, by=_BY), source.labels)
