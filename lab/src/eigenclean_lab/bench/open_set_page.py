"""The tables of `eigenclean bench open-set` on the page of out-of-class samples."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eigenclean_lab.bench.open_set import CIFAR, mean_of
from eigenclean_lab.formatting import percent, write_between_marks

NAME = "bench open-set"
_HEAD = [
    "| Setting | Rows | Measured | Called | Precision | Recall | AP | Flips by P(right) | by P(another class) "
    "| among all rows |",
    "|---|---|---|---|---|---|---|---|---|---|",
]
_RANKINGS = (  # measures without the component and with it
    ("average_precision_before", "average_precision"),
    ("flips_average_precision_before", "flips_average_precision"),
    ("flips_average_precision_before", "flips_by_other_class"),
    ("flips_among_all_before", "flips_among_all"),
)
_CLASS_HEAD = ["| Class left out, with another | Measured | Precision | Recall |", "|---|---|---|---|"]


def tables(results: dict[str, Any]) -> str:
    """A row for each setting, with means over seeds; the pairs of classes of CIFAR-10 in one row, and by class."""
    outcomes = results["outcomes"]
    groups: dict[str, list[dict[str, Any]]] = {}
    for each in outcomes:
        name = "CIFAR-10 without two classes" if each["kind"] == CIFAR else each["setting"]
        groups.setdefault(name, []).append(each)
    lines = [*_HEAD, *(_row(name, group) for name, group in groups.items()), ""]
    lines += [_sentence(each) for each in results["means"]]
    lines += ["", *_CLASS_HEAD]
    for each in results["by_class"]:
        shares = percent(each["precision"]), percent(each["recall"])
        lines.append(f"| {each['class']} | {each['measured']} | {' | '.join(shares)} |")
    return "\n".join(lines)


def write_tables(page: Path, results: dict[str, Any]) -> None:
    """Put the tables between the marks of a page."""
    write_between_marks(page, NAME, tables(results))


def _row(name: str, group: Sequence[dict[str, Any]]) -> str:
    sizes = {each["n"] for each in group}
    cells = [name, str(min(sizes)) if len(sizes) == 1 else f"{min(sizes)} to {max(sizes)}", str(len(group))]
    cells += [_share(group, key) for key in ("called", "precision", "recall")]
    cells += [_ranking(group, *keys) for keys in _RANKINGS]
    return f"| {' | '.join(cells)} |"


def _share(group: Sequence[dict[str, Any]], key: str) -> str:
    if group[0]["recall"] is None and key != "called":
        return "–"
    return percent(mean_of([each[key] for each in group]))


def _ranking(group: Sequence[dict[str, Any]], before: str, after: str) -> str:
    if group[0][after] is None:
        return "–"
    first, second = (mean_of([each[key] for each in group]) for key in (before, after))
    return f"{first:.3f} → {second:.3f}"


def _sentence(means: dict[str, Any]) -> str:
    seeds = ", ".join(percent(recall) for recall in means["recall_of_seeds"])
    several = f"; recall of the seeds {seeds}" if len(means["recall_of_seeds"]) > 1 else ""
    precision, recall = percent(means["precision"]), percent(means["recall"])
    return (
        f"* {means['kind']}: precision {precision}, recall {recall}, means of {means['measured']} (settings: "
        f"{means['settings']}{several}); in {means['nothing_called']} nothing is called"
    )
