"""The results of a run, written together: verdict, summary, report and its data."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from eigenclean.files import make_folder, replacing, sweep, write_text
from eigenclean.metrics.calibration import Reliability
from eigenclean.metrics.noise_rate import noise_rate_interval
from eigenclean.report.html import render, report_data_path, write_report_data
from eigenclean.report.summary import summarize
from eigenclean.sources import Source
from eigenclean.verdict import Verdict
from eigenclean.version import __version__


@contextmanager
def results_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a folder after checking that it can be written; folders made for it are removed if the block fails."""
    folder = Path(path)
    new = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    make_folder(folder)
    sweep(folder)  # remove temporary files that a killed run left behind
    try:
        with suppress(_TrialWrite), replacing(folder / "verdict.parquet"):
            raise _TrialWrite
        yield folder
    except BaseException:
        for created in new:  # innermost first; one that is not empty stays
            with suppress(OSError):
                created.rmdir()
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
    """Write verdict.parquet, summary.json, report.html and report.json into ``folder``; return the summary.

    The report is rendered before anything is written, so that an error leaves the folder as it was.

    Args:
        folder: where to write.
        verdict: what was found.
        source: the data, for the report and the data hash.
        command: the command line of the run, for the report.
        seconds: how long judging took.
        facts: more entries of the summary.
        quality: measured against the truth, for the report.
        reliability: predicted against observed probabilities, for the report.
        csv: also write verdict.csv.
        report: whether to write the report.
        written: a file or folder that holds the verdict already (streaming and Dask write it block by block) and
            only has to be moved; then features are read again only for the rows on the map.
        data_hash: hash of the data where it is known; otherwise the source is read for it.
    """
    run = {
        "seconds": seconds,
        "version": __version__,
        "data_hash": source.data_hash() if data_hash is None else data_hash,
    }
    page = shown = None
    if report:
        facts_shown = {
            **run,
            "source": source.name,
            **_embedding_facts((facts or {}).get("embedding")),
            "command": command,
            "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        }
        shown = summarize(
            verdict,
            features=source.features() if written is None else source.take,
            images=source.images,
            texts=source.texts,
            run=facts_shown,
            quality=quality,
            reliability=reliability,
        )
        page = render(shown)
    entries = {"estimated_noise_rate_interval": list(noise_rate_interval(verdict.p_clean)), **run, **(facts or {})}
    verdict.save(folder, csv=csv, written=written, **entries)
    path = folder / "report.html"
    if page is not None and shown is not None:
        write_report_data(path, shown)
        write_text(path, page)
    else:  # an earlier report would be about another verdict
        path.unlink(missing_ok=True)
        report_data_path(path).unlink(missing_ok=True)
    return verdict.summary(**entries)


def _embedding_facts(facts: Mapping[str, Any] | None, max_named: int = 20) -> dict[str, Any]:
    """The encoder and the rows it could not read, for the report."""
    if facts is None:
        return {}
    skipped = facts["n_skipped"]
    names = ", ".join(str(row["id"]) for row in facts["skipped"][:max_named])
    more = f" and {skipped - max_named} more" if skipped > max_named else ""
    left_out = f"{skipped} that cannot be read: {names}{more}" if skipped else None
    return {"encoder": f"{facts['encoder']}, computed from the {facts['kind']}s", "skipped": left_out}


class _TrialWrite(Exception):
    """Ends the trial write before anything is replaced."""
