"""The page of the documentation that researchers will cite, written from the committed results."""

from collections.abc import Sequence
from pathlib import Path

from eigenclean.files import write_text
from eigenclean_lab.reproduce.catalogue import EXPERIMENTS
from eigenclean_lab.reproduce.cells import Cell, read_cells, results_file
from eigenclean_lab.reproduce.claims import Claim, claims
from eigenclean_lab.reproduce.compare import Table, compare
from eigenclean_lab.reproduce.formatting import differences, header, lines
from eigenclean_lab.reproduce.page import stand_ins
from eigenclean_lab.reproduce.plot import draw
from eigenclean_lab.reproduce.profiles import PAPER, SMALL, Profile
from eigenclean_lab.reproduce.released_code import EMULATIONS, NOT_EMULATED

_HEAD = """# The executable paper

Every table, figure and theorem of *FINE Samples for Learning with Noisy Labels* (Kim, Ko, Cho, Choi, Yun; NeurIPS
2021) is a command here: `eigenclean reproduce table1` runs its cells, prints paper | measured | difference, and
writes a page with the picture. [How to run them](howto/reproduce.md). This page is generated from the files
`results/reproduce_*.jsonl` by `eigenclean reproduce docs`; every line of those files is a cell with its command,
seed, noise hash, code version and numbers. No number here was typed by hand, and what was not measured is not here.

**Profiles.** `paper` takes the paper's data, networks and epochs and needs a GPU. `small` is real data with small
networks, on two processors. Its accuracies are not comparable with the paper's: other images, other networks,
minutes instead of hours. Orders, differences and what happens as noise grows are. Deviations are those over seeds.
"""
_CLAIMS = """
## What holds, and what does not

In the profile `small`, setting by setting where a sentence is about several; differences and deviations are in the
sections. Where a sentence does not hold, that is what was measured here, with the data and networks that the
section of its table names. *Accuracy* is that of the epoch that does best on samples set apart, whose labels are as
noisy, and *last epoch* that at the end, when a method that does not withstand wrong labels has learned them.
Differences are between runs of the same seed, with their deviation over the seeds; in brackets the paper's.
"""
_HABITS = """
### What can be switched on

`--as-released` switches all habits of the released code on that are about a recipe; `reproduce discrepancies`
measures each alone. Not emulated, and why:
"""


def docs_page(results: Path) -> tuple[str, dict[str, str]]:
    """Markdown, and the pictures by the name of their file."""
    pictures: dict[str, str] = {}
    sections, found = [], []
    cells = {profile.name: list(read_cells(results_file(results, profile)).values()) for profile in (PAPER, SMALL)}
    for experiment in EXPERIMENTS.values():
        tables = {profile.name: compare(experiment, cells[profile.name], profile) for profile in (PAPER, SMALL)}
        sections += _section(tables, pictures)
        found += [(experiment.name, claim) for claim in claims(tables[SMALL.name])]
    text = "\n".join([_HEAD, *_summary(found, cells), *sections])
    return text.rstrip() + "\n", pictures


def write_docs_page(results: Path, docs: Path) -> list[Path]:
    """Write ``paper.md`` and its pictures under ``img/``; return what was written."""
    text, pictures = docs_page(results)
    written = [docs / "paper.md", *(docs / "img" / name for name in pictures)]
    for path, content in zip(written, [text, *pictures.values()], strict=True):
        write_text(path, content)
    return written


def _summary(found: Sequence[tuple[str, Claim]], cells: dict[str, list[Cell]]) -> list[str]:
    counts = ", ".join(f"{len(own)} of profile `{name}`" for name, own in cells.items())
    rows = [f"| [{name}](#{name}) | {claim.says} | {_mark(claim)} | {claim.detail} |" for name, claim in found]
    return [
        f"Measured cells: {counts}.",
        _CLAIMS,
        "| | The paper's sentence | Here | Numbers |",
        "|---|---|---|---|",
        *rows,
        "",
    ]


def _mark(claim: Claim) -> str:
    return claim.verdict if any(claim.so) else f"**{claim.verdict}**"


def _section(tables: dict[str, Table], pictures: dict[str, str]) -> list[str]:
    experiment = tables[SMALL.name].experiment
    out = [f"## {experiment.name}: {experiment.title} {{ #{experiment.name} }}", ""]
    for profile in (PAPER, SMALL):
        table = tables[profile.name]
        if not table.is_measured:
            if profile is SMALL:
                out += [f"Not measured yet: `eigenclean reproduce {experiment.name}`.", ""]
            continue
        out += _profile_part(table, profile, pictures)
    out += [f"{note}\n" for note in experiment.notes]
    if experiment.name == "discrepancies":
        out += _habits()
    return out


def _profile_part(table: Table, profile: Profile, pictures: dict[str, str]) -> list[str]:
    here = "; ".join(f"{name}: {says}" for name, says in stand_ins(table, profile))
    out = [f"Profile `{profile.name}`{f' ({here})' if here else ''}:", ""]
    picture = draw(table)
    if picture:
        name = f"paper_{table.experiment.name}" + ("" if profile is SMALL else f"_{profile.name}") + ".svg"
        pictures[name] = picture
        out += [f"![{table.experiment.title}](img/{name})", ""]
    heads = header(table)
    named = [": ".join(word for word in words if word) for words in heads]
    out += ["| | " + " | ".join(named[1:]) + " |", "|---" * len(heads) + "|"]
    for column, rows in lines(table):
        measured = [row for row in rows if row[-1] != "0"]
        if measured:
            out += [f"| **{column}** " + "| " * len(heads[1:]) + "|"]
            out += ["| " + " | ".join(row) + " |" for row in measured]
    for title, columns, rows in differences(table):
        out += ["", f"| {title} | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
        out += ["| " + " | ".join(row) + " |" for row in rows]
    missing = sum(row[-1] == "0" for _, rows in lines(table) for row in rows)
    out += ["", f"{missing} cells of this table are not measured yet.\n" if missing else ""]
    out += [f"`{row.name}`: {row.note}.\n" for row in table.experiment.rows if row.note and row.against is None]
    return out


def _habits() -> list[str]:
    rows = [
        f"| `{name}` | {habit.family} | {habit.item} | {habit.says} | {habit.measured_on} |"
        for name, habit in EMULATIONS.items()
    ]
    return [
        "| Habit | Of | Where | What | Measured on |",
        "|---|---|---|---|---|",
        *rows,
        _HABITS,
        *(f"* {item}: {reason}." for item, reason in NOT_EMULATED.items()),
        "",
    ]
