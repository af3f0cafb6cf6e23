"""`eigenclean embed`: from images or texts to a file or folder of features."""

from pathlib import Path
from typing import Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import print_json, say, working
from eigenclean.cli.encoding import Embed
from eigenclean.cli.encoding import embed as embed_with
from eigenclean.errors import InvalidOption


def embed(
    source: o.SourceArgument,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="An .npz file, or a folder for shards of Arrow.", show_default=False),
    ],
    encoder: o.Encoder = None,
    device: o.Device = None,
    half: o.Half = False,
    batch: o.Batch = None,
    cache: o.Cache = None,
    no_cache: o.NoCache = False,
    strict: o.Strict = False,
    shard_rows: Annotated[int, typer.Option(help="Rows in each shard of a folder.")] = 65_536,
    labels: o.Labels = None,
    label_column: o.LabelColumn = None,
    id_column: o.IdColumn = None,
    text_column: o.TextColumn = None,
    image_column: o.ImageColumn = None,
    image_root: o.ImageRoot = None,
    as_json: o.Json = False,
) -> None:
    """Turn images or texts into features, for `detect` and everything else.

    What was embedded before is not embedded again, and a run that was stopped, or killed, goes on where it was.
    Files that cannot be read are named and left out.
    """
    from eigenclean.sources import open_source
    from eigenclean.sources.write import write_npz, write_shards

    if out.suffix not in ("", ".npz"):
        raise InvalidOption(f"embed: --out must be an .npz file or a folder, got {out}")
    if shard_rows < 1:
        raise InvalidOption(f"embed: --shard-rows must be at least 1, got {shard_rows}")
    data = open_source(
        source,
        labels=labels,
        label_column=label_column,
        id_column=id_column,
        text_column=text_column,
        image_column=image_column,
        image_root=image_root,
        raw=True,
    )
    with working():
        made = embed_with(data, Embed(encoder, device, half, batch, cache, not no_cache, strict))
        facts = {"out": str(out), "source": data.name, **made.facts(), "data_hash": made.data_hash()}
        if out.suffix == ".npz":
            write_npz(made, out)
        else:
            facts["shards"] = write_shards(made, out, facts=facts, shard_rows=shard_rows)
    if as_json:
        print_json(facts)
        return
    width = next(made.batches(1)).need("features", by="embed").shape[1]
    say(f"{len(made)} rows of {width} features written to {out}; {facts['n_skipped']} rows left out")
