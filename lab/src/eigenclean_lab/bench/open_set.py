"""Samples that belong to none of the classes: some classes are left out, and their samples get labels at random."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import chain, combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import average_precision_score

from eigenclean.arrays import Array, Bools, Ints
from eigenclean.detect import build_detector
from eigenclean.sources import DATASETS
from eigenclean.verdict import Verdict
from eigenclean_lab.data_folder import data_file
from eigenclean_lab.store import MissingData, today

FILE = "bench_open_set.json"
NONE_SHARE = 0.1  # of all rows
FLIPPED = 0.05  # of the rows of the classes
CIFAR = "CIFAR-10, two classes left out"
N_INTENTS = 8  # of banking77 that are left out
N_DRAWS = 2


@dataclass(frozen=True)
class Setting:
    """Rows with given labels.

    Attributes:
        name: of the setting.
        kind: settings of one kind are averaged.
        features: n x d.
        given: the given labels.
        is_none: which rows belong to no class.
        is_flipped: which other rows have a wrong label.
        seed: of the labels at random.
    """

    name: str
    kind: str
    features: Array
    given: Array
    is_none: Bools
    is_flipped: Bools
    seed: int = 0


@dataclass(frozen=True)
class Outcome:
    """What the judge says about a setting.

    Attributes:
        setting: its name.
        kind: settings of one kind are averaged.
        n: number of rows.
        n_classes: K.
        none: share of the rows that belong to no class.
        called: share of the rows that are called so.
        precision: share of these that are; None if no row is called.
        recall: share of the rows of no class that are called; None if there are none.
        flips_flagged: share of the ordinary errors that are flagged, with the component.
        flips_flagged_before: the same without it.
        average_precision: of the ranking, with all wrong labels as errors; None if no label is wrong.
        average_precision_before: without the component.
        flips_average_precision: of the ranking of the rows of the classes; None if no label is flipped.
        flips_average_precision_before: without the component.
        flips_by_other_class: the same of the ranking by P(another class), with the component.
        flips_among_all: average precision of the flipped labels among all rows, by P(another class).
        flips_among_all_before: without the component.
        noise_rate: share of wrong labels, those of no class among them.
        estimated: what the verdict says about it.
        estimated_before: without the component.
        seed: of the labels at random.
    """

    setting: str
    kind: str
    n: int
    n_classes: int
    none: float
    called: float
    precision: float | None
    recall: float | None
    flips_flagged: float | None
    flips_flagged_before: float | None
    average_precision: float | None
    average_precision_before: float | None
    flips_average_precision: float | None
    flips_average_precision_before: float | None
    flips_by_other_class: float | None
    flips_among_all: float | None
    flips_among_all_before: float | None
    noise_rate: float
    estimated: float
    estimated_before: float
    seed: int = 0


def leave_out(name: str, kind: str, features: Array, labels: Array, left_out: Array, seed: int = 0) -> Setting:
    """The rows of the classes ``left_out`` become a tenth of all rows and get labels of other classes at random.

    >>> setting = leave_out("", "", np.zeros((50, 1)), np.repeat(np.arange(5), 10), np.array([4]))
    >>> len(setting.given), int(setting.is_none.sum()), np.unique(setting.given).tolist()
    (44, 4, [0, 1, 2, 3])
    """
    rng = np.random.default_rng(seed)
    none = np.flatnonzero(np.isin(labels, left_out))
    known = np.flatnonzero(~np.isin(labels, left_out))
    n_none = round(NONE_SHARE / (1 - NONE_SHARE) * len(known))
    rows = rng.permutation(np.concatenate([known, rng.permutation(none)[:n_none]]))
    classes, codes = np.unique(labels[known], return_inverse=True)
    given: Ints = np.full(len(labels), -1)
    given[known] = codes
    given = given[rows]
    is_none = given < 0
    is_flipped = ~is_none & (rng.random(len(rows)) < FLIPPED)
    k = len(classes)
    given[is_none] = rng.integers(k, size=is_none.sum())
    given[is_flipped] = (given[is_flipped] + 1 + rng.integers(k - 1, size=is_flipped.sum())) % k
    return Setting(name, kind, features[rows], classes[given], is_none, is_flipped, seed)


def settings(folder: Path | None, n: int, seed: int = 0) -> Iterator[Setting]:
    """Settings with samples of no class; of these data, constants of the judge were chosen on digits alone."""
    digits = DATASETS["digits"]()
    pixels, right = digits.features() / 16, digits.labels
    yield leave_out("digits without 8 and 9", "digits (development)", pixels, right, np.array([8, 9]), seed)
    loaded = _load(folder, n)
    if loaded is None:
        return
    features, truth = loaded.images, loaded.image_labels["clean"]
    # All pairs, in an order in which those that were measured so far are no special ones.
    pairs = list(combinations(np.unique(truth), 2))
    for number in np.random.default_rng(seed).permutation(len(pairs)):
        first, second = pairs[number]
        name = f"CIFAR-10 without {first} and {second}"
        yield leave_out(name, CIFAR, features, truth, np.array([first, second]), seed)
    intents = np.random.default_rng(0).permutation(np.unique(loaded.intents))
    for draw in range(N_DRAWS):
        left_out = intents[draw * N_INTENTS : (draw + 1) * N_INTENTS]
        name = f"banking77 without {N_INTENTS} intents, draw {draw + 1}"
        yield leave_out(name, "banking77, eight intents left out", loaded.questions, loaded.intents, left_out, seed)


def complete_settings(folder: Path | None, n: int) -> Iterator[Setting]:
    """Settings in which every sample belongs to a class."""
    digits = DATASETS["digits"]()
    yield _complete("digits, clean", digits.features() / 16, digits.labels, digits.labels)
    loaded = _load(folder, n)
    if loaded is None:
        return
    truth = loaded.image_labels["clean"]
    yield _complete("CIFAR-10, clean", loaded.images, truth, truth)
    for name in ("aggre", "worst"):
        yield _complete(f"CIFAR-10, people's labels ({name})", loaded.images, loaded.image_labels[name], truth)
    yield _complete("banking77, clean", loaded.questions, loaded.intents, loaded.intents)


class _Loaded(NamedTuple):
    """Features and labels of the first images of CIFAR-10, and of all questions of banking77."""

    images: Array
    image_labels: dict[str, Array]
    questions: Array
    intents: Array


def _load(folder: Path | None, n: int) -> _Loaded | None:
    """The data of both; None where one is missing."""
    try:
        images, texts = data_file(folder, "cifar10_lite1_20k.npz"), data_file(folder, "banking77_minilm.npz")
    except MissingData:
        return None
    with np.load(images) as data:
        labels = {name: data[name][:n] for name in ("clean", "aggre", "worst")}
        features = data["features"][:n].astype(np.float32)
    with np.load(texts) as data:
        return _Loaded(features, labels, data["features"].astype(np.float32), data["labels"])


def measure(setting: Setting) -> Outcome:
    """Judge a setting, with the component and, from the same verdict, without it."""
    verdict = build_detector("judge", {"n_repeats": 1}, seed=0).fit_judge(setting.features, setting.given)
    none, flipped, called = setting.is_none, setting.is_flipped, verdict.is_none
    wrong, before = none | flipped, p_right_without(verdict)
    known, p_not_other = ~none, 1 - verdict.other_class_probability
    return Outcome(
        setting.name,
        setting.kind,
        len(verdict),
        len(np.unique(setting.given)),
        _share(none),
        _share(called),
        _share(none[called]) if called.any() else None,
        _share(called[none]) if none.any() else None,
        _share(verdict.flagged[flipped]) if flipped.any() else None,
        _share(before[flipped] <= 0.5) if flipped.any() else None,
        _average_precision(wrong, verdict.p_clean),
        _average_precision(wrong, before),
        _average_precision(flipped[known], verdict.p_clean[known]),
        _average_precision(flipped[known], before[known]),
        _average_precision(flipped[known], p_not_other[known]),
        _average_precision(flipped, p_not_other),
        _average_precision(flipped, before),
        _share(wrong),
        round(verdict.noise_rate, 4),
        round(float(np.mean(1 - before)), 4),
        setting.seed,
    )


def p_right_without(verdict: Verdict) -> Array:
    """P(right) as it would be if every sample belonged to a class: the verdict's is this times 1 − P(none)."""
    if verdict.none_probability is None:
        return np.asarray(verdict.p_clean)
    return np.clip(verdict.p_clean / np.maximum(1 - verdict.none_probability, 1e-12), 0, 1)


