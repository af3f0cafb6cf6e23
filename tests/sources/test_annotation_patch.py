"""Suspects go to Label Studio or Argilla, and what people answer there comes back as a patch."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean import Verdict
from eigenclean.cli.app import run as command
from eigenclean.errors import InvalidData
from eigenclean.patch import Patch
from eigenclean.sources.annotation_patch import patch_from_answers


def verdict(labels: Any = ("cat", "dog", "cat", "dog")) -> Verdict:
    given = np.array(labels)
    return Verdict(
        ids=np.array([10, 11, 12, 13]),
        labels=given,
        score=np.zeros(4),
        p_clean=np.array([0.1, 0.2, 0.3, 0.9]),
        flagged=np.array([True, True, True, False]),
        suggested=given[[1, 0, 1, 3]],
        suggested_confidence=np.ones(4),
        made_by={"method": "fine", "parameters": {}},
    )


def tasks(answers: dict[str, list[str]]) -> list[dict[str, Any]]:
    """As Label Studio exports them; people are numbered."""
    return [
        {
            "id": 900 + number,
            "data": {"text": "some text", "id": id, "given_label": "cat"},
            "annotations": [
                {
                    "completed_by": who,
                    "was_cancelled": label == "skipped",
                    "result": [
                        {"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": [label]}}
                    ],
                }
                for who, label in enumerate(labels, start=1)
            ],
        }
        for number, (id, labels) in enumerate(answers.items())
    ]


def written(folder: Path, content: Any) -> Path:
    (folder / "answers.json").write_text(json.dumps(content))
    return folder / "answers.json"


def test_answers_of_label_studio_are_decisions(tmp_path: Path) -> None:
    answers = {"12": ["dog"], "10": ["cat", "cat", "dog"], "11": ["cat", "dog"], "13": ["skipped"]}
    patch = patch_from_answers(written(tmp_path, tasks(answers)), verdict(), "0a1b")
    assert patch.ids.tolist() == [12, 10, 11]
    assert patch.decision.tolist() == ["relabel", "keep", "unsure"]
    assert patch.old.tolist() == ["cat", "cat", "dog"] and patch.new.tolist() == ["dog", "cat", "dog"]
    assert patch.reviewer.tolist() == ["1", "1, 2, 3", "1, 2"] and patch.data_hash == "0a1b"
    np.testing.assert_allclose(patch.score, [0.3, 0.1, 0.2])


def test_answers_of_argilla_are_decisions(tmp_path: Path) -> None:
    def record(id: str, *values: str | None) -> dict[str, Any]:
        given = [{"value": value, "user_id": "ada", "status": "submitted"} for value in values]
        return {"id": id, "fields": {"text": "t"}, "metadata": {}, "responses": {"label": given}}

    records = [record("11", "bird"), record("10", "dog"), record("12")]
    patch = patch_from_answers(written(tmp_path, records), verdict(), "0a1b")
    assert patch.ids.tolist() == [11, 10] and patch.new.tolist() == ["bird", "dog"]  # also a class that is new
    assert set(patch.reviewer.tolist()) == {"ada"}


def test_labels_that_are_numbers_come_back_as_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, tasks({"10": ["7"], "11": ["3"]}))
    patch = patch_from_answers(path, verdict((3, 7, 3, 7)), "0a1b")
    assert patch.new.tolist() == [7, 3] and patch.new.dtype.kind == "i"
    with pytest.raises(InvalidData, match="'seven' is none of the labels, which are numbers"):
        patch_from_answers(written(tmp_path, tasks({"10": ["seven"]})), verdict((3, 7, 3, 7)), "0a1b")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (tasks({"99": ["cat"]}), "ids are not in the run, such as '99'; was it exported from another run"),
        (tasks({"10": ["cat"]}) + tasks({"10": ["dog"]}), "several tasks with the id '10'"),
        (tasks({"10": []}), "no JSON export of Label Studio|nobody has chosen a label"),
        ([{"id": 1, "text": "t", "label": "cat"}], "choose the format JSON, not JSON-MIN"),
        ([{**tasks({"10": ["cat"]})[0], "data": {"text": "t"}}], "has no ids of samples"),
    ],
)
def test_other_files_are_refused_with_a_sentence(tmp_path: Path, content: Any, sentence: str) -> None:
    with pytest.raises(InvalidData, match=sentence):
        patch_from_answers(written(tmp_path, content), verdict(), "0a1b")


def test_the_way_there_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Export, an answer to every task, import, apply: the labels in the data are the answers."""
    rng = np.random.default_rng(0)
    right = np.arange(90) % 3
    labels = np.where(np.arange(90) % 15 == 4, (right + 1) % 3, right)
    names = np.array(["ant", "bee", "cow"])
    features = rng.normal(size=(90, 4)) + 6 * np.eye(3, 4)[right]
    data, out, export = (str(tmp_path / name) for name in ("data.npz", "run", "tasks.json"))
    np.savez(data, features=features, labels=names[labels], texts=np.array([f"t{i}" for i in range(90)]))
    assert command(["detect", data, "--out", out, "--method", "knn", "--no-report"]) == 0
    assert command(["export", out, "--to", "label-studio", "--out", export]) == 0
    exported = json.loads(Path(export).read_text())
    assert exported
    for task in exported:
        answer = {
            **task["predictions"][0]["result"][0],
            "value": {"choices": [names[right[int(task["data"]["id"])]]]},
        }
        task["annotations"] = [{"completed_by": 1, "was_cancelled": False, "result": [answer]}]
    answers, patch, fixed = (str(tmp_path / name) for name in ("answers.json", "patch.jsonl", "fixed.npz"))
    Path(answers).write_text(json.dumps(exported))
    capsys.readouterr()
    assert command(["patch", "import", out, answers, "--out", patch]) == 0
    said = capsys.readouterr()
    assert "written to" in said.out and f"Next: eigenclean patch diff {data} {patch}" in said.err
    assert len(Patch.load(patch)) == len(exported)
    assert command(["patch", "apply", data, patch, "--out", fixed]) == 0
    with np.load(fixed) as content:
        rows = [int(task["data"]["id"]) for task in exported]
        assert content["labels"][rows].tolist() == names[right[rows]].tolist()


def test_the_command_refuses_a_folder_without_a_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = written(tmp_path, tasks({"10": ["cat"]}))
    assert command(["patch", "import", str(tmp_path), str(answers), "--out", str(tmp_path / "p.jsonl")]) == 2
    assert "no verdict" in capsys.readouterr().err
    assert not (tmp_path / "p.jsonl").exists()
