"""The page about the judge names its constants; they are those of the code."""

import re
from pathlib import Path

import pytest

from eigenclean.detect import DEFAULT, decisions
from eigenclean.detect.judge import candidates, em, instance_noise, judge, shrinkage, unit_rows

ROOT = Path(__file__).parents[2]
RATES = ", ".join(f"{100 * rate:.0f}" for rate in em.START_RATES)


def read(name: str) -> str:
    return " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    "sentence",
    [
        f"values of λ from {min(shrinkage.SHRINKAGES)} to {max(shrinkage.SHRINKAGES)} are compared",
        f"About {shrinkage.TRIAL_ROWS} rows",
        f"changes by less than {judge.NOISE_RATE_TOLERANCE}, at most {judge.Judge().rounds} times",
        f"noise rates of {RATES.replace(', 90', ' and 90')} %",
        f"({instance_noise.SHARPNESSES[0]} and {instance_noise.SHARPNESSES[1]} are compared)",
        f"values up to {max(instance_noise.RATES)}",
        f"(asymmetry / {instance_noise.MIN_ASYMMETRY})",
        f"(asymmetry / r − {instance_noise.MIN_ASYMMETRIC_SHARE}) / {instance_noise.ASYMMETRIC_SHARE_RANGE}",
        f"(breadth / {instance_noise.MIN_BREADTH})",
        f"expected = {instance_noise.HUMAN_RATE} · human",
        f"log prior = {instance_noise.PRIOR_STRENGTH:.0f} · (2 − human)",
        f"Up to {candidates.MAX_DENSE_CLASSES} classes",
        f"its {candidates.N_CANDIDATES} best candidate classes",
        f"More than {unit_rows.MAX_COLUMNS} columns",
    ],
)
def test_constants_on_the_page_are_those_of_the_code(sentence: str) -> None:
    assert sentence in read("explanation/judge.md")


def test_the_unforeseen_wrong_flags_are_those_of_the_code() -> None:
    assert f"{10_000 * decisions._UNFORESEEN:.0f} in 10 000" in read("howto/threshold.md")


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.name)
def test_no_page_calls_another_detector_the_default(page: Path) -> None:
    text = " ".join(page.read_text(encoding="utf-8").split())
    named = re.findall(r"[Tt]he default detector(?: is|,)? \[?(?:the )?[`*]*([\w-]+)", text)
    named += re.findall(r"[Tt]he ([\w-]+) is the default detector", text)
    assert set(named) <= {DEFAULT}


def test_the_front_page_names_the_default_detector() -> None:
    assert f"The default detector is [the {DEFAULT}](explanation/{DEFAULT}.md)" in read("index.md")
