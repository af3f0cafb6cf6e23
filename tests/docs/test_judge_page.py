"""The page about the judge names its constants; they are those of the code."""

import inspect
from pathlib import Path

import pytest

from eigenclean.detect import DEFAULT, decisions
from eigenclean.detect.judge import candidates, judge, unit_rows
from eigenclean.detect.judge import instance_noise as glances
from eigenclean.detect.judge import noise_model as noisy_labels

ROOT = Path(__file__).parents[2]
RATES = ", ".join(f"{100 * rate:.0f}" for rate in noisy_labels.STARTS)


def read(name: str) -> str:
    return " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    "sentence",
    [
        f"amounts from {min(judge._SHRINKAGES)} to {max(judge._SHRINKAGES)} are tried",
        f"About {judge._TRIAL_ROWS} rows",
        f"changes by less than {judge._SETTLED}, but for {judge.Judge().rounds} rounds at most",
        f"noise rates of {RATES.replace(', 90', ' and 90')} %",
        f"({glances.SHARPNESSES[0]} or {glances.SHARPNESSES[1]} are tried)",
        f"values up to {max(glances.SHARES)}",
        f"expected = {glances._USUAL} · people",
        f"log prior = {glances._STRENGTH:.0f} · (2 − people)",
        f"Up to {candidates.MANY} classes",
        f"best {candidates.FEW} classes",
        f"More than {unit_rows.MAX_COLUMNS} columns",
    ],
)
def test_constants_on_the_page_are_those_of_the_code(sentence: str) -> None:
    assert sentence in read("explanation/judge.md")


def test_the_signs_of_people_are_those_of_the_code() -> None:
    shown = "(structure / 0.005) · ((structure / r − 0.1) / 0.15) · (breadth / 0.1)"
    assert shown in read("explanation/judge.md")
    code = inspect.getsource(glances._work_of_people)
    for part in ("structure / 0.005", "- 0.1) / 0.15", "breadth / 0.1"):
        assert part in code


def test_the_unforeseen_wrong_flags_are_those_of_the_code() -> None:
    assert f"{10_000 * decisions._UNFORESEEN:.0f} in 10 000" in read("howto/threshold.md")


def test_pages_name_the_default_detector() -> None:
    assert DEFAULT == "judge"
    for page in ("index.md", "quickstart.md", "explanation/judge.md", "explanation/fine.md", "howto/python.md"):
        assert "default" in read(page) and "judge" in read(page), page
