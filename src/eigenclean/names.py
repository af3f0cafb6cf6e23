"""Checks of names in options, with a suggestion for misspelled ones."""

import difflib
from collections.abc import Iterable

from eigenclean.errors import InvalidOption


def check_name(value: object, allowed: Iterable[str], *, by: str, what: str) -> None:
    """Raise `InvalidOption` unless ``value`` is one of the ``allowed`` names.

    >>> check_name("symetric", ["pair", "symmetric"], by="add_noise", what="kind")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidOption: add_noise: kind must be one of pair, symmetric, got 'symetric';
    did you mean 'symmetric'?
    """
    names = sorted(allowed)
    if isinstance(value, str) and value in names:
        return
    near = difflib.get_close_matches(str(value), names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise InvalidOption(f"{by}: {what} must be one of {', '.join(names)}, got {value!r}{hint}")
