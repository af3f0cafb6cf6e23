"""A report that is already written learns how good it was."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eigenclean.errors import InvalidData
from eigenclean.files import write_text
from eigenclean.metrics.calibration import Reliability
from eigenclean.report.measured import measured
from eigenclean.report.render import render_slot
from eigenclean.verdict import Verdict

# Templates that begin and end with a mark: <!-- slot verdict --> ... <!-- /slot -->. Nothing a user wrote can look
# like one, because it is escaped. Drawing the whole page again would need the features, pictures and texts.
SLOTS = ("honest", "measured")


def add_measured(
    path: str | os.PathLike[str],
    verdict: Verdict,
    *,
    quality: Mapping[str, Any] | None = None,
    reliability: Reliability | None = None,
) -> None:
    """Put what was measured into the report of ``verdict`` at ``path``, whole or not at all; again replaces it."""
    part = measured(verdict, quality, reliability)
    page = Path(path).read_text(encoding="utf-8", errors="replace")  # what is not UTF-8 is not ours
    for slot in SLOTS:
        new = render_slot(slot, part)
        old = re.compile(rf"<!-- {slot} {part['verdict']} -->.*?<!-- /{slot} -->", flags=re.DOTALL)
        page, n_found = old.subn(lambda _, new=new: new, page)  # type: ignore[misc]
        if n_found != 1:
            raise InvalidData(f"{path} is not the report of this verdict; run `eigenclean detect` again")
    write_text(path, page)
