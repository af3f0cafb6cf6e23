"""Columns of settings, and figures of their cells, that several tables of the paper share."""

from collections.abc import Iterable
from dataclasses import replace

from eigenclean_lab.reproduce.profiles import BANKING, HUMAN, SCRATCH
from eigenclean_lab.reproduce.values import Column, Metric


def noise_columns(data: str, short: str, *rates: int, kind: str = "symmetric") -> tuple[Column, ...]:
    """A column for each rate of one kind of noise.

    >>> [column.name for column in noise_columns("cifar10", "C10", 20, 50)]
    ['C10 S20', 'C10 S50']
    """
    letter = kind[0].upper()
    return tuple(Column(f"{short} {letter}{rate}", data, f"{kind}:{rate / 100:g}") for rate in rates)


def _columns(data: str, short: str, *rates: int) -> tuple[Column, ...]:
    return (*noise_columns(data, short, *rates), *noise_columns(data, short, 40, kind="asymmetric"))


def on_fashion(columns: Iterable[Column], data: str) -> tuple[Column, ...]:
    """The same noises on Fashion-MNIST, under its name.

    >>> [column.name for column in on_fashion(noise_columns("cifar10", "C10", 20), "fashion")]
    ['Fashion S20']
    """
    return tuple(replace(column, name=column.name.replace("C10", "Fashion"), data=data) for column in columns)


TEN, HUNDRED = _columns("cifar10", "C10", 20, 50, 80), _columns("cifar100", "C100", 20, 50, 80)
BOTH = (*TEN, *HUNDRED)
TEXTS = _columns(BANKING, BANKING, 20, 50, 80)  # the paper has no numbers for them
TEN_SYMMETRIC = noise_columns("cifar10", "C10", 20, 50, 80)
LOUDEST = noise_columns("cifar10", "C10", 90)
FEATURE_DEPENDENT = (
    *noise_columns("cifar10", "C10", 20, 40, kind="instance"),
    *noise_columns("cifar100", "C100", 20, 40, kind="instance"),
)
PEOPLE = tuple(Column(f"C10N {which}", data, "people") for which, data in HUMAN.items())  # not in the paper
WORST = PEOPLE[-1:]
CLOTHING = (Column("Clothing1M", "clothing1m", "people"),)
WEB = (Column("mini-WebVision", "webvision", "people"),)
EIGHTY, FORTY = TEN[2], TEN[3]
FROM_SCRATCH = on_fashion((TEN[1], EIGHTY, FORTY), SCRATCH)  # not in the paper: a second network that learns errors

BEST = Metric("train.best", "accuracy", 100.0, 1)
LAST = Metric("train.last", "last epoch", 100.0, 1)
HIGHEST = Metric("train.highest", "best epoch", 100.0, 1)
LAST_TEN = Metric("train.last_ten", "last ten", 100.0, 1)
F_KEPT = Metric("train.f", "F of the kept")
F_FIRST = Metric("train.f_first", "F, first round")
F_FOUND = Metric("judge.f", "F")
