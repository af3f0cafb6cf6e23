"""The sections of the report: one file, one template and one line in `SECTIONS` each; see ``report/README.md``."""

from eigenclean.report.sections.base import ReportInput, Section
from eigenclean.report.sections.classes import noise_by_class
from eigenclean.report.sections.confusion import confusion
from eigenclean.report.sections.evaluation import evaluation
from eigenclean.report.sections.map import feature_map
from eigenclean.report.sections.run import run_facts
from eigenclean.report.sections.scores import score_histograms
from eigenclean.report.sections.suspects import suspects

__all__ = ["SECTIONS", "ReportInput", "Section"]

SECTIONS = (  # in the order of the page
    Section("evaluation", evaluation, lambda part: bool(part["measures"] or part["reliability"])),
    Section("classes", noise_by_class, lambda part: bool(part["rows"]), link="Classes"),
    Section("confusion", confusion, lambda part: bool(part["pairs"] or part["transition"]), link="Confusions"),
    Section("suspects", suspects, lambda part: bool(part["cards"]), link="Suspects"),
    Section("scores", score_histograms, lambda part: bool(part["panels"]), link="Scores"),
    Section("map", feature_map, lambda part: part is not None, link="Map"),
    Section("run", run_facts, lambda part: True, link="What was run"),
)
