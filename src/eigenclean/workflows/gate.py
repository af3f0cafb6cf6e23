"""`eigenclean check`: a gate that closes when too many labels are wrong; its result as Markdown and JUnit XML."""

import dataclasses
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from eigenclean.arrays import Bools, encode_labels
from eigenclean.errors import InvalidOption, TooFewSamples
from eigenclean.files import sync_file, temporary_beside
from eigenclean.metrics.noise_rate import noise_rate_interval, noise_rate_intervals
from eigenclean.report import fixed_percent
from eigenclean.verdict import Verdict

MAX_NAMED = 5  # classes and suspects in the result
_CONTROL = dict.fromkeys((*range(9), 11, 12, *range(14, 32)))  # characters that XML cannot hold


@dataclass(frozen=True)
class Gate:
    """The result for one source.

    Attributes:
        name: of the source.
        n_samples: how many labels were judged.
        n_flagged: how many of them look wrong.
        noise: estimated share of wrong labels.
        low: lower end of its interval; the gate closes only when this is above the limit.
        high: upper end.
        max_noise: the limit.
        classes: the noisiest classes: label, n_samples, noise, low, high.
        suspects: the worst flagged labels: row, id, given_label, suggested_label, label_score.
    """

    name: str
    n_samples: int
    n_flagged: int
    noise: float
    low: float
    high: float
    max_noise: float
    classes: Sequence[dict[str, Any]]
    suspects: Sequence[dict[str, Any]]

    @property
    def passed(self) -> bool:
        """Whether the noise rate may be within the limit."""
        return self.low <= self.max_noise

    @property
    def sentence(self) -> str:
        """The result in one line."""
        return (
            f"{self.name} {'passed' if self.passed else 'failed'}: estimated noise {fixed_percent(self.noise)} "
            f"({100 * self.low:.1f} to {fixed_percent(self.high)}) of {self.n_samples} labels, "
            f"limit {fixed_percent(self.max_noise)}"
        )

    @classmethod
    def of(
        cls,
        verdict: Verdict,
        name: str,
        max_noise: float,
        *,
        settled: Bools | None = None,
        removed: Bools | None = None,
        flagged: Bools | None = None,
    ) -> "Gate":
        """Compare the noise rate of a verdict with the limit.

        Args:
            verdict: the verdict.
            name: of the source.
            max_noise: the limit.
            settled: labels that people have confirmed; they count as right.
            removed: samples that people have removed; they do not count.
            flagged: flags to use instead of the verdict's.

        >>> verdict = Verdict(
        ...     ids=np.arange(100), labels=np.arange(100) % 2, score=np.arange(100.0),
        ...     p_clean=np.r_[np.full(20, 0.01), np.full(80, 0.999)], flagged=np.arange(100) < 20,
        ...     suggested=np.arange(100) % 2, suggested_confidence=np.ones(100),
        ... )
        >>> gate = Gate.of(verdict, "mine", max_noise=0.02)
        >>> gate.passed, round(gate.low, 2)
        (False, 0.14)
        """
        check_limit(max_noise)
        p_clean = np.asarray(verdict.p_clean, dtype=np.float64)
        suspects = np.asarray(verdict.flagged if flagged is None else flagged)
        if settled is not None:
            p_clean, suspects = np.where(settled, 1.0, p_clean), suspects & ~settled
        is_judged = np.ones(len(verdict), dtype=bool) if removed is None else ~removed
        suspects = suspects & is_judged
        if not is_judged.any():
            raise TooFewSamples(f"{name}: people have removed all samples, so nothing is left to check")
        low, high = noise_rate_interval(p_clean[is_judged])
        return cls(
            name=name,
            n_samples=int(is_judged.sum()),
            n_flagged=int(suspects.sum()),
            noise=float(np.mean(1 - p_clean[is_judged])),
            low=low,
            high=high,
            max_noise=max_noise,
            classes=_classes(verdict.labels[is_judged], p_clean[is_judged]),
            suspects=_suspects(dataclasses.replace(verdict, flagged=suspects)),
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**dataclasses.asdict(self), "passed": self.passed}


