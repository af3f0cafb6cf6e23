"""The page of limits quotes the sentences that the program says."""

import re
from pathlib import Path

import numpy as np

from eigenclean.detect.judge.guards import IN_SAMPLE, FitFacts, cautions
from eigenclean.detect.judge.views.probabilities import Agreement

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "limits.md"


def test_every_caution_of_the_judge_is_on_the_page() -> None:
    facts = FitFacts(
        classes=np.array(["a", "b"]),
        counts=np.array([500, 5]),
        wrong=np.array([300.0, 1.0]),
        noise_rate_range=(0.5, 0.9),
        predicts=False,
        views_left_out=("neighbours", "trees"),
        agreement=Agreement(1000, 1, 40.0),
        view_rates={"linear": 0.1, "trees": 0.5},
    )
    quoted = [
        _without_numbers(quote) for quote in re.findall(r"^\| \"(.+?)\" \|", PAGE.read_text("utf-8"), re.MULTILINE)
    ]
    said = [*cautions(facts), IN_SAMPLE]
    assert len(said) == 9
    for sentence in map(_without_numbers, said):
        assert any(sentence.startswith(quote) for quote in quoted), sentence


def _without_numbers(sentence: str) -> str:
    return re.sub(r"\d+(\.\d+)?", "0", sentence).replace("has fewer", "have fewer")
