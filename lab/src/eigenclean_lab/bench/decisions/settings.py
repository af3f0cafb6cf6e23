"""Data with wrong labels whose truth is known: by people, at boundaries, by keyword rules; and clean labels."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from eigenclean.arrays import Array, Ints
from eigenclean.errors import InvalidOption
from eigenclean.noise import corrupt
from eigenclean.sources import DATASETS
from eigenclean_lab.bench.quality.noise import Boundary
from eigenclean_lab.data_folder import data_file
from eigenclean_lab.store import MissingData

N_INTENTS = 20  # of banking77, others for each seed
N_WORDS = 3  # keywords of each intent
PEOPLE = ("worst", "rand1", "aggre")


class ReviewedData(NamedTuple):
    """Rows with given labels and truth; other seeds have other rows, or other errors."""

    name: str
    features: Array
    labels: Array
    truth: Array
    seed: int = 0


def settings(folder: Path | None, n: int, seed: int = 0) -> Iterator[ReviewedData]:
    """Every setting for which there are data, with ``n`` images of CIFAR-10."""
    digits = DATASETS["digits"]()
    pixels, right = digits.features() / 16, digits.labels
    noisy = corrupt(right, "instance", 0.2, features=pixels, random_state=seed)
    yield ReviewedData("digits, instance-dependent 20 %", pixels, noisy.labels, right, seed)
    noisy = corrupt(right, Boundary(0.15), features=pixels, random_state=seed)
    yield ReviewedData("digits, boundary 15 %", pixels, noisy.labels, right, seed)
    yield ReviewedData("digits, clean", pixels, right, right, seed)
    try:
        texts, images = data_file(folder, "banking77_minilm.npz"), data_file(folder, "cifar10_lite1_20k.npz")
    except MissingData:
        return
    with np.load(texts) as data:
        yield _keywords(data["texts"], data["features"], data["labels"], seed)
    rows = slice(seed * n, (seed + 1) * n)
    with np.load(images) as data:
        features, truth = data["features"][rows].astype(np.float32), data["clean"][rows]
        if len(truth) < n:
            raise InvalidOption(f"bench decisions: there are no {seed + 1} times {n} images of CIFAR-10")
        for name in PEOPLE:
            yield ReviewedData(f"people, {name}", features, data[name][rows], truth, seed)


def _keywords(texts: Array, features: Array, intents: Array, seed: int) -> ReviewedData:
    chosen = np.random.default_rng(seed).permutation(np.unique(intents))[:N_INTENTS]
    rows = np.flatnonzero(np.isin(intents, chosen))
    classes, codes = np.unique(intents[rows], return_inverse=True)
    given = keyword_labels(texts[rows].tolist(), codes)
    rows, given = rows[given >= 0], given[given >= 0]
    name = f"banking77, {N_WORDS} keywords per intent"
    return ReviewedData(name, features[rows].astype(np.float32), classes[given], intents[rows], seed)


def keyword_labels(texts: Sequence[str], codes: Ints) -> Ints:
    """Weak labels by rules: the class most of whose keywords are in the text; -1 where there is none of them.

    The keywords of a class are the words that are most frequent in it, compared with the other texts.

    >>> texts = ["lost card", "card stolen", "a fee", "fee for a card", "hello", "what is it"]
    >>> keyword_labels(texts, np.array([0, 0, 1, 1, 1, 1])).tolist()
    [0, 0, 1, 0, 1, -1]
    """
    counted: Any = CountVectorizer(binary=True, stop_words="english").fit_transform(texts)
    table = counted.toarray().astype(np.float64)
    members = np.eye(int(codes.max()) + 1)[codes]
    inside = members.T @ table / members.sum(axis=0)[:, None]
    outside = (1 - members).T @ table / (1 - members).sum(axis=0)[:, None]
    keywords = np.argsort(outside - inside, axis=1, kind="stable")[:, :N_WORDS]
    votes = np.stack([table[:, words].sum(axis=1) for words in keywords], axis=1)
    return np.where(votes.max(axis=1) > 0, votes.argmax(axis=1), -1)
