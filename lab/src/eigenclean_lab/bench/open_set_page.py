"""The tables of `eigenclean bench open-set` on the page of out-of-class samples."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eigenclean.errors import InvalidOption
from eigenclean.files import write_text
from eigenclean_lab.bench.open_set import CIFAR, mean_of

START, END = "<!-- bench open-set -->", "<!-- end of bench open-set -->"
_HEAD = [
    "| Setting | Rows | Measured | Called | Precision | Recall | AP | AP of flips |",
    "|---|---|---|---|---|---|---|---|",
]
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
        shares = _percent(each["precision"]), _percent(each["recall"])
        lines.append(f"| {each['class']} | {each['measured']} | {' | '.join(shares)} |")
    return "\n".join(lines)


def write_tables(page: Path, results: dict[str, Any]) -> None:
    """Put the tables between the marks of a page."""
    text = page.read_text(encoding="utf-8")
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise InvalidOption(f"{page} has no place for the tables, from {START} to {END}")
    write_text(page, f"{before}{START}\n{tables(results)}\n{END}{after}")


def _row(name: str, group: Sequence[dict[str, Any]]) -> str:
    sizes = {each["n"] for each in group}
    cells = [name, str(min(sizes)) if len(sizes) == 1 else f"{min(sizes)} to {max(sizes)}", str(len(group))]
    cells += [_share(group, key) for key in ("called", "precision", "recall")]
    cells += [_ranking(group, key) for key in ("average_precision", "flips_average_precision")]
    return f"| {' | '.join(cells)} |"


def _share(group: Sequence[dict[str, Any]], key: str) -> str:
    if group[0]["recall"] is None and key != "called":
        return "–"
    return _percent(mean_of([each[key] for each in group]))


def _ranking(group: Sequence[dict[str, Any]], key: str) -> str:
    if group[0][key] is None:
        return "–"
    before, after = (mean_of([each[name] for each in group]) for name in (f"{key}_before", key))
    return f"{before:.3f} → {after:.3f}"


def _sentence(means: dict[str, Any]) -> str:
    seeds = ", ".join(_percent(recall) for recall in means["recall_of_seeds"])
    several = f"; recall of the seeds {seeds}" if len(means["recall_of_seeds"]) > 1 else ""
    precision, recall = _percent(means["precision"]), _percent(means["recall"])
    return (
        f"* {means['kind']}: precision {precision}, recall {recall}, means of {means['measured']} (settings: "
        f"{means['settings']}{several}); in {means['nothing_called']} nothing is called"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
