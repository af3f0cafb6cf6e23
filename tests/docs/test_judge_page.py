"""The page about the judge names its constants; they are those of the code."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from eigenclean.detect import DEFAULT, decisions
from eigenclean.detect.judge import (
    block_statistics,
    candidates,
    em,
    instance_noise,
    judge,
    rounds,
    row_maps,
    transition_matrix,
    unit_rows,
    verified,
)
from eigenclean.detect.judge.views import AUTO, FIXED_VIEWS, MOMENT_VIEWS, VIEWS, neighbours, selection, trees
from eigenclean_lab.bench.speed.ratios import ratio_table

ROOT = Path(__file__).parents[2]
NUMBERS = {6: "Six", 7: "Seven", 8: "Eight", 9: "Nine", 10: "Ten"}
MAX_ROUNDS = judge.Judge().rounds


def read(name: str) -> str:
    return " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())


def listed(values: Sequence[float], word: str = "and") -> str:
    """The values as a page lists them: 1, 2 and 3."""
    *others, last = (f"{value:g}" for value in values)
    return f"{', '.join(others)} {word} {last}"


def thousands(number: float) -> str:
    return f"{number:,.0f}".replace(",", " ")


@pytest.mark.parametrize(
    "sentence",
    [
        f"linear discriminants of {selection.FOURIER_FEATURES} random Fourier features",
        f"among the {neighbours.N_NEIGHBOURS} nearest rows |",
        f"nearest rows | in memory, up to {thousands(neighbours.NeighbourView.max_rows)} rows |",
        f"up to {thousands(trees.TreeView.max_rows)} rows and {trees.TreeView.max_columns} columns",
        f"bandwidth is {listed(selection.BANDWIDTHS, 'or')} times",
        f"A sample of {selection.SAMPLE_ROWS} rows",
        f"more than {neighbours.MAX_DIMENSIONS} columns are projected",
        f"a forest of {trees.TREES_PER_PAIR} trees",
        f"{NUMBERS[len(rounds.SHRINKAGES)]} values of λ from {min(rounds.SHRINKAGES)} to {max(rounds.SHRINKAGES)}",
        f"noise rates of {listed([100 * rate for rate in em.START_RATES])} %",
        f"{NUMBERS[len(transition_matrix.STRENGTHS)]} strengths from {min(transition_matrix.STRENGTHS):g}"
        f" to {thousands(max(transition_matrix.STRENGTHS))}",
        f"with P(right) below {block_statistics.SUSPECT}",
        f"rises by at least {rounds.MIN_GAIN:.4f}",
        f"changes by less than {rounds.NOISE_RATE_TOLERANCE}, at most after {MAX_ROUNDS} rounds",
        f"Models with c = {listed(instance_noise.RATES)}, each with κ = {listed(instance_noise.SHARPNESSES)}",
        f"with c = {listed(instance_noise.FOLLOWING_SHARES)} and scales",
        f"with a standard deviation of {verified._PRIOR_DEVIATION}",
        f"that are {listed(instance_noise.FLATTER_SCALES)} times those",
        f"instance-dependent noise has prior probability {instance_noise.PRIOR_WITHOUT}",
        f"lower end is the {50 * (1 - instance_noise.INTERVAL):.0f} % quantile",
        f"upper end is the {50 * (1 + instance_noise.INTERVAL):.0f} % quantile",
        f"Up to {candidates.MAX_DENSE_CLASSES} classes",
        f"its {candidates.N_CANDIDATES} best candidate classes",
        f"More than {unit_rows.MAX_COLUMNS} columns",
    ],
)
def test_constants_on_the_page_are_those_of_the_code(sentence: str) -> None:
    assert sentence in read("explanation/judge.md")


def test_rows_with_too_many_columns_to_standardise_are_unit_rows() -> None:
    assert row_maps.MAX_STANDARDISED == unit_rows.MAX_COLUMNS  # the page names one number for both
    assert "Rows are then unit rows" in read("explanation/judge.md")


def test_the_table_of_the_page_has_all_views() -> None:
    text = (ROOT / "docs" / "explanation" / "judge.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE)) == VIEWS
    assert f'used with `views="{AUTO}"`' in text


def test_the_speed_table_is_the_results_file() -> None:
    facts = json.loads((ROOT / "results" / "bench_judge.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "explanation" / "judge.md").read_text(encoding="utf-8")
    assert "\n".join(ratio_table(facts)) in page


def test_the_page_says_which_views_streams_have() -> None:
    text = read("explanation/judge.md")
    needing_all_rows = [name for name in FIXED_VIEWS if name != "probabilities"]
    assert f"Streams and Dask clusters use {' and '.join(f'`{name}`' for name in MOMENT_VIEWS)}" in text
    assert f"{' and '.join(f'`{name}`' for name in needing_all_rows)} need all rows at once" in text
    assert f"and `{judge.Judge.training_options['views']}` alone is used" in text


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