def check_limit(max_noise: float) -> None:
    """Raise `InvalidOption` unless the limit is a share."""
    if not 0 <= max_noise <= 1:
        raise InvalidOption(f"eigenclean check: --max-noise must be a share from 0 to 1, got {max_noise}")


def write_results(gates: Sequence[Gate], *, junit: Path | None = None, markdown: Path | None = None) -> None:
    """Write the results as JUnit XML, as Markdown, or both; both are complete before the first one is replaced."""
    texts = {
        path: render(gates) for path, render in ((junit, to_junit), (markdown, to_markdown)) if path is not None
    }
    with ExitStack() as files:
        written = {path: files.enter_context(temporary_beside(path)) for path in texts}
        for path, temporary in written.items():
            temporary.write_text(texts[path], encoding="utf-8", errors="backslashreplace", newline="\n")
            sync_file(temporary)
        for path, temporary in written.items():
            os.replace(temporary, path)


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


def to_annotations(gates: Sequence[Gate]) -> list[str]:
    """Lines for the log of GitHub Actions: a message for each gate that failed, and one at each of its suspects.

    A gate that passed is a plain line in the log, and nothing in the pull request.
    """
    lines = []
    for gate in gates:
        if gate.passed:
            lines.append(f"eigenclean check: {' '.join(_plain(gate.sentence).split())}")
            continue
        path = gate.name
        lines.append(f"::error file={_property(path)}::{_message(gate.sentence)}")
        first = _first_line(path, gate.n_samples)
        for suspect in gate.suspects:
            location = f"file={_property(path)}" + ("" if first is None else f",line={suspect['row'] + first}")
            text = (
                f"id {suspect['id']}: the label {suspect['given_label']!r} looks wrong, suggested "
                f"{suspect['suggested_label']!r}, P(right) {suspect['label_score']:.3f}"
            )
            lines.append(f"::warning {location}::{_message(text)}")
    return lines


def _first_line(path: str, n_rows: int) -> int | None:
    """The line of the first row in a file with one line per row; None for other files."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".tsv", ".jsonl") or not Path(path).is_file():
        return None
    n_before = 0 if suffix == ".jsonl" else 1
    with open(path, "rb") as file:
        n_lines = sum(1 for line in file if line.strip())
    return n_before + 1 if n_lines == n_rows + n_before else None  # a cell may have line breaks


def _message(text: str) -> str:
    return _plain(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def _classes(labels: Any, p_clean: Any) -> list[dict[str, Any]]:
    names, codes = encode_labels(labels)
    sizes = np.bincount(codes, minlength=len(names))
    noise = np.bincount(codes, weights=1 - p_clean, minlength=len(names)) / sizes
    low, high = noise_rate_intervals(p_clean, codes, len(names))
    worst = np.lexsort((-noise, -low))[:MAX_NAMED]
    return [
        {
            "label": names[k].item(),
            "n_samples": int(sizes[k]),
            "noise": float(noise[k]),
            "low": float(low[k]),
            "high": float(high[k]),
        }
        for k in worst
    ]


def _suspects(verdict: Verdict) -> list[dict[str, Any]]:
    return [
        {
            "row": row,
            "id": verdict.ids[row].item(),
            "given_label": verdict.labels[row].item(),
            # Flags of another rule than the detector's may have no suggestion.
            "suggested_label": None
            if verdict.suggested[row] == verdict.labels[row]
            else verdict.suggested[row].item(),
            "label_score": float(verdict.p_clean[row]),
        }
        for row in verdict.suspects(MAX_NAMED).tolist()
    ]


def _plain(value: Any) -> str:
    return str(value).translate(_CONTROL).encode("utf-8", "replace").decode()


def _cell(value: Any) -> str:
    text = "–" if value is None else " ".join(_plain(value).split())[:60]
    for mark in "\\`*_{}[]<>()#+!|":
        text = text.replace(mark, f"\\{mark}")
    return text
