"""What was run: method, parameters, source, command and version."""

import hashlib
import shlex
from typing import Any

import numpy as np

from eigenclean.report.formatting import plain, setting
from eigenclean.report.sections.base import ReportInput, finite
from eigenclean.verdict import Verdict

_FACTS = (
    "source",
    "columns",
    "encoder",
    "skipped",
    "created",
    "seconds",
    "version",
    "data_hash",
    "command",
    "next",
)


def run_facts(inputs: ReportInput) -> dict[str, Any]:
    """The facts of the run, and the hash that tells its verdict from others."""
    made_by = inputs.made_by
    facts = {key: (inputs.run or {}).get(key) for key in _FACTS}
    if isinstance(facts["command"], list | tuple):
        facts["command"] = shlex.join(map(str, facts["command"]))
    notes = made_by.get("notes") or []
    notes = [notes] if isinstance(notes, str) else notes
    return {
        **{key: None if value is None else plain(value, 2000) for key, value in facts.items()},
        "seconds": finite(facts["seconds"]),
        "method": plain(made_by.get("method", "unknown")),
        "parameters": {plain(key): setting(value) for key, value in (made_by.get("parameters") or {}).items()},
        "threshold": finite(made_by.get("threshold")),
        "notes": [plain(note, 1000) for note in notes],
        "verdict_hash": verdict_hash(inputs.verdict),
    }


def verdict_hash(verdict: Verdict) -> str:
    """Identifies a verdict, so that an evaluation cannot be added to the report of another run."""
    digest = hashlib.sha256(np.ascontiguousarray(verdict.p_clean, dtype=np.float64).tobytes())
    digest.update(np.packbits(verdict.flagged).tobytes())
    return digest.hexdigest()[:16]
