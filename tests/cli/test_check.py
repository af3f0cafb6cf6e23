"""`eigenclean check`: exit codes, what is printed, and the files for continuous integration."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from eigenclean import Verdict
from eigenclean.metrics import noise_rate_interval
from eigenclean.noise import add_noise
from eigenclean.workflows.gate import Gate

Cli = Callable[..., Any]


@pytest.fixture
def judged(cli: Cli, tmp_path: Path) -> Path:
    """The folder of a run on three separate classes with a fifth of the labels wrong."""
    right = np.arange(240) % 3
    features = np.random.default_rng(0).normal(size=(240, 5)) + 6 * np.eye(3, 5)[right]
    np.savez(tmp_path / "noisy.npz", features=features, labels=add_noise(right, rate=0.3))
    np.savez(tmp_path / "right.npz", features=features, labels=right)
    assert (
        cli("detect", tmp_path / "noisy.npz", "--out", tmp_path / "run", "--method", "fine", "--no-report").code
        == 0
    )
    return tmp_path / "run"


@pytest.mark.parametrize(("limit", "code"), [(0.0, 1), (0.02, 1), (0.9, 0)])
def test_the_exit_code_is_the_result(cli: Cli, judged: Path, limit: float, code: int) -> None:
    ran = cli("check", judged, "--max-noise", limit)
    gate = Gate.of(Verdict.load(judged), str(judged), limit)
    assert ran.code == code and gate.passed is (code == 0)
    assert ran.out.splitlines()[0] == gate.sentence
    if code:
        worst = gate.suspects[0]
        assert any(line.split()[:3] == [str(worst[key]) for key in ("id", "given_label", "suggested_label")]
                   for line in ran.out.splitlines())  # fmt: skip
    else:
        assert ran.out.count("\n") == 1 and ran.err.startswith("Next: ")


def test_several_are_checked_and_one_failure_is_enough(cli: Cli, judged: Path, tmp_path: Path) -> None:
    junit, markdown = tmp_path / "out.xml", tmp_path / "out.md"
    right = tmp_path / "right.npz"
    ran = cli("check", judged, right, "--max-noise", "0.1", "--method", "fine", "--json", "--junit", junit,
              "--markdown", markdown)  # fmt: skip
    gates = json.loads(ran.out)
    assert [gate["name"] for gate in gates] == [str(judged), str(right)]
    assert [gate["passed"] for gate in gates] == [False, True] and ran.code == 1
    low, high = noise_rate_interval(Verdict.load(judged).p_clean)
    assert (gates[0]["low"], gates[0]["high"]) == pytest.approx((low, high))
    root = ElementTree.parse(junit).getroot()
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    assert markdown.read_text().count("| passed | 240 |") == 1


def test_one_source_is_one_json_object(cli: Cli, judged: Path) -> None:
    ran = cli("check", judged, "--json", "--max-noise", "0.9")
    assert json.loads(ran.out) == Gate.of(Verdict.load(judged), str(judged), 0.9).as_dict()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-noise", "2"], "--max-noise must be a share from 0 to 1, got 2.0"),
        (["--method", "fine"], "has been judged already: leave out --method and --set"),
        (["--set", "preset=paper"], "has been judged already: leave out --method and --set"),
        (["wine", "--patch", "p.jsonl"], "--patch and --labels are about one source"),
        (["--patch", "p.jsonl"], "p.jsonl"),
    ],
)
def test_a_mistake_is_one_sentence_and_no_file(
    cli: Cli, judged: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    ran = cli("check", judged, "--junit", tmp_path / "out.xml", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err and ran.err.count("\n") == 1
    assert not (tmp_path / "out.xml").exists()
