"""The sections of the report: one file, one template and one line in `SECTIONS` each; see ``report/README.md``."""

from eigenclean.report.sections.annotators import annotators
from eigenclean.report.sections.base import ReportInput, Section
from eigenclean.report.sections.classes import noise_by_class
from eigenclean.report.sections.columns import column_findings
from eigenclean.report.sections.confusion import confusion
from eigenclean.report.sections.decisions import decisions
from eigenclean.report.sections.evaluation import evaluation
from eigenclean.report.sections.map import feature_map
from eigenclean.report.sections.run import run_facts
from eigenclean.report.sections.scores import score_histograms
from eigenclean.report.sections.suspects import suspects

__all__ = ["SECTIONS", "ReportInput", "Section"]

SECTIONS = (  # in the order of the page
    Section("evaluation", evaluation, lambda summary: bool(summary["measures"] or summary["reliability"])),
    Section("annotators", annotators, lambda summary: summary is not None, link="Annotators"),
    Section("decisions", decisions, lambda summary: summary is not None, link="Decisions"),
    Section("classes", noise_by_class, lambda summary: bool(summary["rows"]), link="Classes"),
    Section(
        "confusion", confusion, lambda summary: bool(summary["pairs"] or summary["transition"]), link="Confusions"
    ),
    Section("columns", column_findings, lambda summary: bool(summary["findings"]), link="Columns"),
    Section("map", feature_map, lambda summary: summary is not None, link="Map"),
    Section("suspects", suspects, lambda summary: bool(summary["cards"]), link="Suspects"),
    Section("scores", score_histograms, lambda summary: bool(summary["panels"]), link="Scores"),
    Section("run", run_facts, lambda summary: True, link="What was run"),
)
