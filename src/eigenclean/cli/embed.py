"""`eigenclean embed`: from images or texts to a file or folder of features."""

from pathlib import Path
from typing import Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import mention, print_json, say, working
from eigenclean.cli.groups import with_groups
from eigenclean.cli.hints.next_steps import say_next
from eigenclean.cli.hints.output_files import check_output_file
from eigenclean.errors import InvalidOption


@with_groups
def embed(
    *,
    source: o.SourceArgument,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="An .npz file, or a folder for shards of Arrow.", show_default=False),
    ],
    encoding: o.EncoderOptions,
    shard_rows: Annotated[int, typer.Option(help="Rows in each shard of a folder.")] = 65_536,
    columns: o.RawTableOptions,
    as_json: o.Json = False,
) -> None:
    """Turn images or texts into features, for `detect` and everything else.

    What was embedded before is not embedded again, and a run that was stopped, or killed, goes on where it was.
    Files that cannot be read are named and left out.
    """
    from eigenclean.sources import write_npz, write_shards
    from eigenclean.workflows.embedding import embed as embed_source
    from eigenclean.workflows.options import link_facts

    if out.suffix not in ("", ".npz"):
        raise InvalidOption(f"embed: --out must be an .npz file or a folder, got {out}")
    if shard_rows < 1:
        raise InvalidOption(f"embed: --shard-rows must be at least 1, got {shard_rows}")
    check_output_file(out, source, columns.labels)
    data = columns.source_options().open(source, raw=True, notify=mention)
    with working():
        embedded = embed_source(data, encoding.embedding_options(), notify=mention)
        facts = {"out": str(out), "source": data.name, **embedded.facts(), "data_hash": embedded.data_hash()}
        facts |= link_facts(data)
        if out.suffix == ".npz":
            write_npz(embedded, out)
        else:
            facts["shards"] = write_shards(embedded, out, facts=facts, shard_rows=shard_rows)
    if as_json:
        print_json(facts)
        return
    width = next(embedded.batches(1)).need("features", by="embed").shape[1]
    say(f"{len(embedded)} rows of {width} features written to {out}; {facts['n_skipped']} rows left out")
    say_next("eigenclean", "detect", out, "--out", "run")
