"""Decisions of people in `eigenclean detect`: where they are, and the rows that they are about."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from eigenclean.detect import Detector
from eigenclean.detect.judge.judge import Judge
from eigenclean.errors import EigencleanError, InvalidData, InvalidOption
from eigenclean.evidence import VerifiedLabels
from eigenclean.patch import Patch
from eigenclean.review.past_decisions import PastDecision, past_decisions
from eigenclean.sources import Source
from eigenclean.sources.relabel.removal import has_removals, is_counted
from eigenclean.workflows.detection.carried import carried_decisions
from eigenclean.workflows.options import Notify

MAX_NOTES = 100  # in a summary


class KnownDecisions(NamedTuple):
    """What people decided about the rows, and which of the decisions are not of the review of the run itself."""

    verified: VerifiedLabels
    carried: Sequence[PastDecision] = ()


def check_decisions(detectors: Sequence[Detector], *, judges_once: bool, has_annotators: bool) -> None:
    """Raise `InvalidOption` for options that have no meaning with ``--decisions``."""
    if not judges_once:
        raise InvalidOption("--self-test and --method auto judge without decisions: leave one out")
    if has_annotators:
        raise InvalidOption("--decisions are about one label per row: leave out the annotators, or the decisions")
    if not isinstance(detectors[0], Judge):
        raise InvalidOption(
            f"the default method learns from decisions, not {detectors[0].name}: leave out --method"
        )


def load_decisions(path: Path, *, data_hash: str | None = None) -> list[PastDecision]:
    """The decisions in the folder of a run, or in a patch; with ``data_hash``, those about exactly these data.

    A run has those of its review, and others that it was given when it was judged; the review comes first.
    """
    if path.is_dir():
        rows = past_decisions(path, data_hash=data_hash)
        rows += _given_before(path, data_hash, rows)
        if not rows:
            raise InvalidData(f"{path} has no decisions of people; review it first with `eigenclean review {path}`")
        return rows
    patch = Patch.load(path)
    if data_hash not in (None, patch.data_hash):
        return []
    columns = (patch.ids, patch.decision, patch.old, patch.new, patch.reviewer, patch.reason)
    return [PastDecision(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def known_decisions(given: Path | None, folder: Path, data: Source, *, notify: Notify) -> KnownDecisions | None:
    """What people decided about these rows: in the run or patch that was given, else in the folder of the results.

    Decisions are found again by id and label, so that the data may have been patched, moved or extended since.
    """
    data_hash = _hash_of_counted_rows(data)
    try:
        if given is None or _is_same(given, folder):
            known = _decisions_of(folder, data, data_hash)
        else:
            rows = load_decisions(given, data_hash=data_hash)
            verified = _match(data, rows, f"the decisions of {given}")
            known = KnownDecisions(replace(verified, n_elsewhere=int(verified.is_decided.sum())), rows)
    except EigencleanError as error:
        if given is not None:
            raise
        notify(f"decisions are left out: {error}")
        return None
    if not known.verified.is_decided.any():
        if given is None:
            return None
        raise _about_other_data(given, data, known.verified, data_hash)
    facts = decision_facts(known.verified, data)
    notify(
        f"{facts['n']} decision{'s' * (facts['n'] != 1)} of people count"
        f"{'s' * (facts['n'] == 1)}: {facts['confirmed']} confirmed, {facts['corrected']} corrected, "
        f"{facts['removed']} removed"
        + (f"; {facts['unmatched']} do not fit these data" if facts["unmatched"] else "")
    )
    return known


def _is_same(given: Path, folder: Path) -> bool:
    return given.is_dir() and folder.is_dir() and given.resolve() == folder.resolve()


def _decisions_of(folder: Path, data: Source, data_hash: str | None) -> KnownDecisions:
    rows = past_decisions(folder, data_hash=data_hash)
    carried = _given_before(folder, data_hash, rows)
    verified = _match(data, [*rows, *carried], f"the decisions in {folder}")
    if carried:
        reviewed = _match(data, rows, f"the decisions in {folder}").is_decided
        verified = replace(verified, n_elsewhere=int((verified.is_decided & ~reviewed).sum()))
    return KnownDecisions(verified, carried)


def _given_before(folder: Path, data_hash: str | None, rows: Sequence[PastDecision]) -> list[PastDecision]:
    """Decisions that the run in this folder was given, about ids about which its review has none."""
    path = carried_decisions(folder)
    if path is None:
        return []
    decided = {str(row.id) for row in rows}
    return [row for row in load_decisions(path, data_hash=data_hash) if str(row.id) not in decided]


def _about_other_data(given: Path, data: Source, verified: VerifiedLabels, data_hash: str | None) -> InvalidData:
    if data_hash is not None:
        return InvalidData(
            f"no decision of {given} is about {data.name} now: rows were taken out of it, and rows without "
            "ids are numbered anew"
        )
    return InvalidData(
        f"none of the {verified.n_unmatched} decisions of {given} is about these data: "
        "their ids are not there, or have other labels"
    )


def warn_of_unused(folder: Path, method: str, *, notify: Notify) -> None:
    """Say so when there are decisions in the folder of the results, and the method has no use for them."""
    try:
        n = len(load_decisions(folder)) if folder.is_dir() else 0
    except EigencleanError:
        return
    if n:
        notify(
            f"{n} decision{'s' * (n != 1)} of people in {folder} are left out: {method} judges without; "
            "the default method uses them"
        )


def _match(data: Source, rows: Sequence[PastDecision], by: str) -> VerifiedLabels:
    verified = VerifiedLabels.match(data.ids, data.labels, [row[:4] for row in rows], by=by)
    ids = {str(id) for id in data.ids[verified.is_decided].tolist()}
    notes = (row for row in rows if row.note and str(row.id) in ids)
    return replace(
        verified, notes=tuple({key: str(value) for key, value in row._asdict().items()} for row in notes)
    )


def _hash_of_counted_rows(data: Source) -> str | None:
    """The hash of the data if ids are numbers of rows, and rows were taken out: earlier numbers are others now."""
    if is_counted(data.ids) and any(has_removals(Path(file)) for file in data.files):
        return data.data_hash()
    return None


def decision_facts(verified: VerifiedLabels, data: Source) -> dict[str, Any]:
    """The entry ``decisions`` of a summary.

    Labels that were wrong and are corrected in the data are among the confirmed, and counted as ``applied``. With
    the ``ids`` a review does not ask for the same labels again.
    """
    is_given = verified.labels == data.labels
    return {
        "n": int(verified.is_decided.sum()),
        "confirmed": int((verified.is_known & is_given).sum()),
        "corrected": int((verified.is_known & ~is_given).sum()),
        "removed": int(verified.is_removed.sum()),
        "unmatched": verified.n_unmatched,
        **({"applied": verified.n_applied} if verified.n_applied else {}),
        **({"given": verified.n_elsewhere} if verified.n_elsewhere else {}),
        **({"notes": list(verified.notes[:MAX_NOTES])} if verified.notes else {}),
        "ids": data.ids[verified.is_decided].tolist(),
    }
