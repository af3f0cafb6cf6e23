"""Noise models, which corrupt labels for experiments and self-tests. A new one is a file and a line in `NOISES`."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Array
from eigenclean.errors import InvalidOption
from eigenclean.names import check_name
from eigenclean.noise.asymmetric import Asymmetric
from eigenclean.noise.base import Noise, RatedNoise
from eigenclean.noise.class_conditional import Pair, Symmetric, Transition
from eigenclean.noise.corruption import Corruption, corruption
from eigenclean.noise.human import Human
from eigenclean.noise.instance import Instance

__all__ = ["NOISES", "Corruption", "Noise", "add_noise", "corrupt", "make_noise", "parse_noise"]

NOISES: dict[str, type[Noise]] = {
    "symmetric": Symmetric,
    "asymmetric": Asymmetric,
    "pair": Pair,
    "instance": Instance,
    "transition": Transition,
    "human": Human,
}


def add_noise(
    labels: ArrayLike,
    kind: str | Noise = "symmetric",
    rate: float = 0.2,
    *,
    random_state: int | np.random.Generator | None = 0,
    features: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    **options: Any,
) -> Array:
    """A copy of ``labels`` with some of them wrong, of the same type.

    Args:
        labels: the right labels, integers or strings.
        kind: a name from `NOISES`, or a noise with its options.
        rate: nominal noise rate from 0 to 1; transition and human noise have none and ignore it.
        random_state: seed or generator; None for a different result each time.
        features: one row per label, for noise that depends on the sample.
        classes: all classes, when ``labels`` may lack some; their order is that of the rows of maps and matrices.
            By default the sorted distinct labels.
        **options: the fields of the noise, such as ``inclusive=False`` for symmetric.

    >>> add_noise(["cat", "dog", "cat", "dog"], "pair", rate=0.5)
    array(['dog', 'dog', 'cat', 'cat'], dtype='<U3')
    """
    return corrupt(
        labels, kind, rate, random_state=random_state, features=features, classes=classes, **options
    ).labels


def corrupt(
    labels: ArrayLike,
    kind: str | Noise = "symmetric",
    rate: float = 0.2,
    *,
    random_state: int | np.random.Generator | None = 0,
    features: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    **options: Any,
) -> Corruption:
    """Like `add_noise`, but keeps the right labels and the noise beside the noisy labels.

    >>> corrupt(np.arange(1000) % 10, "symmetric", rate=0.5, inclusive=False)
    Corruption by Symmetric(rate=0.5, inclusive=False, exact=True): 50.0 % of 1000 labels are wrong
    """
    if isinstance(kind, Noise):
        if options:
            raise InvalidOption(f"add_noise: {kind} has its options already, got also {', '.join(options)}")
        noise = kind
    else:
        noise = make_noise(kind, rate, **options)
    return corruption(labels, noise, random_state=random_state, features=features, classes=classes)


def make_noise(kind: str, rate: float = 0.2, **options: Any) -> Noise:
    """The noise of that name; ``rate`` is for kinds that have one.

    >>> make_noise("pair", 0.3)
    Pair(rate=0.3, exact=True)
    """
    check_name(kind, NOISES, by="add_noise", what="kind")
    noise_class = NOISES[kind]
    fields = [field for field in dataclasses.fields(noise_class) if field.name != "rate"]
    for name in options:
        check_name(name, [field.name for field in fields], by=f"{kind} noise", what="option")
    for field in fields:
        if field.default is dataclasses.MISSING and field.name not in options:
            raise InvalidOption(f"{kind} noise: the option {field.name} is needed, but was not given")
    if issubclass(noise_class, RatedNoise):
        return noise_class(rate=rate, **options)
    return noise_class(**options)


def parse_noise(text: str) -> Noise:
    """The noise that ``kind:rate`` stands for on the command line.

    >>> parse_noise("symmetric:0.5")
    Symmetric(rate=0.5, inclusive=True, exact=True)
    """
    rated = sorted(name for name, noise in NOISES.items() if issubclass(noise, RatedNoise))
    kind, _, rate = text.partition(":")
    check_name(kind.strip(), rated, by="noise as kind:rate", what="kind")
    try:
        return make_noise(kind.strip(), float(rate))
    except ValueError as error:
        if isinstance(error, InvalidOption):
            raise
        raise InvalidOption(
            f"noise must be given as kind:rate, for example symmetric:0.5, with a rate from 0 to 1, got {text!r}"
        ) from None
