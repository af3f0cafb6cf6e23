"""`eigenclean check`: a gate that data with too many wrong labels do not pass."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, mention, percent, print_json, say, table, working
from eigenclean.errors import InvalidData, InvalidOption

if TYPE_CHECKING:
    from eigenclean.workflows.gate import Gate

FAILED = 1


def check(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE|DIR...",
            help="Data (as for detect), or folders that `eigenclean detect` wrote; several are checked in turn.",
            show_default=False,
        ),
    ],
    max_noise: Annotated[
        float, typer.Option(help="Fail when the share of wrong labels is nearly certainly above this.")
    ] = 0.02,
    max_false_flags: Annotated[
        float | None, typer.Option(help="Name suspects such that at most this share of them is expected wrong.")
    ] = None,
    method: Annotated[str | None, typer.Option(help="Detector; see `eigenclean list detectors`.")] = None,
    patch: o.PatchOption = None,
    by_id: o.ById = False,
    junit: Annotated[Path | None, typer.Option(help="Also write JUnit XML to this file.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Also write Markdown to this file.")] = None,
    labels: o.Labels = None,
    label_column: o.LabelColumn = None,
    feature_column: o.FeatureColumns = None,
    id_column: o.IdColumn = None,
    text_column: o.TextColumn = None,
    image_column: o.ImageColumn = None,
    encoder: o.Encoder = None,
    setting: o.Set = None,
    seed: o.Seed = 0,
    as_json: o.Json = False,
) -> None:
    """Exit with 1 when too many labels are wrong, with 0 when not, with 2 when it cannot be told.

    What counts is the lower end of the interval of the estimated noise rate: the gate closes when there is hardly
    any doubt. Labels that people have confirmed (--patch) count as right.
    """
    from eigenclean.detect.decisions import Decision
    from eigenclean.files import write_text
    from eigenclean.workflows.gate import check_limit, to_junit, to_markdown

    check_limit(max_noise)
    if len(sources) > 1 and (patch is not None or labels is not None):
        raise InvalidOption("--patch and --labels are about one source: check one at a time")
    runs = [(Path(source) / "verdict.parquet").is_file() for source in sources]
    if all(runs) and (method is not None or setting):
        raise InvalidOption("a folder that detect wrote has been judged already: leave out --method and --set")
    judge = None if all(runs) else _detector(method, setting, seed)
    rule = None if max_false_flags is None else Decision(max_false_flags=max_false_flags)
    columns = {
        "label_column": label_column,
        "feature_columns": feature_column,
        "id_column": id_column,
        "text_column": text_column,
        "image_column": image_column,
    }
    with working():
        gates = [
            _run_gate(Path(source), max_noise, rule, patch, by_id)
            if is_run
            else _source_gate(source, max_noise, rule, patch, by_id, judge, labels, columns, encoder)
            for source, is_run in zip(sources, runs, strict=True)
        ]
    if junit is not None:
        write_text(junit, to_junit(gates))
    if markdown is not None:
        write_text(markdown, to_markdown(gates))
    if as_json:
        print_json([gate.as_dict() for gate in gates] if len(gates) > 1 else gates[0].as_dict())
    else:
        for gate in gates:
            _print(gate)
    if not all(gate.passed for gate in gates):
        raise typer.Exit(FAILED)


def _detector(method: str | None, setting: list[str] | None, seed: int) -> Any:
    from eigenclean.detect.options import build_detector

    return build_detector(method, o.parse_settings(setting), seed=seed)


def _source_gate(
    source: str,
    max_noise: float,
    rule: Any,
    patch: Path | None,
    by_id: bool,
    judge: Any,
    labels: Path | None,
    columns: dict[str, Any],
    encoder: str | None,
) -> "Gate":
    from eigenclean.cli.encoding import Embed, embed
    from eigenclean.sources import open_source
    from eigenclean.workflows.gate import Gate

    data = open_source(source, labels=labels, **columns, raw=encoder is not None)
    masks: dict[str, Any] = {}
    if patch is not None:
        decisions = o.read_decisions(data, patch, by_id=by_id)
        data = data.relabelled(decisions.labels)
        masks = {"settled": decisions.verified, "removed": decisions.removed}
    how = Embed(encoder)
    if how.wanted_for(data):
        data = embedded = embed(data, how)
        masks = {name: mask[embedded.rows] for name, mask in masks.items()}
    features = data.features()
    verdict = judge.fit_judge(features, data.labels, ids=data.ids, decision=rule)
    return Gate.of(verdict, source, max_noise, **masks)


def _run_gate(run: Path, max_noise: float, rule: Any, patch: Path | None, by_id: bool) -> "Gate":
    from eigenclean.patch import Patch
    from eigenclean.verdict import Verdict
    from eigenclean.workflows.gate import Gate

    verdict = Verdict.load(run)
    masks = {} if patch is None else _masks(verdict, Patch.load(patch), run, patch, by_id)
    flagged = None if rule is None else rule.flags(verdict.p_clean, verdict.score)
    return Gate.of(verdict, str(run), max_noise, flagged=flagged, **masks)


def _masks(verdict: Any, decisions: Any, run: Path, patch: Path, by_id: bool) -> dict[str, Any]:
    """Which rows of the run people have settled or removed."""
    import numpy as np

    from eigenclean.patch import KEEP, RELABEL, REMOVE

    known = json.loads((run / "summary.json").read_text(encoding="utf-8")).get("data_hash")
    unknown = decisions.ids[~np.isin(decisions.ids, verdict.ids)]
    if not by_id and known != decisions.data_hash:
        raise InvalidData(
            f"{run} is not about the data that {patch} was made for (data hash {known}, expected "
            f"{decisions.data_hash}); if equal ids are enough, add --by-id"
        )
    if len(unknown):
        raise InvalidData(f"{run} has no sample {unknown[0].item()!r}, about which {patch} decides")
    return {
        "settled": np.isin(verdict.ids, decisions.ids[decisions.is_(KEEP) | decisions.is_(RELABEL)]),
        "removed": np.isin(verdict.ids, decisions.ids[decisions.is_(REMOVE)]),
    }


def _print(gate: "Gate") -> None:
    say(gate.sentence)
    if gate.passed:
        return
    shown = table(None, "class", "labels", "estimated noise", "lower end")
    for row in gate.classes:
        shown.add_row(str(row["label"])[:60], str(row["n_samples"]), percent(row["noise"]), percent(row["low"]))
    console.print(shown, markup=False)
    say(f"{gate.n_flagged} labels look wrong, the worst:")
    worst = table(None, "id", "given", "suggested", "P(right)")
    for one in gate.suspects:
        suggested = "–" if one["suggested_label"] is None else str(one["suggested_label"])
        worst.add_row(
            str(one["id"])[:60], str(one["given_label"])[:40], suggested[:40], f"{one['label_score']:.3f}"
        )
    console.print(worst, markup=False)
    mention("look at them with `eigenclean detect` and `eigenclean review`")
