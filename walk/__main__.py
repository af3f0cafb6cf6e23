"""``python -m walk``: take the walk for all kinds of data, print the times, end with 1 if a step is broken."""

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from eigenclean.version import __version__
from walk.commands import walk_commands
from walk.data import KINDS
from walk.notebook import walk_notebook
from walk.program import Broken, Times
from walk.reviewer import browser

# Options of a cheap detector, for the kinds of data that it takes.
QUICK: Mapping[str, Mapping[str, Any]] = {
    "commands": {"method": ("--method", "knn"), "recipe": ("--set", "detector=knn")},
    "notebook": {"method": ", method='knn'"},
}
QUICK_KINDS = ("images", "texts", "tables")
WAYS: Mapping[str, Callable[..., Times]] = {"commands": walk_commands, "notebook": walk_notebook}


def main() -> int:
    """Parse the command line and walk; exit code 1 when a step is broken."""
    options = _options()
    walked: list[dict[str, Any]] = []
    broken = 0
    with tempfile.TemporaryDirectory(prefix="walk-") as folder, browser() as opened:
        os.environ["EIGENCLEAN_CACHE"] = f"{folder}/features"
        for name in options.kinds:
            for way in options.ways:
                place = Path(folder) / f"{name}-{way}"
                place.mkdir()
                quick = QUICK[way] if options.quick and name in QUICK_KINDS else {}
                try:
                    times = WAYS[way](KINDS[name].write(place), place, opened, **quick)
                except Broken as problem:
                    broken += 1
                    _say(f"BROKEN {name}, {way}: {problem}")
                    continue
                shown = ", ".join(f"{step} {seconds:.1f}" for step, seconds in times.seconds.items())
                _say(f"{name}, {way}: {sum(times.seconds.values()):.1f} s ({shown})")
                walked.append({"kind": name, "way": way, "seconds": times.seconds})
    if options.out is not None:
        facts = {"command": "make walk", "version": __version__, "python": platform.python_version()}
        record = {**facts, "cores": os.cpu_count(), "broken": broken, "walks": walked}
        options.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return 1 if broken else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m walk", description=__doc__)
    parser.add_argument("kinds", nargs="*", help=f"of data: {', '.join(KINDS)}; by default all")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--quick", action="store_true", help="take a cheap detector where it serves")
    parser.add_argument("--out", type=Path, help="write the times to this JSON file")
    options = parser.parse_args()
    unknown = [name for name in options.kinds if name not in KINDS]
    if unknown:
        parser.error(f"{unknown[0]!r} is no kind of data; there are {', '.join(KINDS)}")
    options.kinds = options.kinds or list(KINDS)
    return options


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
