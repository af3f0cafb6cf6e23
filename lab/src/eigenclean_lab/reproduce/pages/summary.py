"""The executable paper in one table: by kind of noise, how often FINE and the judge help, and by how much."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from eigenclean_lab.reproduce.catalogue import EXPERIMENTS
from eigenclean_lab.reproduce.compare import Table, gaps
from eigenclean_lab.reproduce.pages.formatting import NOTHING
from eigenclean_lab.reproduce.profile import PEOPLE
from eigenclean_lab.reproduce.values import Place

Comparisons = Mapping[str, Sequence[Place]]  # by table, pairs of rows of which the first may be better
Differences = dict[str, list[float]]  # by kind of noise, of all settings and pairs
_EQUAL = 1e-9
_KINDS = ("symmetric", "asymmetric", PEOPLE)  # as tables 1, 2 and 6 have them
_EPOCHS = ("best epoch", "last epoch")
_SELECTION = EXPERIMENTS["table1"]
_RANKINGS = [pair for pair in _SELECTION.rankings if pair not in _SELECTION.own_rankings]
SUMMARY: dict[str, Comparisons] = {
    "`fine` above the other methods of table 1 that the paper has": {
        "table1": [pair for pair in _RANKINGS if pair[0] == "fine"],
    },
    "a method with FINE above the same without it": {
        "table1": [("f-coteaching", "co-teaching")],
        "table2": [("f-dividemix", "dividemix")],
        "table6": [(f"{name}+fine", name) for name in ("gce", "sce", "elr")],
    },
    "the judge in the place of FINE above FINE": {
        "table1": [("judge", "fine"), ("j-coteaching", "f-coteaching")],
        "table2": [("j-dividemix", "f-dividemix")],
    },
}


def summary_table(tables: Mapping[str, Mapping[str, Table]], profiles: Sequence[str]) -> list[str]:
    """Lines of Markdown: comparisons by profile and kind of noise, of tables by their name and profile; or none."""
    rows: list[str] = []
    counted: list[str] = []
    for sentence, comparisons in SUMMARY.items():
        for number, epoch in enumerate(_EPOCHS):
            by_profile = [differences_by_noise(tables, profile, comparisons, number) for profile in profiles]
            cells = [count_and_mean(by_noise.get(kind, ())) for by_noise in by_profile for kind in _KINDS]
            counted += cells
            rows.append(f"| {sentence if number == 0 else ''} | {epoch} | {' | '.join(cells)} |")
    if set(counted) == {NOTHING}:
        return []
    head = [f"`{profile}` {kind}" for profile in profiles for kind in _KINDS]
    return [f"| | | {' | '.join(head)} |", "|---" * (len(head) + 2) + "|", *rows, ""]


def differences_by_noise(
    tables: Mapping[str, Mapping[str, Table]], profile: str, comparisons: Comparisons, number: int
) -> Differences:
    """Mean differences over the seeds of every pair in every setting, by the main metric of that number."""
    by_noise: Differences = {}
    for name, pairs in comparisons.items():
        table = tables[name][profile]
        kinds = {column.name: column.noise.partition(":")[0] for column in table.experiment.columns}
        for better, other in pairs:
            for setting, gap in gaps(table, better, other, table.experiment.main_metrics[number]).items():
                by_noise.setdefault(kinds[setting], []).append(gap.mean)
    return by_noise


def count_and_mean(differences: Iterable[float]) -> str:
    """How many are above 0, and their mean.

    >>> count_and_mean([2.0, -0.5, 0.0]), count_and_mean([-0.01]), count_and_mean([])
    ('1 of 3 (+0.5)', '0 of 1 (+0.0)', '–')
    """
    values = list(differences)
    if not values:
        return NOTHING
    mean = round(float(np.mean(values)), 1) + 0.0  # never -0.0
    return f"{sum(value > _EQUAL for value in values)} of {len(values)} ({mean:+.1f})"
