"""The decisions of a review written as a patch into the folder of the run, and what to type next."""

import shlex
from collections.abc import Sequence
from typing import Any

from eigenclean.review.run import Review

PATCH = "patch.jsonl"


def export_patch(review: Review, commands: Sequence[str] | None = None) -> dict[str, Any]:
    """Write the patch; say where it is, what is in it, and which commands follow.

    Without ``commands``, those that show and apply the patch to data of the name that the run has.
    """
    patch, path = review.patch(), review.folder / PATCH
    patch.save(path)
    if commands is None:
        words = (["diff", review.name, str(path)], ["apply", review.name, str(path), "--in-place"])
        commands = [shlex.join(["eigenclean", "patch", *command]) for command in words]
    return {"path": str(path), "decisions": repr(patch).removeprefix("Patch of "), "next": list(commands)}
