"""A picture that stands inside a page: the same numbers give the same bytes."""

import base64
from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING

from eigenclean_lab.plot_style import STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def data_uri(plot: Callable[["Axes"], object], *, size: tuple[float, float] = (5.6, 3.4)) -> str:
    """What ``plot`` draws on axes, as an SVG for the ``src`` of an image; nothing is loaded from elsewhere.

    >>> data_uri(lambda axes: axes.plot([1, 2]))[:26]
    'data:image/svg+xml;base64,'
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        plot(figure.subplots())
        drawn = BytesIO()
        figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return "data:image/svg+xml;base64," + base64.b64encode(drawn.getvalue()).decode()
