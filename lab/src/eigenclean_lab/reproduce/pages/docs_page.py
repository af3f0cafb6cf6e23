"""The pages "The executable paper" of the documentation, written from the committed results."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from eigenclean.files import write_text
from eigenclean_lab.reproduce.catalogue import EXPERIMENTS
from eigenclean_lab.reproduce.claims import Claim, claims
from eigenclean_lab.reproduce.compare import Table, compare
from eigenclean_lab.reproduce.context import Context
from eigenclean_lab.reproduce.pages.formatting import differences, header, lines
from eigenclean_lab.reproduce.pages.html_page import stand_ins
from eigenclean_lab.reproduce.pages.plot import draw
from eigenclean_lab.reproduce.profiles import MEDIUM, PAPER, SMALL, Profile
from eigenclean_lab.reproduce.released_code import DEVIATIONS, NOT_IMPLEMENTED
from eigenclean_lab.reproduce.suite import PaperSuite, paper_store
from eigenclean_lab.store import Cell

_HEAD = """# The executable paper

Every table, figure and theorem of *FINE Samples for Learning with Noisy Labels* (Kim, Ko, Cho, Choi, Yun; NeurIPS
2021) is a command here: `eigenclean reproduce table1` runs its cells, prints the paper's numbers beside the
measured ones, and writes a page with the figure. [How to run them](howto/reproduce.md). This page is generated from
the files `results/reproduce_*.jsonl` by `eigenclean reproduce docs`; every line of those files is a cell with its
command, seed, noise hash, code version and numbers. No number here was typed by hand, and what was not measured is
not here.

**Profiles.** `paper` takes the paper's data, networks and epochs and needs a GPU. `medium` fine-tunes a pretrained
network on 4 000 images of CIFAR-10: like the paper's networks, and unlike heads on fixed features, it learns the
classes first and then the errors. `small` is real data with small networks, on two processors. Accuracies of both
are not comparable with the paper's: other images, other networks, minutes instead of hours. So the difference to
the paper's number is printed for the profile `paper` only. Rankings,
the sign of differences between methods, and trends over the noise rate can be compared. Columns C10 and C100 are
CIFAR-10 and CIFAR-100; the paper has no numbers for banking77, which is under its own name. Deviations are those
over seeds. Rows `judge`, `j-coteaching`, `j-dividemix` and `probe` are methods of this project beside the paper's,
and columns C10N are CIFAR-10 with the labels that people gave (CIFAR-10N).
"""
_SHOWN = (PAPER, MEDIUM, SMALL)
Figures = dict[str, Callable[[], str]]  # by the name of their file; drawn when called, which takes a second each
FRONT, FOLDER = "paper.md", "paper"
_FRONT_FIGURES = ("table1", "fig3c", "fig5")
AGE = "**When this page was written,"  # the beginning of the one line that depends on the present code
_CLAIMS = """
## What holds, and what does not

In the profile `small`, setting by setting where a sentence is about several; differences and deviations are on
the page of each table. Where a sentence does not hold, that is what was measured here, with the data and networks
that this page names. *Accuracy* is that of the epoch that does best on held-out samples, whose labels are as
noisy, and *last epoch* that at the end, when a method that does not withstand wrong labels has learned them.
Differences are between runs of the same seed, with their deviation over the seeds; in brackets the paper's.
"""
_MEDIUM_CLAIMS = """
In the profile `medium`, as far as it was measured:
"""
_DEVIATIONS = """
## Deviations that can be measured

