"""The gate: who passes, and what is written about it."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from eigenclean.errors import InvalidOption, TooFewSamples
from eigenclean.metrics import noise_rate_interval
from eigenclean.verdict import Verdict
from eigenclean.workflows.gate import Gate, to_annotations, to_junit, to_markdown

NASTY = 'a|b*<script>&"\x00\n]]>'


def verdict(n_wrong: int = 20, labels: Any = None) -> Verdict:
    wrong = np.arange(100) < n_wrong
    given = np.arange(100) % 2 if labels is None else labels
    return Verdict(
        ids=np.arange(100), labels=given, score=np.arange(100.0), flagged=wrong,
        p_clean=np.where(wrong, 0.01, 0.999), suggested=np.where(wrong, given[::-1], given),
        suggested_confidence=np.ones(100),
    )  # fmt: skip


def test_the_lower_end_counts() -> None:
    low, high = noise_rate_interval(verdict().p_clean)
    assert low < 0.2 < high
    for limit, passed in ((low - 1e-9, False), (low, True), (0.2, True), (high, True)):
        gate = Gate.of(verdict(), "mine", limit)
        assert gate.passed is passed and (gate.low, gate.high) == (low, high)
    assert Gate.of(verdict(), "mine", 0.02).sentence == (
        f"mine failed: estimated noise 19.9 % ({100 * low:.1f} to {100 * high:.1f} %) of 100 labels, limit 2.0 %"
    )


def test_what_people_said_counts() -> None:
    first = np.arange(100) < 20
    assert Gate.of(verdict(), "mine", 0.02, settled=first).passed
    gate = Gate.of(verdict(), "mine", 0.02, settled=np.arange(100) < 5, removed=(np.arange(100) >= 5) & first)
    assert (gate.n_samples, gate.n_flagged, gate.passed) == (85, 0, True)
    assert gate.low == noise_rate_interval(np.r_[np.ones(5), np.full(80, 0.999)])[0]
    with pytest.raises(TooFewSamples, match="people have removed all samples"):
        Gate.of(verdict(), "mine", 0.02, removed=np.ones(100, dtype=bool))


def test_worst_classes_and_suspects_are_named() -> None:
    given = np.r_[np.zeros(50, dtype=int), np.ones(50, dtype=int)]
    gate = Gate.of(verdict(labels=given), "mine", 0.02)
    assert [row["label"] for row in gate.classes] == [0, 1]
    assert gate.classes[0]["noise"] == pytest.approx((20 * 0.99 + 30 * 0.001) / 50)
    assert [each["id"] for each in gate.suspects] == [0, 1, 2, 3, 4]
    assert gate.suspects[0] == {"row": 0, "id": 0, "given_label": 0, "suggested_label": 1, "label_score": 0.01}
    other = Gate.of(verdict(labels=given), "mine", 0.02, flagged=np.arange(100) == 99)
    assert other.n_flagged == 1 and other.suspects[0]["suggested_label"] is None


def test_junit() -> None:
    gates = [Gate.of(verdict(), NASTY, 0.02), Gate.of(verdict(0), "fine", 0.02)]
    root = ET.fromstring(to_junit(gates))
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    failed, passed = root.iter("testcase")
    failure = failed.find("failure")
    assert failure is not None and "limit 2.0 %" in failure.get("message", "")
    assert failure.text is not None and failure.text.count("\n") == 4
    assert passed.find("failure") is None and passed.get("name") == "fine"


def test_markdown() -> None:
    labels = np.array([NASTY, "other"])[np.arange(100) % 2]
    text = to_markdown([Gate.of(verdict(labels=labels), NASTY, 0.02), Gate.of(verdict(0), "fine", 0.02)])
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == 4 + 2 + 5
    for line in table[:4]:
        assert line.replace("\\|", "").count("|") == 8
    assert "<script" not in text.replace("\\<", "") and "| fine | passed | 100 | 0 |" in text


@pytest.mark.parametrize("limit", [-0.1, 1.5, float("nan")])
def test_limits(limit: float) -> None:
    with pytest.raises(InvalidOption, match="--max-noise must be a share from 0 to 1"):
        Gate.of(verdict(), "mine", limit)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_annotations_stand_at_the_lines_of_the_suspects(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a,b%{suffix}"
    path.write_text("header\n" * (suffix == ".csv") + "row\n" * 20)
    labels = np.array(["x%\ny", "z"])[np.arange(20) % 2]
    flagged = np.arange(20) >= 14
    p_clean = np.where(flagged, np.linspace(0, 0.01, 20), 1.0)
    judged = Verdict(np.arange(20), labels, p_clean, p_clean, flagged, labels[::-1].copy(), p_clean)
    lines = to_annotations([Gate.of(judged, str(path), 0.02), Gate.of(judged, "other\n::error::data", 1.0)])
    assert lines[0].startswith(f"::error file={tmp_path}/a%2Cb%25{suffix}::") and "failed" in lines[0]
    start = 2 if suffix == ".csv" else 1
    assert f"a%2Cb%25{suffix},line={14 + start}::id 14: the label 'x%25\\ny' looks wrong" in lines[1]
    assert len(lines) == 7 and not any("\n" in line for line in lines)
    assert lines[-1].startswith("eigenclean check: other ::error::data passed: estimated noise ")
    path.write_text("header\n" + "row\nbroken\n" * 20)  # cells with line breaks
    assert "line=" not in to_annotations([Gate.of(judged, str(path), 0.02)])[1]
