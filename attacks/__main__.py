"""``python -m attacks``: run the attacks, print the table, end with 1 if a promise was broken."""

import argparse
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

from attacks.children import import_everything, run_cases
from attacks.kinds import KINDS
from attacks.record import Case, Table
from eigenclean.version import __version__

QUICK = 0.1  # share of the cases


def main() -> int:
    """Parse the command line and run; exit code 1 when there was a violation."""
    options = _options()
    table, started = Table(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="attacks-") as folder:
        os.environ["EIGENCLEAN_CACHE"] = f"{folder}/cache"
        import_everything()
        for name in KINDS:
            _attack(name, Path(folder) / name, options, table)
    for line in table.lines():
        _say(line)
    if options.json is not None and not options.case:
        facts = {
            "command": "make attack",
            "version": __version__,
            "seed": options.seed,
            "scale": options.scale,
            "python": platform.python_version(),
            "minutes": round((time.monotonic() - started) / 60, 1),
        }
        options.json.write_text(table.to_json(facts), encoding="utf-8")
    return 1 if table.violations else 0


def _attack(name: str, folder: Path, options: argparse.Namespace, table: Table) -> None:
    kind = KINDS[name]
    prefixes = tuple(f"{prefix}/" for prefix in options.only.split(",")) if options.only else ("",)
    cases = [case for case in kind.cases(folder, options.scale, options.seed) if case.id.startswith(prefixes)]
    cases = [case for case in cases if options.case in (None, case.id)]
    if not cases:
        return
    _say(f"{name}: {kind.summary}, {len(cases)} cases")
    started = time.monotonic()
    allowed = None if options.seconds is None else options.seconds * kind.share
    folder.mkdir()
    kind.prepare(folder, {case.target for case in cases})
    reports = run_cases(cases, kind.limits, options.jobs)
    for case, sentences in reports:
        table.of(case.kind).add(case.id, sentences)
        _report(case, sentences, options)
        if allowed is not None and time.monotonic() - started > allowed:
            _say(f"{name}: stopped after {allowed:.0f} s")
            break
    reports.close()


def _report(case: Case, sentences: list[str], options: argparse.Namespace) -> None:
    for sentence in sentences:
        _say(f"VIOLATION {case.id}: {sentence}")
    if sentences:
        _say(f"  again: python -m attacks --case {case.id} --seed {options.seed} --scale {options.scale}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m attacks", description=__doc__)
    parser.add_argument("--only", help=f"kinds or targets, separated by commas: {', '.join(KINDS)}, fuzz/csv")
    parser.add_argument("--case", help="one case, such as fuzz/csv/17")
    parser.add_argument("--seed", type=int, default=0, help="of all random choices")
    parser.add_argument("--seconds", type=float, help="stop after about this many seconds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the cases of the full attack")
    parser.add_argument("--quick", dest="scale", action="store_const", const=QUICK, help=f"--scale {QUICK}")
    parser.add_argument("--json", type=Path, help="also write the table to this file")
    return parser.parse_args()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
