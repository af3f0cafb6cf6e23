"""The report: a verdict becomes a dictionary, the dictionary drawings, the drawings one HTML file."""

from eigenclean.report.render import render, write_report
from eigenclean.report.summarize import summarize

__all__ = ["render", "summarize", "write_report"]
