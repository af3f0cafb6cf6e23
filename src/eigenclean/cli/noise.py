"""`eigenclean noise`: a copy of a data set with labels made wrong on purpose."""

from pathlib import Path
from typing import Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import percent, print_json, say, working


def noise(
    source: o.SourceArgument,
    out: Annotated[Path, typer.Option("--out", "-o", help="The noisy copy, an .npz file.", show_default=False)],
    kind: Annotated[str, typer.Option(help="Kind of noise; see `eigenclean list noises`.")] = "symmetric",
    rate: Annotated[float, typer.Option(help="Nominal noise rate, from 0 to 1.")] = 0.2,
    labels: o.Labels = None,
    label_column: o.LabelColumn = None,
    feature_column: o.FeatureColumns = None,
    id_column: o.IdColumn = None,
    text_column: o.TextColumn = None,
    setting: o.Set = None,
    seed: o.Seed = 0,
    as_json: o.Json = False,
) -> None:
    """Make some labels wrong on purpose; the right ones go to a file of their own, OUT.truth.npy."""
    from eigenclean.sources import open_source
    from eigenclean.workflows.noisy_copy import write_noisy_copy

    data = open_source(
        source,
        labels=labels,
        label_column=label_column,
        feature_columns=feature_column,
        id_column=id_column,
        text_column=text_column,
    )
    with working():
        made = write_noisy_copy(data, out, kind=kind, rate=rate, seed=seed, **o.parse_settings(setting))
    if as_json:
        print_json(made)
        return
    say(
        f"{percent(made['true_rate'])} of {made['n_samples']} labels are wrong now ({made['noise']}); "
        f"written to {made['out']}, the right labels to {made['truth']}"
    )
