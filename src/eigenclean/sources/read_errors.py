"""Whatever goes wrong while a library reads a user's file becomes one sentence."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from eigenclean.errors import EigencleanError, InvalidData
from eigenclean.files import is_write_error


@contextmanager
def explain_read_errors(name: str, kind: str) -> Iterator[None]:
    """Turn any error of the block into `InvalidData` saying that ``name`` is not a readable ``kind``.

    >>> with explain_read_errors("x.npz", ".npz archive"):
    ...     raise OSError("File is not a zip file")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidData: x.npz is not a readable .npz archive: File is not a zip file;
    check that the file is complete and of that kind
    """
    try:
        yield
    except EigencleanError:
        raise
    except Exception as error:
        if is_write_error(error):  # a copy is written while the file is read, and the disk is full
            raise
        # Broad on purpose: damaged bytes make zipfile, NumPy and Arrow raise nearly every type there is.
        raise InvalidData(
            f"{name} is not a readable {kind}: {_reason(error)}; check that the file is complete and of that kind"
        ) from error


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno:  # Arrow repeats the path in its own words
        return os.strerror(error.errno)
    lines = str(error).splitlines() or [type(error).__name__]
    text = lines[0].strip().rstrip(".;:,")
    return text if len(text) <= 200 else text[:199] + "…"