`--as-released` applies all deviations of the released code that concern a recipe; `reproduce discrepancies`
measures each alone. Not implemented, and why:
"""


def docs_pages(results: Path) -> tuple[dict[str, str], Figures]:
    """Markdown by the name of its page, the front page first, and the figures."""
    figures: Figures = {}
    sections: dict[str, str] = {}
    stated: dict[str, list[tuple[str, Claim]]] = {MEDIUM.name: [], SMALL.name: []}
    cells = {profile.name: paper_store(results, profile).read() for profile in _SHOWN}
    for experiment in EXPERIMENTS.values():
        tables = {profile.name: compare(experiment, cells[profile.name], profile) for profile in _SHOWN}
        lines_of_claims = []
        for name, of_profile in stated.items():
            own_claims = [(experiment.name, claim) for claim in claims(tables[name])]
            of_profile += own_claims
            head = [f"Claims in the profile `{name}`:", ""] if own_claims and stated[MEDIUM.name] else []
            lines_of_claims += [*head, *_claims_table(own_claims, linked=False)]
        text = "\n".join([*_section(tables, figures), *lines_of_claims])
        sections[f"{FOLDER}/{experiment.name}.md"] = text.rstrip() + "\n"
    front = "\n".join([_HEAD, *_summary(stated, cells), *_pictures(figures), *_contents()])
    return {FRONT: front.rstrip() + "\n", **sections}, figures


def write_docs_pages(results: Path, docs: Path) -> list[Path]:
    """Write ``paper.md``, a page for each experiment in ``paper/`` and figures in ``img/``; return the files."""
    pages, figures = docs_pages(results)
    files = {**{docs / name: text for name, text in pages.items()},
             **{docs / "img" / name: figure() for name, figure in figures.items()}}  # fmt: skip
    (docs / FOLDER).mkdir(exist_ok=True)
    for path, content in files.items():
        write_text(path, content)
    return list(files)


def _pictures(figures: Mapping[str, object]) -> list[str]:
    """The figures that the front page shows, as far as they were drawn."""
    shown = [f"![{EXPERIMENTS[name].title}](img/paper_{name}.svg)\n\n*{EXPERIMENTS[name].title}: "
             f"[{name}]({FOLDER}/{name}.md), profile `small`.*\n" for name in _FRONT_FIGURES
             if f"paper_{name}.svg" in figures]  # fmt: skip
    return ["## Three pictures", "", *shown] if shown else []


def _contents() -> list[str]:
    rows = [f"| [{name}]({FOLDER}/{name}.md) | {experiment.title} |" for name, experiment in EXPERIMENTS.items()]
    return ["## All tables, figures and theorems", "", "| | |", "|---|---|", *rows, ""]


def _claims_table(stated: Sequence[tuple[str, Claim]], *, linked: bool) -> list[str]:
    if not stated:
        return []
    rows = [
        f"| {f'[{name}]({FOLDER}/{name}.md)' * linked} | {claim.sentence} | {_mark(claim)} | {claim.detail} |"
        for name, claim in stated
    ]
    return ["| | The paper's sentence | Here | Numbers |", "|---|---|---|---|", *rows, ""]


def _summary(stated: Mapping[str, Sequence[tuple[str, Claim]]], cells: dict[str, list[Cell]]) -> list[str]:
    counts = ", ".join(f"{len(measured)} of profile `{name}`" for name, measured in cells.items())
    return [
        f"Measured cells: {counts}.",
        *_age(cells),
        _CLAIMS,
        *_claims_table(stated[SMALL.name], linked=True),
        *([_MEDIUM_CLAIMS, *_claims_table(stated[MEDIUM.name], linked=True)] if stated[MEDIUM.name] else []),
    ]


def _age(cells: dict[str, list[Cell]]) -> list[str]:
    """A paragraph about cells that other code has measured, if there are some when the page is written."""
    measured = [(name, cell) for name, of_profile in cells.items() for cell in of_profile if cell.is_measured]
    suites = {name: PaperSuite(Context(name)) for name in cells}
    older = sum(not cell.is_current(suites[name].request(cell)) for name, cell in measured)
    if not older:
        return []
    return [
        "",
        f"{AGE} {older} of the {len(measured)} cells were of an earlier version of the code** and not measured "
        "again since: a method that has changed meanwhile may do better or worse than its row says "
        "([what was compared with the original code](explanation/originals.md)).",
    ]


def _mark(claim: Claim) -> str:
    return claim.verdict if any(claim.holds_in) else f"**{claim.verdict}**"


def _section(tables: dict[str, Table], figures: Figures) -> list[str]:
    experiment = tables[SMALL.name].experiment
    origin = (
        f"One page of [the executable paper](../{FRONT}): `eigenclean reproduce {experiment.name}` measures it."
    )
    out = [f"# {experiment.name}: {experiment.title}", "", origin, ""]
    measured = [profile for profile in _SHOWN if tables[profile.name].is_measured]
    if not measured:
        out += [f"Not measured yet: `eigenclean reproduce {experiment.name}`.", ""]
    for profile in measured:
        out += _profile_section(tables[profile.name], profile, figures)
    out += [f"{note}\n" for note in experiment.notes]
    if experiment.name == "discrepancies":
        out += _deviations()
    return out


def _profile_section(table: Table, profile: Profile, figures: Figures) -> list[str]:
    stand_in_list = "; ".join(f"{name}: {description}" for name, description in stand_ins(table, profile))
    out = [f"Profile `{profile.name}`{f' ({stand_in_list})' if stand_in_list else ''}:", ""]
    name = f"paper_{table.experiment.name}" + ("" if profile is SMALL else f"_{profile.name}") + ".svg"
    figures[name] = partial(draw, table)
    out += [f"![{table.experiment.title}](../img/{name})", ""]
    heads = header(table)
    named = [": ".join(filter(None, head)) for head in heads]
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


def _deviations() -> list[str]:
    rows = [
        f"| `{name}` | {deviation.family} | {deviation.item} | {deviation.description} | {deviation.measured_on} |"
        for name, deviation in DEVIATIONS.items()
    ]
    return [
        "| Deviation | Of | Where | What | Measured on |",
        "|---|---|---|---|---|",
        *rows,
        _DEVIATIONS,
        *(f"* {item}: {reason}." for item, reason in NOT_IMPLEMENTED.items()),
        "",
    ]
