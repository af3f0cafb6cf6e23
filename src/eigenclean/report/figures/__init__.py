"""The figures of the reports: each function takes plain values from a summary and gives SVG."""

from eigenclean.report.figures.bars import certainty_bar, class_bar
from eigenclean.report.figures.eigenvectors import alignment, fraction, shift, spectrum
from eigenclean.report.figures.heatmap import heatmap
from eigenclean.report.figures.histogram import histogram
from eigenclean.report.figures.lines import lines
from eigenclean.report.figures.reliability import reliability

__all__ = [
    "alignment",
    "certainty_bar",
    "class_bar",
    "fraction",
    "heatmap",
    "histogram",
    "lines",
    "reliability",
    "shift",
    "spectrum",
]
