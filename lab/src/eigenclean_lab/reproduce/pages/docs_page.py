"""The pages "The executable paper" of the documentation, written from the committed results."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from eigenclean.files import write_text
from eigenclean_lab.reproduce.catalogue import EXPERIMENTS
from eigenclean_lab.reproduce.claims import Claim, claims, merged
from eigenclean_lab.reproduce.compare import Table, compare
from eigenclean_lab.reproduce.context import Context
from eigenclean_lab.reproduce.pages.deviations import difference_table, list_of_deviations
from eigenclean_lab.reproduce.pages.formatting import NOTHING, differences, header, lines
from eigenclean_lab.reproduce.pages.html_page import data_descriptions
from eigenclean_lab.reproduce.pages.means import means_table
from eigenclean_lab.reproduce.pages.overview import ends_in_words, first_to_last, overview
from eigenclean_lab.reproduce.pages.plot import draw
from eigenclean_lab.reproduce.pages.summary import summary_table
from eigenclean_lab.reproduce.profile import Profile
from eigenclean_lab.reproduce.profiles import MEDIUM, PAPER, SMALL
from eigenclean_lab.reproduce.suite import PaperSuite, paper_store
from eigenclean_lab.reproduce.values import Experiment
from eigenclean_lab.store import Cell

_HEAD = """# The executable paper

Every table, figure and theorem of *FINE Samples for Learning with Noisy Labels* (Kim, Ko, Cho, Choi, Yun;
NeurIPS 2021) is a command here: `eigenclean reproduce table1` runs its cells, prints the paper's numbers beside
the measured ones, and writes a page with the figure. [How to run them](howto/reproduce.md). This page is
generated from the files `results/reproduce_*.jsonl` by `eigenclean reproduce docs`; every line of those files
is a cell with its command, seed, noise hash, code version and numbers. No number here was typed by hand, and
what was not measured is not here.

**Profiles.** `paper` takes the paper's data, networks and epochs and needs a GPU. `medium` fine-tunes the last
five blocks of a pretrained network on 4 000 images of CIFAR-10, and tests it on 1 000: like the paper's
networks, it learns its features from the noisy labels, the classes first and then all errors. Its second
network is a small CNN that learns 4 000 images of Fashion-MNIST from scratch, and then their errors. `small` is
real data with small networks, most of them on fixed features, on two processors. Accuracies of both are not
comparable with the paper's: other images, other networks, minutes instead of hours. So the difference to the
paper's number is printed for the profile `paper` only. Rankings, the sign of differences between methods, and
trends over the noise rate can be compared. Columns C10 and C100 are CIFAR-10 and CIFAR-100; the paper has no
numbers for Fashion-MNIST and banking77, which have columns of their own. Nothing stands for data that cannot be
had here, such as Clothing1M. ± is the standard deviation over seeds. Rows `judge`, `j-coteaching`,
`j-dividemix` and `probe` are methods of this project beside the paper's, and columns C10N are CIFAR-10 with the
labels that people gave (CIFAR-10N).
"""
_SHOWN = (PAPER, MEDIUM, SMALL)
Figures = dict[str, Table]  # by the name of the file, what is drawn there
FRONT, FOLDER = "paper.md", "paper"
_FRONT_FIGURES = ("table1", "rounds", "fig3c")
AGE = "**When this page was written,"  # the beginning of the one line that depends on the present code
_SUMMARY = """
## In short

