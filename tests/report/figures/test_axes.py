"""Scales are monotone maps onto pixels, and what is drawn with them lies where its values say."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenclean.report import figures
from eigenclean.report.figures.axes import Axes, Scale

NUMBERS = st.floats(-1e6, 1e6)
SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def points_of(element: ElementTree.Element) -> list[tuple[float, float]]:
    pairs = re.split("[ML]", element.get("d", "").removesuffix("Z"))[1:]
    return [(float(x), float(y)) for x, y in (pair.split() for pair in pairs)]


@given(low=NUMBERS, width=st.floats(1e-3, 1e6), a=NUMBERS, b=NUMBERS, flipped=st.booleans())
def test_a_scale_is_monotone_and_stays_inside(low: float, width: float, a: float, b: float, flipped: bool) -> None:
    ends = (200.0, 10.0) if flipped else (10.0, 200.0)
    scale = Scale(low, low + width, *ends)
    assert scale(low) == pytest.approx(ends[0]) and scale(low + width) == pytest.approx(ends[1])
    first, second = scale(min(a, b)), scale(max(a, b))
    assert (first >= second - 1e-9) if flipped else (first <= second + 1e-9)
    assert 10 - 1e-9 <= first <= 200 + 1e-9


@given(exponent=st.floats(-5, 5), decades=st.integers(1, 8))
def test_a_logarithmic_scale_gives_every_decade_the_same_room(exponent: float, decades: int) -> None:
    low = 10**exponent
    scale = Scale(low, low * 10**decades, 0, 100, log=True)
    for decade in range(decades + 1):
        assert scale(low * 10**decade) == pytest.approx(100 * decade / decades, abs=1e-6)


def test_a_scale_without_extent_is_a_point() -> None:
    assert Scale(3, 3, 10, 200)(3) == 10


def test_axes_keep_their_margins() -> None:
    axes = Axes.of((0, 2), (0, 4), width=100, height=60, margins=(5, 10, 15, 20))
    assert (axes.x(0), axes.x(2)) == (20, 90)
    assert (axes.y(0), axes.y(4)) == (45, 5)  # pixels count from the top
    line = ElementTree.fromstring(axes.line([0, 1, 2], [0, 4, 2], "line"))
    assert points_of(line) == [(20, 45), (55, 5), (90, 25)]
    band = ElementTree.fromstring(axes.band([0, 2], [0, 1], [4, 3], "band"))
    assert points_of(band) == [(20, 45), (90, 35), (90, 15), (20, 5)] and band.get("d", "").endswith("Z")


@given(ys=SHARES)
def test_a_curve_goes_through_its_values(ys: list[float]) -> None:
    drawing = figures.lines([{"name": "F", "x": list(range(1, len(ys) + 1)), "y": ys}], "F by epoch")
    root = ElementTree.fromstring(drawing)
    ticks = [text.text or "" for text in root.iter("text") if text.get("text-anchor") == "end"]
    low, high = (float(ticks[i].removesuffix("\u202f%")) / 100 for i in (0, -1))
    assert low <= min(ys) + 1e-9 and max(ys) <= high + 1e-9
    grid = [float(line.get("y1", "")) for line in root.iter("line")]
    (curve,) = (element for element in root.iter("path"))
    for (_, y), share in zip(points_of(curve), ys, strict=True):
        expected = grid[0] + (grid[-1] - grid[0]) * (share - low) / (high - low)
        assert y == pytest.approx(expected, abs=0.02)


@given(ends=st.lists(st.floats(0, 1), min_size=2, max_size=4))
def test_names_at_the_ends_of_curves_never_overlap(ends: list[float]) -> None:
    series = [{"name": f"curve {i}", "x": [1, 2], "y": [0.5, end]} for i, end in enumerate(ends)]
    root = ElementTree.fromstring(figures.lines(series, "many"))
    names = [text for text in root.iter("text") if text.get("class", "").startswith("s")]
    heights = sorted(float(name.get("y", "")) for name in names)
    assert len(heights) == len(ends)
    assert all(b - a >= 12.98 for a, b in pairwise(heights))


@pytest.mark.parametrize(
    ("y", "axis"), [([0.52, 0.97], ["50", "100"]), ([1.0, 1.0], ["90", "100"]), ([0.0], ["0", "10"])]
)
def test_the_axis_of_shares_ends_at_whole_tens(y: list[float], axis: list[str]) -> None:
    drawn = figures.lines([{"name": "F", "x": list(range(1, len(y) + 1)), "y": y}], "F by epoch")
    assert all(f">{number}\u202f%<" in drawn for number in axis)


@pytest.mark.parametrize("percent", [True, False])
@pytest.mark.parametrize("series", [[], [{"name": "x", "x": [], "y": []}]])
def test_without_values_there_are_axes_and_no_curve(series: list[dict[str, object]], percent: bool) -> None:
    root = ElementTree.fromstring(figures.lines(series, "nothing", percent=percent))
    assert len(list(root.iter("line"))) == 5 and not list(root.iter("path"))
