"""The report: a verdict becomes a dictionary, the dictionary figures, the figures one HTML file.

Also `render_page` for other self-contained pages, and `publish`, which writes the results of a run together.
"""

from typing import TYPE_CHECKING

from eigenclean.extras import lazy_names

if TYPE_CHECKING:
    from eigenclean.report.formatting import fixed_percent, percent, plain, short
    from eigenclean.report.html import add_evaluation, render, write_report
    from eigenclean.report.page import render_page
    from eigenclean.report.run_folder import publish, results_folder
    from eigenclean.report.summary import summarize

_HOMES = {
    "add_evaluation": "eigenclean.report.html",
    "add_measured": "eigenclean.report.html",
    "fixed_percent": "eigenclean.report.formatting",
    "percent": "eigenclean.report.formatting",
    "plain": "eigenclean.report.formatting",
    "publish": "eigenclean.report.run_folder",
    "render": "eigenclean.report.html",
    "render_page": "eigenclean.report.page",
    "results_folder": "eigenclean.report.run_folder",
    "short": "eigenclean.report.formatting",
    "summarize": "eigenclean.report.summary",
    "write_report": "eigenclean.report.html",
}

__all__ = [
    "add_evaluation",
    "fixed_percent",
    "percent",
    "plain",
    "publish",
    "render",
    "render_page",
    "results_folder",
    "short",
    "summarize",
    "write_report",
]

__getattr__ = lazy_names(__name__, _HOMES)
