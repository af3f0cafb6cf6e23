"""The result of `eigenclean check` as Markdown and as JUnit XML, for continuous integration."""

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as ET

from eigenclean.report import fixed_percent
from eigenclean.workflows.gate import Gate

_CONTROL = dict.fromkeys((*range(9), 11, 12, *range(14, 32)))  # characters that XML cannot hold


def to_markdown(gates: Sequence[Gate]) -> str:
    """For a comment on a pull request or the summary of a job; names cannot break the table."""
    lines = ["# Label noise", "", "| data | result | labels | flagged | estimated noise | lower end | limit |"]
    lines += ["|---|---|---:|---:|---:|---:|---:|"]
    for gate in gates:
        result = "passed" if gate.passed else "**failed**"
        shares = " | ".join(map(fixed_percent, (gate.noise, gate.low, gate.max_noise)))
        lines.append(f"| {_cell(gate.name)} | {result} | {gate.n_samples} | {gate.n_flagged} | {shares} |")
    for gate in gates:
        if gate.passed or not gate.suspects:
            continue
        lines += ["", f"Worst labels of {_cell(gate.name)}:", "", "| id | given | suggested | P(right) |"]
        lines += ["|---|---|---|---:|"]
        for suspect in gate.suspects:
            cells = " | ".join(_cell(suspect[key]) for key in ("id", "given_label", "suggested_label"))
            lines.append(f"| {cells} | {suspect['label_score']:.3f} |")
    return "\n".join(lines) + "\n"


def to_junit(gates: Sequence[Gate]) -> str:
    """JUnit XML, one test case per source."""
    failed = sum(not gate.passed for gate in gates)
    counts = {"tests": str(len(gates)), "failures": str(failed), "errors": "0"}
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {"name": "eigenclean check", **counts})
    for gate in gates:
        case = ET.SubElement(suite, "testcase", {"classname": "eigenclean.check", "name": _plain(gate.name)})
        if not gate.passed:
            failure = ET.SubElement(case, "failure", {"type": "LabelNoise", "message": _plain(gate.sentence)})
            failure.text = "\n".join(
                _plain(
                    f"id {suspect['id']}: given {suspect['given_label']}, suggested {suspect['suggested_label']}, "
                    f"P(right) {suspect['label_score']:.3f}"
                )
                for suspect in gate.suspects
            )
        else:
            ET.SubElement(case, "system-out").text = _plain(gate.sentence)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _plain(value: Any) -> str:
    return str(value).translate(_CONTROL).encode("utf-8", "replace").decode()


def _cell(value: Any) -> str:
    text = "–" if value is None else " ".join(_plain(value).split())[:60]
    for mark in "\\`*_{}[]<>()#+!|":
        text = text.replace(mark, f"\\{mark}")
    return text