In how many comparisons the first method is the more accurate one, and by how many points on average: over all
settings of tables [1](paper/table1.md), [2](paper/table2.md) and [6](paper/table6.md) that were measured, by kind
of noise (*people*: the labels of CIFAR-10N). Below is [why the answer depends on the
noise](#why-what-is-kept-while-a-network-learns-the-errors).
"""
_CLAIMS = """
## What holds, and what does not

In how many of the measured settings of a profile each sentence holds, and in how many that the paper prints;
the numbers are on the page of each table. Sentences without an entry under *paper* are not the paper's.
*Accuracy* is that of the epoch with the best accuracy on held-out samples, whose labels are as noisy; *last
epoch* is that after the last one. Where two methods are *equal*, the chosen epoch usually precedes the first
selection. Means over seeds decide; *with every seed* counts, among the settings that have several seeds, those
in which the sentence holds with each of them. With one seed, a difference of a point or two may be chance.
Co-teaching and Co-teaching+ are told the noise rate, as by their authors; no other method of table 1 is.
"""
_MEANS = """## What to use now

Mean test accuracy over the settings of [table1](paper/table1.md) in which every row was measured, by profile
and data, with the number of settings in brackets: that of the epoch with the best accuracy on held-out samples,
whose labels are as noisy, and after the slash that of the last epoch. The highest are bold. Rows with † are told
the noise rate, which their users would not know, and do not compete.
"""
_SEMI_SUPERVISED = """
Semi-supervised methods ([table2](paper/table2.md)) in settings of table 1. They train two networks and take
several times as long. Their best epoch is chosen on the test samples, as published; after the slash is the last
epoch.
"""
_DIFFERENCES = (
    "Differences of runs with the same seed, with their deviation over the seeds; in brackets those of the paper.\n"
)
_ALL_NUMBERS = "All numbers: the paper's, ours with their deviation, further figures, seeds"
_REASONS = """## Why: what is kept while a network learns the errors

A network is trained on all labels as given; each method judges them after each epoch
([rounds](paper/rounds.md), profile `medium`). F of the kept labels after the first and after the last epoch;
*train accuracy* is the share of the given labels, wrong ones included, that the network predicts. Once it
predicts all of them, its losses carry no information about errors. Under asymmetric noise (A40) half of the given
classes have no wrong labels; FINE as published splits these in two as well.
"""


def docs_pages(results: Path) -> tuple[dict[str, str], Figures]:
    """Markdown by the name of its page, the front page first, and the tables that are drawn as figures."""
    figures: Figures = {}
    sections: dict[str, str] = {}
    stated: dict[str, dict[str, list[Claim]]] = {MEDIUM.name: {}, SMALL.name: {}}
    cells = {profile.name: paper_store(results, profile).read() for profile in _SHOWN}
    tables = {
        name: {profile.name: compare(experiment, cells[profile.name], profile) for profile in _SHOWN}
        for name, experiment in EXPERIMENTS.items()
    }
    for name, by_profile in tables.items():
        lines_of_claims = []
        for profile, of_profile in stated.items():
            own_claims = of_profile[name] = claims(by_profile[profile])
            head = [f"In the profile `{profile}`:", ""] if own_claims else []
            lines_of_claims += [*head, *_claims_table(own_claims)]
        text = "\n".join(_section(by_profile, figures, lines_of_claims))
        sections[f"{FOLDER}/{name}.md"] = text.rstrip() + "\n"
    findings = [
        *([_SUMMARY, *summary] if (summary := summary_table(tables, list(stated))) else []),
        *(_CLAIMS, *_front_table(stated)),
        *_reasons(tables["rounds"][MEDIUM.name]),
        *_means(tables["table1"], tables["table2"]),
        *difference_table(tables["discrepancies"][MEDIUM.name]),
    ]
    front = "\n".join([_HEAD, *_counts(cells), *findings, *_pictures(figures), *_contents()])
    return {FRONT: front.rstrip() + "\n", **sections}, figures


def write_docs_pages(results: Path, docs: Path) -> list[Path]:
    """Write ``paper.md``, a page for each experiment in ``paper/`` and figures in ``img/``; return the files."""
    pages, figures = docs_pages(results)
    files = {**{docs / name: text for name, text in pages.items()},
             **{docs / "img" / name: draw(table) for name, table in figures.items()}}  # fmt: skip
    (docs / FOLDER).mkdir(exist_ok=True)
    for path, content in files.items():
        write_text(path, content)
    for figure in (docs / "img").glob("paper_*.svg"):
        if figure not in files:  # of a table that is not measured any more
            figure.unlink()
    return list(files)


def _pictures(figures: Mapping[str, object]) -> list[str]:
    """The figures that the front page shows, as far as they were drawn."""
    shown = [f"![{EXPERIMENTS[name].title}](img/paper_{name}_medium.svg)\n\n*{EXPERIMENTS[name].title}: "
             f"[{name}]({FOLDER}/{name}.md), profile `medium`.*\n" for name in _FRONT_FIGURES
             if f"paper_{name}_medium.svg" in figures]  # fmt: skip
    return ["## Three pictures", "", *shown] if shown else []


def _contents() -> list[str]:
    rows = [f"| [{name}]({FOLDER}/{name}.md) | {experiment.title} |" for name, experiment in EXPERIMENTS.items()]
    return ["## All tables, figures and theorems", "", "| | |", "|---|---|", *rows, ""]


def _claims_table(stated: Sequence[Claim]) -> list[str]:
    if not stated:
        return []
    rows = [f"| {claim.text} | {_mark(claim)} | {claim.detail} |" for claim in stated]
    return ["| Sentence | Here | Numbers |", "|---|---|---|", *rows, ""]


def _front_table(stated: Mapping[str, Mapping[str, Sequence[Claim]]]) -> list[str]:
    """What holds in each profile, by experiment and sentence."""
    rows = []
    for experiment in EXPERIMENTS:
        by_profile = {
            profile: {claim.sentence: claim for claim in merged(of_profile.get(experiment, ()))}
            for profile, of_profile in stated.items()
        }
        for sentence in dict.fromkeys(name for of_profile in by_profile.values() for name in of_profile):
            verdicts = [
                _outcome(of_profile[sentence]) if sentence in of_profile else NOTHING
                for of_profile in by_profile.values()
            ]
            printed = next(claims[sentence].in_paper for claims in by_profile.values() if sentence in claims)
            cells = [f"[{experiment}]({FOLDER}/{experiment}.md)", sentence, printed or NOTHING, *verdicts]
            rows.append(f"| {' | '.join(cells)} |")
    profiles = " | ".join(f"`{profile}`" for profile in stated)
    return [f"| | Sentence | paper | {profiles} |", "|---|---|---" + "|---" * len(stated) + "|", *rows, ""]


def _outcome(claim: Claim) -> str:
    """In how many settings it holds: by the mean, with every seed, and by other metrics."""
    return "; ".join(filter(None, (_mark_count(claim), claim.with_every_seed, *claim.by_other_metrics)))


def _means(selection: Mapping[str, Table], semi_supervised: Mapping[str, Table]) -> list[str]:
    """What to use: means over the settings of tables 1 and 2."""
    first = means_table(selection)
    settings = {column.name for column in EXPERIMENTS["table1"].columns}
    second = means_table({name: table.in_columns(settings) for name, table in semi_supervised.items()})
    return [
        *([_MEANS, *first, *_notes(EXPERIMENTS["table1"])] if first else []),
        *([_SEMI_SUPERVISED, *second, *_notes(EXPERIMENTS["table2"])] if second else []),
    ]


def _counts(cells: dict[str, list[Cell]]) -> list[str]:
    counts = ", ".join(
        f"{len(measured)} of profile `{name}` ({_count_seeds(measured)}, "
        f"{sum(cell.seconds for cell in measured) / 3600:.1f} hours)"
        for name, measured in cells.items()
        if measured
    )
    return [
        f"Measured cells, and the time that they took, mostly two at a time on two processors: {counts or 'none'}.",
        *_age(cells),
    ]


def _reasons(rounds: Table) -> list[str]:
    """What methods would keep at the beginning and at the end, while a network learns the errors."""
    lines = first_to_last(rounds)
    return [_REASONS, *lines, *ends_in_words(rounds)] if lines else []


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


def _mark_count(claim: Claim) -> str:
    """The outcome, with the number of settings where there are several."""
    many = len(claim.holds_in) > 1
    if not many and claim.settings:
        return f"{_mark(claim)} in {claim.settings[0]}"
    if not (many and claim.passed):
        return _mark(claim)
    return "in both settings" if len(claim.holds_in) == 2 else f"in all {len(claim.holds_in)} settings"


def _count_seeds(cells: Sequence[Cell]) -> str:
    number = len({cell.seed for cell in cells})
    return "one seed" if number == 1 else f"up to {number} seeds"


def _section(tables: dict[str, Table], figures: Figures, lines_of_claims: Sequence[str]) -> list[str]:
    experiment = tables[SMALL.name].experiment
    origin = (
        f"One page of [the executable paper](../{FRONT}): `eigenclean reproduce {experiment.name}` measures it."
    )
    out = [f"# {experiment.name}: {experiment.title}", "", origin, ""]
    measured = [profile for profile in _SHOWN if tables[profile.name].is_measured]
    if not measured:
        out += [f"Not measured yet: `eigenclean reproduce {experiment.name}`.", ""]
    out += ["## What holds", "", *lines_of_claims] if lines_of_claims else []
    for profile in measured:
        out += _profile_section(tables[profile.name], profile, figures)
    out += [f"{note}\n" for note in experiment.notes]
    if experiment.name == "discrepancies":
        out += list_of_deviations()
    return out


def _profile_section(table: Table, profile: Profile, figures: Figures) -> list[str]:
    out = [f"## Profile `{profile.name}`", ""]
    out += [f"* {name}: {description}" for name, description in data_descriptions(table, profile)]
    out += [""] if out[-1] else []
    name = f"paper_{table.experiment.name}" + ("" if profile is SMALL else f"_{profile.name}") + ".svg"
    figures[name] = table
    out += [f"![{table.experiment.title}](../img/{name})", ""]
    summary = overview(table)
    out += summary
    compared = list(differences(table))
    out += [_DIFFERENCES] if compared else []
    for title, columns, rows in compared:
        out += [f"| {title} | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
        out += [*("| " + " | ".join(row) + " |" for row in rows), ""]
    out += _folded(_all_numbers(table)) if summary else _all_numbers(table)
    return out + _notes(table.experiment)


def _all_numbers(table: Table) -> list[str]:
    """Every figure of every row and setting, with the paper's number and the number of seeds."""
    heads = header(table)
    named = [": ".join(filter(None, head)) for head in heads]
    out = ["| | " + " | ".join(named[1:]) + " |", "|---" * len(heads) + "|"]
    for column, rows in lines(table):
        measured = [row for row in rows if row[-1] != "0"]
        if measured:
            out += [f"| **{column}** " + "| " * len(heads[1:]) + "|"]
            out += ["| " + " | ".join(row) + " |" for row in measured]
    missing = sum(row[-1] == "0" for _, rows in lines(table) for row in rows)
    return [*out, "", f"{missing} cells of this table are not measured yet.\n" if missing else ""]


def _folded(content: Sequence[str]) -> list[str]:
    """The lines, shown when the reader opens them."""
    return [f'<details markdown="1"><summary>{_ALL_NUMBERS}</summary>', "", *content, "</details>", ""]


def _notes(experiment: Experiment) -> list[str]:
    """What is to be said about single rows, or several; deviations have a table of their own."""
    by_note: dict[str, list[str]] = {}
    for row in experiment.rows:
        if row.note and row.against is None:
            by_note.setdefault(row.note, []).append(f"`{row.name}`")
    return [f"{', '.join(names)}: {note}.\n" for note, names in by_note.items()]
