"""`eigenclean score`: the quality of a run's verdict, measured against the truth."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eigenclean.errors import EigencleanError
from eigenclean.metrics import read_truth, reliability_curve, score_verdict
from eigenclean.report import add_evaluation
from eigenclean.verdict import Verdict
from eigenclean.workflows.options import Notify, ignore


@dataclass(frozen=True)
class RunQuality:
    """The method of a run, and the quality of its verdict as `DetectionQuality.as_dict` gives it."""

    method: str
    quality: dict[str, Any]


def score_run(run: Path, truth: Path, *, report: bool = True, notify: Notify = ignore) -> RunQuality:
    """Measure the verdict in the folder ``run``; with ``report`` its report shows the result from now on."""
    verdict = Verdict.load(run)
    known = read_truth(truth, ids=verdict.ids)
    quality = score_verdict(verdict, known).as_dict()
    page = run / "report.html"
    if report and page.is_file():
        curve = reliability_curve(verdict.p_clean, known.is_clean(verdict.labels))
        try:
            add_evaluation(page, verdict, quality=quality, reliability=curve)
            notify(f"added to {page}, with a reliability plot")
        except EigencleanError as error:  # the quality is known; that a page cannot show it is no failure
            notify(f"note: {error}")
    return RunQuality(verdict.method, quality)
