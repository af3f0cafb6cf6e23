"""The results of a run, written together: verdict, summary, report and its data."""

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from eigenclean.files import folder_made_for, json_text, replacing, sweep, write_text
from eigenclean.metrics.calibration import Reliability
from eigenclean.metrics.noise_rate import verdict_interval
from eigenclean.publication import publication, refuse_foreign_manifest
from eigenclean.report.html import render, report_data, report_data_path
from eigenclean.report.sections.base import Features
from eigenclean.report.summary import summarize
from eigenclean.sources import Source
from eigenclean.tables import TableEncoding
from eigenclean.verdict import CSV, FILE, Verdict, decided_rows, write_verdict
from eigenclean.version import __version__

REPORT = "report.html"
ANNOTATOR_FILES = ("annotators.parquet", "annotations.parquet", "ask.csv")  # of labels by several annotators
ENCODING = "encoding.json"  # how the columns of a table became features, for rows that come later

# Without these in the set, an earlier copy or report would be about another verdict.
_OPTIONAL = (CSV, REPORT, report_data_path(REPORT).name, ENCODING)


@contextmanager
def results_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a folder after checking that it can be written; folders made for it are removed if the block fails."""
    with folder_made_for(path) as folder:
        sweep(folder)  # remove temporary files that a killed run left behind
        refuse_foreign_manifest(folder)
        with suppress(_TrialWrite), replacing(folder / FILE):
            raise _TrialWrite
        yield folder


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
    others: Mapping[str, Callable[[Path], None]] | None = None,
    encoding: TableEncoding | None = None,
) -> dict[str, Any]:
    """Write verdict.parquet, summary.json, report.html and report.json into ``folder``; return the summary.

    The files are replaced as one: everything is rendered and written elsewhere before the folder changes.

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
        others: more files of the set, each with a function that writes it to a path.
        encoding: how the columns of a table became features; it is saved too.
    """
    run = {
        "seconds": seconds,
        "version": __version__,
        "data_hash": source.data_hash() if data_hash is None else data_hash,
    }
    page = report_summary = None
    if report:
        facts_shown = {
            **run,
            "source": source.name,
            "columns": ((facts or {}).get("features") or {}).get("sentence"),
            **_embedding_facts((facts or {}).get("embedding")),
            "command": command,
            "next": _next_command(folder) if command is not None and verdict.n_flagged else None,
            "self_test": (facts or {}).get("self_test"),
            "decisions": (facts or {}).get("decisions"),
            "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        }
        report_summary = summarize(
            verdict,
            features=_shown_features(source, is_read=written is None),
            images=source.images,
            texts=source.texts,
            run=facts_shown,
            quality=quality,
            reliability=reliability,
            encoding=encoding,
        )
        page = render(report_summary)
    doubtful = verdict.most_doubtful(decided=decided_rows(verdict, (facts or {}).get("decisions")))
    made_by = verdict.made_by if isinstance(verdict.made_by, Mapping) else {}
    entries = {
        "estimated_noise_rate_interval": list(verdict_interval(verdict)),
        **{key: made_by[key] for key in ("views", "cautions") if key in made_by},
        **({} if verdict.n_flagged else {"most_doubtful": verdict.ids[doubtful].tolist()}),
        **run,
        **(facts or {}),
    }
    summary = verdict.summary(**entries)
    with publication(folder, removes=_OPTIONAL) as staging:
        write_verdict(verdict, staging, json_text(summary), csv=csv, written=written)
        if page is not None and report_summary is not None:
            write_text(report_data_path(staging / REPORT), report_data(report_summary))
            write_text(staging / REPORT, page)
        if encoding is not None:
            encoding.save(staging / ENCODING)
        for name, write in (others or {}).items():
            write(staging / name)
    return summary


def _next_command(folder: Path) -> str:
    """The command that usually follows a run in which labels were flagged."""
    return shlex.join(["eigenclean", "review", str(folder)])


def _shown_features(source: Source, *, is_read: bool) -> Features | None:
    """Features for the map: those in memory, or a function that reads some rows; None if there are none."""
    if not source.has_features:
        return None
    return source.features() if is_read else source.take


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
