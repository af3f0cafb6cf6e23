"""The results of a run, written together: verdict, summary, report."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from eigenclean.files import make_folder, replacing, sweep, write_text
from eigenclean.metrics.calibration import Reliability
from eigenclean.metrics.noise_rate import noise_rate_interval
from eigenclean.report.render import render
from eigenclean.report.summarize import summarize
from eigenclean.sources import Source
from eigenclean.verdict import Verdict
from eigenclean.version import __version__


@contextmanager
def results_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder that can be written, known before the long work starts; gone again if nothing came of it."""
    folder = Path(path)
    new = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    make_folder(folder)
    sweep(folder)  # what a run that was killed left behind
    try:
        with suppress(_OnlyTrying), replacing(folder / "verdict.parquet"):
            raise _OnlyTrying
        yield folder
    except BaseException:
        for made in new:  # innermost first; one that is not empty stays
            with suppress(OSError):
                made.rmdir()
        raise


def publish(
    folder: Path,
    verdict: Verdict,
    source: Source,
    *,
    command: str | None = None,
    seconds: float | None = None,
    facts: Mapping[str, Any] | None = None,
    quality: Mapping[str, Any] | None = None,
    reliability: Reliability | None = None,
    csv: bool = False,
    report: bool = True,
    written: Path | None = None,
    data_hash: str | None = None,
) -> dict[str, Any]:
    """Write verdict.parquet, summary.json and report.html into ``folder``; return the summary.

    ``facts`` go into the summary too; ``quality`` and ``reliability`` into the report, when the truth is known. The
    report is drawn before anything is written, so that an error leaves the folder as it was. A verdict that was
    streamed has been ``written`` already, and its ``data_hash`` is known; then features are not read again but for
    those on the map. One that was made on a cluster is ``written`` too, but nobody there saw the rows in order:
    this process reads them once for the hash.
    """
    run = {
        "seconds": seconds,
        "version": __version__,
        "data_hash": source.data_hash() if data_hash is None else data_hash,
    }
    page = None
    if report:
        shown = {
            **run,
            "source": source.name,
            **_embedded((facts or {}).get("embedding")),
            "command": command,
            "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        }
        page = render(
            summarize(
                verdict,
                features=source.features() if written is None else source.take,
                images=source.images,
                texts=source.texts,
                run=shown,
                quality=quality,
                reliability=reliability,
            )
        )
    noted = {"estimated_noise_rate_interval": list(noise_rate_interval(verdict.p_clean)), **run, **(facts or {})}
    verdict.save(folder, csv=csv, written=written, **noted)
    if page is not None:
        write_text(folder / "report.html", page)
    else:  # an earlier one is about another verdict
        (folder / "report.html").unlink(missing_ok=True)
    return verdict.summary(**noted)


def _embedded(facts: Mapping[str, Any] | None, most: int = 20) -> dict[str, Any]:
    """What the report says about features that were computed for this run."""
    if facts is None:
        return {}
    skipped = facts["n_skipped"]
    names = ", ".join(str(one["id"]) for one in facts["skipped"][:most])
    more = f" and {skipped - most} more" if skipped > most else ""
    left_out = f"{skipped} that cannot be read: {names}{more}" if skipped else None
    return {"encoder": f"{facts['encoder']}, computed from the {facts['kind']}s", "skipped": left_out}


class _OnlyTrying(Exception):
    """Leaves the trial write before it replaces anything."""
