"""Which rows of the tables know more than others."""

from eigenclean.train import recipe
from eigenclean_lab.reproduce.catalogue import EXPERIMENTS
from eigenclean_lab.reproduce.profiles import SMALL
from eigenclean_lab.reproduce.recipes import PROBE, make_recipe
from eigenclean_lab.reproduce.rows import KNOW_RATE, RATE_UNKNOWN
from eigenclean_lab.reproduce.values import Task


def test_rows_that_are_told_the_noise_rate_are_those_that_are_marked() -> None:
    data = SMALL.training["cifar10"]
    told = set()
    for experiment in EXPERIMENTS.values():
        for row in experiment.rows:
            for spec in row.specs:
                if spec.kind == "train" and spec.method != PROBE:
                    low, high = (make_recipe(Task(spec, "cifar10", "people"), data, rate) for rate in (0.1, 0.4))
                    quiet, loud = (
                        make_recipe(Task(spec, "cifar10", f"symmetric:{rate}"), data) for rate in (0.2, 0.8)
                    )
                    if low != high or quiet != loud:
                        told.add(row.name)
    assert told == set(KNOW_RATE)
    for name in ("table1", "fig4"):
        by_name = {row.name: row for row in EXPERIMENTS[name].rows}
        assert all("told the noise rate" in by_name[row].note for row in told & by_name.keys())
    (untold,) = (make_recipe(Task(spec, "cifar10", "symmetric:0.8"), data) for spec in RATE_UNKNOWN.specs)
    assert untold == recipe("co-teaching", preset=data.preset).with_epochs(
        untold.epochs
    )  # nothing but the defaults
