"""Experiments without numbers in the paper: rounds of a network that learns errors, theorems, and deviations."""

from dataclasses import replace

from eigenclean_lab.reproduce.columns import BEST, EIGHTY, F_FIRST, F_KEPT, FORTY, LAST, TEN, on_fashion
from eigenclean_lab.reproduce.profiles import IMAGES, LATE, SCRATCH, WHOLE
from eigenclean_lab.reproduce.released_code import DEVIATIONS
from eigenclean_lab.reproduce.values import Column, Experiment, MethodSpec, Metric, TableRow, method_spec

_EPOCHS = (1, 2, 3, 5, 8, 20)


def further_experiments() -> list[Experiment]:
    """The experiments that no table or figure of the paper shows."""
    return [_rounds(), *_theorems(), _discrepancies()]


def _rounds() -> Experiment:
    """What each method would keep after each epoch of a network that is trained on all labels as given."""
    first = tuple(
        Column(name, "cifar10", noise)
        for name, noise in (
            ("C10 S50", "symmetric:0.5"),
            ("C10 S80", "symmetric:0.8"),
            ("C10 A40", "asymmetric:0.4"),
        )
    )
    others = tuple(
        replace(setting, name=f"{setting.name} {which}", data=data)
        for which, data in (("late", LATE), ("whole", WHOLE))
        for setting in first
    )
    rows = (
        TableRow("train accuracy", (method_spec("rounds", "train-accuracy"),),
            note="share of the given labels, wrong ones included, that the network predicts: how far it has "
            "learned the errors"),
        TableRow("test accuracy", (method_spec("rounds", "test-accuracy"),)),
        TableRow("keep all", (method_spec("rounds", "keep-all"),), note="F of keeping every label"),
        TableRow("fine", (method_spec("rounds", "fine"),), note="as published: two components in every class"),
        TableRow("fine, class-relative", (method_spec("rounds", "fine-relative"),),
            note="the alignment with the given class relative to that with other classes"),
        TableRow("small-loss", (method_spec("rounds", "small-loss", head=None),),
            note="on the losses of the network"),
        TableRow("judge", (method_spec("rounds", "judge"),)),
        TableRow("judge, in sample", (method_spec("rounds", "judge", in_sample=True),),
            note="the judge that is told that the features were learned from these labels"),
    )  # fmt: skip
    metrics = (
        *(Metric(f"rounds.epoch_{number}", f"epoch {number}") for number in _EPOCHS),
        Metric("rounds.last", "last"),
    )
    return Experiment(
        "rounds",
        "Selections while a network learns the wrong labels: F of the kept, epoch by epoch",
        rows,
        (*first, *others, *on_fashion(first, SCRATCH)),
        metrics,
        plot="curves",
        notes=(
            "Not a table of the paper. The network is trained on all labels as given; each method judges them "
            "after each epoch, and the training uses nothing of that.",
        ),
    )


def _theorems() -> list[Experiment]:
    """The bounds of the two theorems, against simulation."""
    column = (Column("simulation", "none", "none"),)
    bounds = {"theorem1": ("",), "theorem2": ("precision_", "recall_")}
    titles = {
        "theorem1": "The bound on the perturbation, as printed and corrected, against simulation",
        "theorem2": "The bounds on precision and recall, as printed and corrected, against simulation",
    }
    experiments = []
    for name, title in titles.items():
        violated = [
            Metric(f"theory.{bound}{form}_violated", f"{bound.replace('_', ', ')}{form}, broken in", digits=0)
            for bound in bounds[name]
            for form in ("printed", "corrected")
        ]
        metrics = (*violated, Metric("theory.cells", "of settings", digits=0))
        experiments.append(
            Experiment(
                name, title, (TableRow(name, (method_spec("theory", name),)),), column, metrics, plot="theory"
            )
        )
    return experiments


def _discrepancies() -> Experiment:
    """Each deviation of the released code, and of the printed text, alone against the library's default."""
    rows: list[TableRow] = []
    for name, deviation in DEVIATIONS.items():
        spec = method_spec("train", deviation.measured_on, **deviation.options)
        default = deviation.measured_on + "".join(f", {value}" for value in deviation.options.values())
        if default not in [row.name for row in rows]:
            rows.append(TableRow(default, (spec,)))
        changed = MethodSpec(spec.kind, spec.method, spec.options, (name,))
        rows.append(
            TableRow(f"{deviation.measured_on}: {name}", (changed,), against=default, note=deviation.description)
        )
    order = {row.name: number for number, row in enumerate(rows)}
    rows.sort(key=lambda row: (order[row.against or row.name], order[row.name]))
    return Experiment(
        "discrepancies",
        "What each deviation of the released code, or sentence of the paper, does to the numbers",
        tuple(rows),
        on_fashion((TEN[1], EIGHTY, FORTY), IMAGES),
        (BEST, LAST, F_KEPT, F_FIRST),
        main=2,
        notes=("Differences are to the same method without the deviation, over the seeds that both have.",),
    )
