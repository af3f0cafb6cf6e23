"""A verdict as a plain dictionary: every number and sentence of the report, ready for JSON."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Floats
from eigenclean.errors import InvalidData
from eigenclean.metrics.calibration import Reliability
from eigenclean.metrics.certainty import CERTAINTY_BANDS, count_by_certainty
from eigenclean.metrics.noise_rate import noise_rate_interval, noise_rate_intervals
from eigenclean.report.confusion import confusion
from eigenclean.report.formatting import count, in_ten, percent, plain, plural, probability, setting
from eigenclean.report.histograms import histograms
from eigenclean.report.label_transitions import transition
from eigenclean.report.measured import finite, measured
from eigenclean.report.names import Names
from eigenclean.report.plane import Features, plane
from eigenclean.report.thumbnails import thumbnails
from eigenclean.verdict import Verdict

MOST_SUSPECTS = 60
MOST_CLASSES = 500
_RUN = ("source", "encoder", "skipped", "created", "seconds", "version", "data_hash", "command")


def summarize(
    verdict: Verdict,
    *,
    features: Features | None = None,
    images: Sequence[Any] | Array | None = None,
    texts: Sequence[Any] | Array | None = None,
    run: Mapping[str, Any] | None = None,
    quality: Mapping[str, Any] | None = None,
    reliability: Reliability | None = None,
) -> dict[str, Any]:
    r"""All that the report says about ``verdict``, as a dictionary of plain values.

    Args:
        verdict: what a detector thinks of every label.
        features: one row per label, for the map, or a function that fetches some rows; left out, there is no map.
        images: one picture per label, for the gallery.
        texts: one text per label, for the gallery.
        run: facts of the run: ``source``, ``command``, ``seconds``, ``version``, ``data_hash``, ``created``.
        quality: measured quality where the truth is known, as `eigenclean.metrics` gives it.
        reliability: said against observed probabilities where the truth is known; left out, they are not drawn.

    >>> verdict = Verdict(
    ...     ids=np.arange(3), labels=np.array([0, 0, 1]), score=np.array([0.9, 0.2, 0.8]),
    ...     p_clean=np.array([0.99, 0.03, 0.95]), flagged=np.array([False, True, False]),
    ...     suggested=np.array([0, 1, 1]), suggested_confidence=np.array([0.99, 0.9, 0.95]), made_by="me",
    ... )
    >>> summarize(verdict)["headline"]["sentence"].replace("\u202f", " ")
    '1 of 3 labels looks wrong\xa0— about 33 %'
    """
    for what, values in (("images", images), ("texts", texts)):
        if values is not None and len(values) != len(verdict):
            raise InvalidData(f"report: {what} must be one per label, got {len(values)} for {len(verdict)} labels")
    names = Names.of(verdict)
    made_by: Mapping[str, Any] = verdict.made_by if isinstance(verdict.made_by, Mapping) else {}
    p_wrong = 1.0 - np.nan_to_num(np.asarray(verdict.p_clean, dtype=np.float64), nan=0.5)
    return {
        "headline": _headline(verdict, names, p_wrong),
        "bands": _bands(p_wrong[names.flagged]),
        "classes": _classes(names, p_wrong),
        "confusion": confusion(names),
        "transition": transition(names, made_by.get("transition")),
        "histograms": histograms(verdict, names, made_by.get("mixture")),
        "plane": _map(verdict, names, features),
        "suspects": _suspects(verdict, names, p_wrong, images, texts),
        "measured": measured(verdict, quality, reliability),
        "run": _run(made_by, run),
    }


def _headline(verdict: Verdict, names: Names, p_wrong: Floats) -> dict[str, Any]:
    n, n_flagged = len(verdict), len(names.flagged)
    right = float(p_wrong[names.flagged].sum())
    missed = float(p_wrong.sum()) - right
    return {
        "n_samples": n,
        "n_classes": names.n_given,
        "n_flagged": n_flagged,
        "flagged_share": n_flagged / n if n else 0.0,
        "noise_rate": float(p_wrong.mean()) if n else 0.0,
        "noise_interval": list(noise_rate_interval(1.0 - p_wrong)),
        "expected_right": right,
        "expected_missed": missed,
        "sentence": _found(n, n_flagged),
        "certainty": _how_sure(n, n_flagged, right, missed),
    }


def _found(n: int, n_flagged: int) -> str:
    if n == 0:
        return "There are no labels to judge"
    if n_flagged == 0:
        return f"None of the {count(n)} labels looks wrong"
    if n_flagged == n:
        return f"All {count(n)} labels look wrong"
    verb = "looks" if n_flagged == 1 else "look"
    return f"{count(n_flagged)} of {count(n)} labels {verb} wrong\u00a0— about {percent(n_flagged / n)}"


def _how_sure(n: int, n_flagged: int, right: float, missed: float) -> str:
    if n == 0:
        return ""
    if n_flagged == 0:
        if missed < 0.5:
            return "The detector does not expect a single wrong label."
        return f"By its own estimate, about {plural(round(missed), 'wrong label')} may still hide among them."
    if n_flagged == 1:
        sure = f"The detector is {probability(right)} sure of this flag"
    else:
        sure = f"By the detector’s own estimate, {in_ten(right / n_flagged)} of these flags should be right"
    hidden = round(missed)
    if hidden == 0:
        return f"{sure}."
    return f"{sure}, and about {plural(hidden, 'more wrong label')} may hide among the rest."


def _bands(p_wrong: Floats) -> list[dict[str, Any]]:
    counts = count_by_certainty(p_wrong)
    return [
        {"name": band.name, "rule": band.rule, "count": n} for band, n in zip(CERTAINTY_BANDS, counts, strict=True)
    ]


def _classes(names: Names, p_wrong: Floats) -> dict[str, Any]:
    """The classes by share of flagged labels, the noisiest first."""
    sizes, flagged = names.sizes(), names.sizes(names.flagged)
    wrong = names.sizes(weights=p_wrong)
    low, high = noise_rate_intervals(1.0 - p_wrong, names.given, names.n_given)
    share = flagged / np.maximum(sizes, 1)
    order = np.lexsort((np.arange(names.n_given), -flagged, -share))
    return {
        "rows": [
            {
                "label": names.text[k],
                "n_samples": int(sizes[k]),
                "n_flagged": int(flagged[k]),
                "flagged_share": float(share[k]),
                "noise_rate": float(wrong[k] / sizes[k]),
                "noise_interval": [float(low[k]), float(high[k])],
            }
            for k in order[:MOST_CLASSES].tolist()
        ],
        "n_hidden": max(0, names.n_given - MOST_CLASSES),
        "n_untouched": int(np.count_nonzero(flagged == 0)),
    }


def _map(verdict: Verdict, names: Names, features: Features | None) -> dict[str, Any] | None:
    picture = plane(verdict, names, features)
    if picture is not None:
        picture["ids"] = [plain(verdict.ids[row].item(), 80) for row in picture.pop("row")]
        picture["labels"] = {str(k): names.text[k] for k in sorted({*picture["given"], *picture["suggested"]})}
        picture["n_classes"] = names.n_given
    return picture


def _suspects(
    verdict: Verdict,
    names: Names,
    p_wrong: Floats,
    images: Sequence[Any] | Array | None,
    texts: Sequence[Any] | Array | None,
) -> dict[str, Any]:
    rows = verdict.suspects(MOST_SUSPECTS)
    suggested = names.suggested[np.searchsorted(names.flagged, rows)].tolist()
    pictures = thumbnails(images, rows) if images is not None else [None] * len(rows)
    cards = [
        {
            "id": plain(verdict.ids[row].item()),
            "given": names.text[names.given[row]],
            "given_code": int(names.given[row]),
            "suggested": names.text[proposal] if proposal != names.given[row] else None,
            "p_wrong": float(p_wrong[row]),
            "score": finite(verdict.score[row]),
            "confidence": finite(verdict.suggested_confidence[row]),
            "image": picture,
            "text": plain(texts[row], 280) if texts is not None else None,
        }
        for row, proposal, picture in zip(rows.tolist(), suggested, pictures, strict=True)
    ]
    shown = sorted({(card["given_code"], card["given"]) for card in cards})
    return {
        "cards": cards,
        "classes": [{"code": code, "label": label} for code, label in shown],
        "n_flagged": len(names.flagged),
        "kind": "cards" if images is not None or texts is not None else "table",
    }


def _run(made_by: Mapping[str, Any], run: Mapping[str, Any] | None) -> dict[str, Any]:
    facts = {key: (run or {}).get(key) for key in _RUN}
    if isinstance(facts["command"], list | tuple):
        facts["command"] = shlex.join(map(str, facts["command"]))
    notes = made_by.get("notes") or []
    return {
        **{key: None if value is None else plain(value, 2000) for key, value in facts.items()},
        "seconds": finite(facts["seconds"]),
        "method": plain(made_by.get("method", "unknown")),
        "parameters": {plain(key): setting(value) for key, value in (made_by.get("parameters") or {}).items()},
        "threshold": finite(made_by.get("threshold")),
        "notes": [plain(note, 1000) for note in ([notes] if isinstance(notes, str) else notes)],
    }
