"""Style of the plots: colours of medium lightness, legible on white and on black."""

from typing import Any

RIGHT, WRONG, LINE, INK = "#2a9d8f", "#e07a3f", "#8172c4", "#808a93"
CYCLE = (LINE, RIGHT, WRONG, "#4477aa", "#c25b8a", "#a08a2c", INK)
STYLE: dict[Any, Any] = {  # for matplotlib: the same numbers give the same bytes
    "svg.hashsalt": "eigenclean",
    "svg.fonttype": "none",  # text stays text: it can be searched, and takes the reader's font
    "font.family": "sans-serif",
    "font.size": 10.0,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
}
