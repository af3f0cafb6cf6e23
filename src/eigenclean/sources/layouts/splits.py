"""Parts that a data set comes in."""

from collections.abc import Sequence

from eigenclean.errors import InvalidOption
from eigenclean.names import check_name


def choose_split(split: str | None, there: Sequence[str], *, by: str) -> str:
    """The wanted part: by default "train", else the first there is.

    >>> choose_split(None, ["test", "train"], by="mine"), choose_split("test", ["test", "train"], by="mine")
    ('train', 'test')
    >>> choose_split("test", [], by="mine")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidOption: mine is in one piece: leave out the split 'test'
    """
    if split is None:
        return "train" if "train" in there or not there else there[0]
    if not there:
        raise InvalidOption(f"{by} is in one piece: leave out the split {split!r}")
    check_name(split, there, by=by, what="split")
    return split
