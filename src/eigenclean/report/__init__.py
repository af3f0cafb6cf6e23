"""The report: a verdict becomes a dictionary, the dictionary drawings, the drawings one HTML file."""

from eigenclean.report.amend import add_measured
from eigenclean.report.render import render, write_report
from eigenclean.report.summarize import summarize

__all__ = ["add_measured", "render", "summarize", "write_report"]
