"""The drawings of the report: each takes a part of the summary and gives SVG."""

from eigenclean.report.figures.bars import certainty_bar, class_bar
from eigenclean.report.figures.heatmap import heatmap
from eigenclean.report.figures.histogram import histogram
from eigenclean.report.figures.reliability import reliability
from eigenclean.report.figures.scatter import scatter

__all__ = ["certainty_bar", "class_bar", "heatmap", "histogram", "reliability", "scatter"]