def means(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """Mean precision and recall of each kind of settings with samples of no class.

    Where no sample is called, the precision counts as 0.
    """
    kinds = dict.fromkeys(outcome.kind for outcome in outcomes if outcome.recall is not None)
    rows = []
    for kind in kinds:
        chosen = [outcome for outcome in outcomes if outcome.kind == kind]
        by_seed = {
            seed: mean_of([outcome.recall for outcome in chosen if outcome.seed == seed])
            for seed in sorted({outcome.seed for outcome in chosen})
        }
        rows.append(
            {
                "kind": kind,
                "settings": len({outcome.setting for outcome in chosen}),
                "measured": len(chosen),
                "precision": mean_of([outcome.precision for outcome in chosen]),
                "recall": mean_of([outcome.recall for outcome in chosen]),
                "recall_of_seeds": list(by_seed.values()),
                "nothing_called": sum(outcome.precision is None for outcome in chosen),
            }
        )
    return rows


def mean_of(values: Sequence[float | None]) -> float:
    """The mean, in which a missing value counts as 0."""
    return round(float(np.mean([value or 0.0 for value in values])), 4)


def by_class(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Mean precision and recall of the pairs of classes of CIFAR-10 that contain a class."""
    rows = []
    pairs = {outcome.setting: _classes(outcome.setting) for outcome in outcomes if outcome.kind == CIFAR}
    for name in sorted({name for pair in pairs.values() for name in pair}):
        chosen = [outcome for outcome in outcomes if name in pairs.get(outcome.setting, ())]
        precision, recall = (mean_of([getattr(each, key) for each in chosen]) for key in ("precision", "recall"))
        rows.append({"class": name, "measured": len(chosen), "precision": precision, "recall": recall})
    return rows


def _classes(setting: str) -> tuple[str, ...]:
    return tuple(setting.removeprefix("CIFAR-10 without ").split(" and "))


def run(
    folder: Path | None, n: int = 4000, *, seeds: int = 1, measured: Sequence[Outcome] = ()
) -> Iterator[Outcome]:
    """Every setting for which there are data, except those that were measured before."""
    known = {(outcome.setting, outcome.seed): outcome for outcome in measured}
    repeated = (settings(folder, n, seed) for seed in range(1, seeds))
    for setting in chain(settings(folder, n, 0), complete_settings(folder, n), *repeated):
        before = known.get((setting.name, setting.seed))
        yield measure(setting) if before is None else before


def load(path: Path) -> list[Outcome]:
    """The outcomes of an earlier run that have all measures; none if there is no file."""
    if not path.is_file():
        return []
    records = json.loads(path.read_text(encoding="utf-8"))["outcomes"]
    measures = {field.name for field in fields(Outcome)}
    return [Outcome(**record) for record in records if set(record) == measures]


def facts(outcomes: list[Outcome]) -> dict[str, Any]:
    """What `results/bench_open_set.json` holds."""
    rows = [asdict(outcome) for outcome in outcomes]
    return {"date": today(), "means": means(outcomes), "by_class": by_class(outcomes), "outcomes": rows}


def _complete(name: str, features: Array, given: Array, truth: Array) -> Setting:
    nothing = np.zeros(len(given), dtype=bool)
    return Setting(name, "every sample belongs to a class", features, given, nothing, np.asarray(given != truth))


def _share(mask: Bools) -> float:
    return round(float(np.mean(mask)), 4)


def _average_precision(wrong: Bools, p_right: Array) -> float | None:
    return round(float(average_precision_score(wrong, 1 - p_right)), 4) if wrong.any() else None
