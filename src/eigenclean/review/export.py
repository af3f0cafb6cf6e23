"""The decisions of a review written as a patch into the folder of the run, and what to type next."""

import shlex
from collections.abc import Sequence
from typing import Any

from eigenclean.review.run import Review

PATCH = "patch.jsonl"


def export_patch(review: Review, source: Sequence[str] | None = None) -> dict[str, Any]:
    """Write the patch; say where it is, what is in it, and which commands follow.

    ``source`` are the data as words of a command line; by default their name.
    """
    patch, path = review.patch(), review.folder / PATCH
    patch.save(path)
    data = [review.name] if source is None else list(source)
    commands = (["diff", *data, str(path)], ["apply", *data, str(path), "--in-place"])
    return {
        "path": str(path),
        "decisions": repr(patch).removeprefix("Patch of "),
        "next": [shlex.join(["eigenclean", "patch", *words]) for words in commands],
    }
