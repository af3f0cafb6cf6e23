"""`eigenclean noise`: a copy of a data set with labels made wrong on purpose."""

from pathlib import Path
from typing import Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import mention, print_json, say, working
from eigenclean.cli.groups import with_groups
from eigenclean.cli.hints.completion import names_of
from eigenclean.cli.hints.next_steps import say_next
from eigenclean.cli.hints.output_files import check_output_file
from eigenclean.report.formatting import fixed_percent


@with_groups
def noise(
    *,
    source: o.SourceArgument,
    out: Annotated[Path, typer.Option("--out", "-o", help="The noisy copy, an .npz file.", show_default=False)],
    kind: Annotated[
        str, typer.Option(autocompletion=names_of("noises"), help="Kind of noise; see `eigenclean list noises`.")
    ] = "symmetric",
    rate: Annotated[float, typer.Option(help="Nominal noise rate, from 0 to 1.")] = 0.2,
    columns: o.TextTableOptions,
    setting: o.Set = None,
    seed: o.Seed = 0,
    as_json: o.Json = False,
) -> None:
    """Make some labels wrong on purpose; the right ones go to a file of their own, OUT.truth.npy."""
    from eigenclean.workflows.noisy_copy import write_noisy_copy

    check_output_file(out, source, columns.labels)
    data = columns.source_options().open(source, notify=mention)
    with working():
        copy = write_noisy_copy(data, out, kind=kind, rate=rate, seed=seed, **o.parse_settings(setting))
    if as_json:
        print_json(copy)
        return
    say(
        f"{fixed_percent(copy['true_rate'])} of {copy['n_samples']} labels are wrong now ({copy['noise']}); "
        f"written to {copy['out']}, the right labels to {copy['truth']}"
    )
    say_next("eigenclean", "detect", copy["out"], "--out", "run")
