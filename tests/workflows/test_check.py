"""`check` on a run and on its data gives the same gate, and decisions of people count in both."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean.arrays import Array
from eigenclean.detect import FINE
from eigenclean.detect.decisions import Decision
from eigenclean.errors import InvalidData
from eigenclean.patch import Patch
from eigenclean.verdict import Verdict
from eigenclean.workflows import CheckRequest, check_run, check_source
from eigenclean.workflows.check import is_run
from eigenclean.workflows.options import PatchFile


def write_patch(finished: Path, path: Path, decisions: dict[int, str], **fields: Any) -> PatchFile:
    """A patch that decides about these rows; relabelled ones get their right label."""
    verdict = Verdict.load(finished)
    data_hash = json.loads((finished / "summary.json").read_text())["data_hash"]
    records = [
        {
            "id": verdict.ids[row].item(),
            "decision": decision,
            "old": verdict.labels[row].item(),
            "new": int(row % 3) if decision == "relabel" else None,
            "data_hash": data_hash,
            **fields,
        }
        for row, decision in decisions.items()
    ]
    return PatchFile(Patch.from_records(records).save(path))


def test_only_a_folder_with_a_verdict_is_a_run(finished: Path, judged_data: Path, tmp_path: Path) -> None:
    assert is_run(finished) and is_run(str(finished))
    assert not is_run(tmp_path) and not is_run(judged_data) and not is_run("iris")


def test_a_run_and_its_source_give_the_same_gate(finished: Path, judged_data: Path) -> None:
    of_run = check_run(finished, CheckRequest(0.02)).as_dict()
    of_source = check_source(str(judged_data), CheckRequest(0.02, FINE(random_state=0))).as_dict()
    assert of_run.pop("name") == str(finished) and of_source.pop("name") == str(judged_data)
    assert of_run == of_source
    assert of_run["passed"] is False and of_run["n_samples"] == 240


def test_nothing_is_written(finished: Path, judged_data: Path) -> None:
    before = {path: path.read_bytes() for path in finished.iterdir()}
    check_run(finished, CheckRequest(0.02))
    check_source(str(judged_data), CheckRequest(0.02, FINE()))
    assert {path: path.read_bytes() for path in finished.iterdir()} == before


@pytest.mark.parametrize("budget", [1, 10, 100])
def test_a_decision_changes_who_is_named_and_not_whether_it_passes(finished: Path, budget: int) -> None:
    plain = check_run(finished, CheckRequest(0.02))
    decided = check_run(finished, CheckRequest(0.02, decision=Decision(budget=budget)))
    assert decided.n_flagged == budget
    assert (decided.noise, decided.low, decided.passed) == (plain.noise, plain.low, plain.passed)
    verdict = Verdict.load(finished)
    worst = np.lexsort((verdict.score, verdict.p_clean))[: min(budget, 5)]
    assert {suspect["id"] for suspect in decided.suspects} == {f"row{row}" for row in worst}


def test_confirmed_labels_count_as_right_and_removed_ones_not_at_all(finished: Path, tmp_path: Path) -> None:
    verdict = Verdict.load(finished)
    flagged = np.flatnonzero(verdict.flagged).tolist()
    kept, removed, unsure = flagged[:-6], flagged[-6:-2], flagged[-2:]
    decisions = dict.fromkeys(kept, "keep") | dict.fromkeys(removed, "remove") | dict.fromkeys(unsure, "unsure")
    patch = write_patch(finished, tmp_path / "patch.jsonl", decisions)
    gate = check_run(finished, CheckRequest(0.02, patch=patch))
    p_clean = verdict.p_clean.copy()
    p_clean[kept] = 1
    counted = np.delete(p_clean, removed)
    assert gate.n_samples == 240 - len(removed)
    assert gate.n_flagged == len(unsure)  # whoever is unsure has settled nothing
    assert gate.noise == pytest.approx(np.mean(1 - counted))
    assert {suspect["id"] for suspect in gate.suspects} == {f"row{row}" for row in unsure}


def test_a_corrected_source_passes(finished: Path, judged_data: Path, truth: Array, tmp_path: Path) -> None:
    wrong = np.flatnonzero(Verdict.load(finished).labels != truth).tolist()
    patch = write_patch(finished, tmp_path / "patch.jsonl", dict.fromkeys(wrong, "relabel"))
    before = check_source(str(judged_data), CheckRequest(0.05, FINE()))
    after = check_source(str(judged_data), CheckRequest(0.05, FINE(), patch=patch))
    assert not before.passed and after.passed
    assert after.noise < before.noise / 2


def test_a_patch_for_other_data_is_refused_unless_ids_are_enough(finished: Path, tmp_path: Path) -> None:
    row = int(np.flatnonzero(Verdict.load(finished).flagged)[0])
    other = write_patch(finished, tmp_path / "other.jsonl", {row: "keep"}, data_hash="0" * 16)
    with pytest.raises(InvalidData, match=r"not about the data .* --by-id"):
        check_run(finished, CheckRequest(0.02, patch=other))
    by_id = PatchFile(other.path, by_id=True)
    gate = check_run(finished, CheckRequest(0.02, patch=by_id))
    assert gate.n_flagged == Verdict.load(finished).n_flagged - 1


def test_a_patch_about_an_unknown_sample_is_refused(finished: Path, tmp_path: Path) -> None:
    patch = write_patch(finished, tmp_path / "patch.jsonl", {0: "keep"}, id="row999")
    with pytest.raises(InvalidData, match="no sample 'row999'"):
        check_run(finished, CheckRequest(0.02, patch=patch))
