"""The report as one HTML page, and rendering it again when the truth becomes known."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from eigenclean.arrays import Array
from eigenclean.assets import asset_files
from eigenclean.deprecation import warn_renamed
from eigenclean.errors import InvalidData
from eigenclean.files import write_text
from eigenclean.metrics.calibration import Reliability
from eigenclean.publication import finish_publication, is_published, publication, read_together
from eigenclean.report.page import render_page
from eigenclean.report.sections import SECTIONS, ReportInput
from eigenclean.report.sections.evaluation import evaluation
from eigenclean.report.sections.map import current_map
from eigenclean.report.sections.run import verdict_hash
from eigenclean.report.summary import summarize
from eigenclean.tables import TableEncoding
from eigenclean.verdict import Verdict

OPEN_CLASSES = 30  # bars shown before the fold
OPEN_SUSPECTS = 24


def write_report(
    path: str | os.PathLike[str],
    verdict: Verdict,
    *,
    features: ArrayLike | None = None,
    images: Sequence[Any] | Array | None = None,
    texts: Sequence[Any] | Array | None = None,
    run: Mapping[str, Any] | None = None,
    quality: Mapping[str, Any] | None = None,
    reliability: Reliability | None = None,
    encoding: TableEncoding | None = None,
    save_data: bool = False,
) -> Path:
    """Write the report of ``verdict`` to ``path``, whole or not at all.

    The arguments are those of `summarize`. ``save_data`` also writes the summary beside the page, as ``.json``;
    from it `add_evaluation` renders the page again without features, images and texts.
    """
    summary = summarize(
        verdict,
        features=features,
        images=images,
        texts=texts,
        run=run,
        quality=quality,
        reliability=reliability,
        encoding=encoding,
    )
    page = Path(path)
    files = {page.name: render(summary)}
    if save_data:
        files[report_data_path(page).name] = report_data(summary)
    _replace(page.parent, files)
    return page


def render(summary: Mapping[str, Any]) -> str:
    """The page for a summary from `summarize`: style, script and images inside, nothing fetched from anywhere."""
    values = {
        **summary,
        "sections": [section for section in SECTIONS if section.is_shown(summary[section.name])],
        "open_classes": OPEN_CLASSES,
        "open_suspects": OPEN_SUSPECTS,
    }
    styles, shared = ["report.css", "map.css"], asset_files("eigenclean.sample_map")
    return render_page("report.html", values, styles=styles, script="report.js", shared=shared)


def add_evaluation(
    path: str | os.PathLike[str],
    verdict: Verdict,
    *,
    quality: Mapping[str, Any] | None = None,
    reliability: Reliability | None = None,
) -> None:
    """Render the report of ``verdict`` at ``path`` again, with what was measured against the truth.

    The page is made from the summary that was saved beside it; an earlier evaluation is replaced.
    """
    page = Path(path)
    names = [page.name, report_data_path(page).name]
    summary = read_together(page.parent, names, lambda: _load_report_data(page, verdict))
    inputs = ReportInput(verdict, quality=quality, reliability=reliability)
    _replace(page.parent, {page.name: render({**summary, "evaluation": evaluation(inputs)})})


def add_measured(path: str | os.PathLike[str], verdict: Verdict, **measured: Any) -> None:
    """The former name of `add_evaluation`."""
    warn_renamed("eigenclean.report.add_measured", "eigenclean.report.add_evaluation")
    add_evaluation(path, verdict, **measured)


def report_data_path(path: str | os.PathLike[str]) -> Path:
    """Where the summary of the page at ``path`` is saved."""
    return Path(path).with_suffix(".json")


def report_data(summary: Mapping[str, Any]) -> str:
    """The summary as it is saved beside the page, for `add_evaluation`."""
    return json.dumps(summary, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _replace(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files of a folder; when they belong to the set of a run, the run is replaced as one."""
    finish_publication(folder)
    if not any(is_published(folder / name) for name in texts):
        for name, text in texts.items():
            write_text(folder / name, text)
        return
    with publication(folder, amend=True) as staging:
        for name, text in texts.items():
            write_text(staging / name, text)


def _load_report_data(path: str | os.PathLike[str], verdict: Verdict) -> dict[str, Any]:
    """The saved summary, if it is one of this version and about this verdict."""
    try:
        summary = json.loads(report_data_path(path).read_text(encoding="utf-8"))
        complete = all(section.name in summary for section in SECTIONS)
        if complete and summary["run"]["verdict_hash"] == verdict_hash(verdict):
            return {**summary, "map": current_map(summary["map"])}
    except (OSError, ValueError, TypeError, KeyError):
        pass  # missing, damaged or of another version: the same answer for all
    raise InvalidData(
        f"{path} cannot be updated: {report_data_path(path).name} beside it is not the data of the report of this "
        "verdict; run `eigenclean detect` again"
    )
