"""Drawings are well-formed, labelled for screen readers, and harmless whatever the classes are called."""

from typing import Any
from xml.etree import ElementTree

import pytest

from eigenclean.report import figures, summarize
from eigenclean.report.figures.svg import path, tag, text
from eigenclean.verdict import Verdict


@pytest.fixture
def drawings(hostile: tuple[Verdict, dict[str, Any]]) -> list[str]:
    verdict, arguments = hostile
    summary = summarize(verdict, **arguments)
    return [
        figures.certainty_bar(summary["bands"]),
        figures.heatmap(summary["confusion"]["transition"]),
        *(figures.class_bar(row, 0.5) for row in summary["classes"]["rows"]),
        *(figures.histogram(panel) for panel in summary["scores"]["panels"]),
    ]


def test_drawings_are_well_formed_and_labelled(drawings: list[str]) -> None:
    for drawing in drawings:
        root = ElementTree.fromstring(drawing)
        assert root.tag == "svg"
        assert root.get("role") == "img"
        assert root.get("aria-label")


def test_drawings_hold_nothing_but_shapes_and_text(drawings: list[str]) -> None:
    known = {"svg", "g", "rect", "line", "circle", "path", "text", "title"}
    for drawing in drawings:
        for element in ElementTree.fromstring(drawing).iter():
            assert element.tag in known
            assert not any(name == "style" or name.startswith("on") for name in element.attrib)


def test_the_heat_map_names_its_cells() -> None:
    transition = {"labels": ["cat", "dog"], "rates": [[0.59, 0.41], [0.0, 1.0]]}
    drawing = figures.heatmap(transition)
    assert "<title>41\u202f% of what is really cat was given dog</title>" in drawing
    assert drawing.count('class="cell"') == 1
    assert drawing.count('class="same"') == 2
    assert drawing.count('class="empty"') == 1
    assert ">41</text>" in drawing


@pytest.mark.parametrize(
    ("rate", "number"), [(0.0003, "&lt;\u202f0.1"), (0.004, "0.4"), (0.0996, "10"), (0.1234, "12"), (1.0, "100")]
)
def test_the_heat_map_writes_numbers_that_fit(rate: float, number: str) -> None:
    drawing = figures.heatmap({"labels": ["a", "b"], "rates": [[1 - rate, rate], [0.0, 1.0]]})
    assert f">{number}</text>" in drawing


def test_rare_errors_are_not_outshone_by_right_labels() -> None:
    drawing = figures.heatmap({"labels": ["a", "b"], "rates": [[0.99, 0.01], [0.0, 1.0]]})
    cell = next(box for box in ElementTree.fromstring(drawing).iter("rect") if box.get("class") == "cell")
    assert cell.get("fill-opacity") == "1"


def test_a_class_bar_shows_its_interval() -> None:
    row = {
        "label": "cat", "n_samples": 40, "n_flagged": 4, "flagged_share": 0.1, "noise_rate": 0.2,
        "noise_interval": [0.05, 0.9],
    }  # fmt: skip
    root = ElementTree.fromstring(figures.class_bar(row, 0.5))
    lines = {line.get("class"): (line.get("x1"), line.get("x2")) for line in root.iter("line")}
    assert lines == {"tick": ("40.00%", "40.00%"), "range": ("10.00%", "100.00%")}
    assert " ".join(root.get("aria-label", "").split()).endswith("estimated noise rate 20 %, 5 to 90 %")


def test_a_histogram_stacks_flagged_on_kept() -> None:
    panel = {
        "label": "cat", "low": 0.0, "high": 1.0, "n_samples": 6, "n_flagged": 2, "kept": [3, 1], "flagged": [2, 0],
        "curves": [None, [1.0, 2.0, 1e9]], "boundary": 0.5, "split": True,
    }  # fmt: skip
    root = ElementTree.fromstring(figures.histogram(panel))
    kept, flagged = (
        next(box for box in root.iter("rect") if box.get("class") == name) for name in ("kept", "flagged")
    )
    bottom = float(flagged.get("y", "")) + float(flagged.get("height", ""))
    assert bottom == pytest.approx(float(kept.get("y", "")), abs=0.02)
    assert float(flagged.get("height", "")) / float(kept.get("height", "")) == pytest.approx(2 / 3, abs=0.01)
    boundary = next(line for line in root.iter("line") if line.get("class") == "boundary")
    assert boundary.get("x1") == "130"
    # A curve may leave the bars behind, but never the drawing.
    assert min(float(point.split()[1]) for point in root.find("path").get("d")[1:].split("L")) >= 0  # type: ignore[union-attr, index]


def test_attributes_and_text_are_escaped() -> None:
    assert tag("a", text("<&>"), title='"<') == '<a title="&quot;&lt;">&lt;&amp;&gt;</a>'
    assert path([(0, -0.5), (1, 1 / 3)]) == "M0 -0.5L1 0.33"
