"""Sentences of the documentation that state what `reproduce rounds` has measured."""

from pathlib import Path

import pytest

from eigenclean_lab.reproduce.profiles import MEDIUM, WHOLE
from eigenclean_lab.reproduce.suite import paper_store

ROOT = Path(__file__).parents[3]
Curves = dict[tuple[str, str, int, str], list[float]]  # by data, noise, seed and method


@pytest.fixture(scope="module")
def curves() -> Curves:
    cells = [cell for cell in paper_store(ROOT / "results", MEDIUM).read() if cell.task["kind"] == "rounds"]
    return {
        (task["data"], task["noise"], cell.seed, task["method"] + "*" * len(task["options"])): cell.curves["f"]
        for cell in cells
        for task in [cell.task]
    }


def page(name: str) -> str:
    return " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())


def at_least(curves: Curves, data: str, noise: str) -> tuple[int, int]:
    """In how many epochs the judge that is told is not below class-relative FINE, of how many."""
    settings = [key for key in curves if key[:2] == (data, noise) and key[3] == "judge*"]
    pairs = [
        (round(told, 3), round(relative, 3))
        for key in settings
        for told, relative in zip(curves[key], curves[*key[:3], "fine-relative"], strict=True)
    ]
    return sum(told >= relative for told, relative in pairs), len(pairs)


def test_the_page_of_the_judge_counts_epochs_as_they_were_measured(curves: Curves) -> None:
    text = page("explanation/judge.md")
    half, eighty, asymmetric = (
        at_least(curves, "cifar10", noise) for noise in ("symmetric:0.5", "symmetric:0.8", "asymmetric:0.4")
    )
    assert f"in {half[0]} of {half[1]} epochs under symmetric noise of 50 %" in text
    assert f"in {eighty[0]} of {eighty[1]} under 80 %" in text
    assert f"in {asymmetric[0]} of {asymmetric[1]} under asymmetric noise" in text
    whole = [at_least(curves, WHOLE, noise) for noise in ("symmetric:0.5", "symmetric:0.8", "asymmetric:0.4")]
    assert f"it is so in {sum(count for count, _ in whole)} of {sum(total for _, total in whole)} epochs" in text
    last = {method: curves[WHOLE, "symmetric:0.5", 0, method][-1] for method in ("judge*", "fine-relative")}
    told, relative = (f"{last[method]:.3f}".lstrip("0") for method in last)
    assert f"F is {told}, where class-relative FINE has {relative}" in text


def test_the_picture_of_the_paper_holds_for_seeds_that_chose_nothing(curves: Curves) -> None:
    assert "seeds 1 and 2" in page("decisions/0025-the-profile-medium-trains-the-last-blocks.md")
    for noise in ("symmetric:0.5", "symmetric:0.8"):
        for seed in (0, 1, 2):
            fine, loss = (curves["cifar10", noise, seed, method] for method in ("fine", "small-loss*"))
            assert fine[-1] > fine[0] and loss[-1] < loss[0]
