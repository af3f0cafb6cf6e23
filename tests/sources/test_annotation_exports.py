"""Exports of Label Studio and Argilla are sources with several annotators."""

import json
from pathlib import Path
from typing import Any

import pytest

from eigenclean.errors import InvalidData
from eigenclean.sources import Source, open_source


def task(number: int, labels: dict[Any, str], *, question: str = "mood", **more: Any) -> dict[str, Any]:
    annotations = [
        {
            "id": 100 * number,
            "completed_by": who,
            "was_cancelled": False,
            "result": [
                {"from_name": question, "to_name": "text", "type": "choices", "value": {"choices": [label]}}
            ],
        }
        for who, label in labels.items()
    ]
    return {"id": number, "data": {"text": f"text {number}"}, "annotations": annotations, "meta": {}, **more}


def opened(folder: Path, tasks: list[dict[str, Any]], **options: Any) -> Source:
    (folder / "export.json").write_text(json.dumps(tasks))
    return open_source(folder / "export.json", need_features=False, **options)


def test_tasks_of_label_studio(tmp_path: Path) -> None:
    tasks = [task(1, {3: "good", 4: "good"}), task(2, {3: "bad", 5: "good", 4: "bad"}), task(3, {})]
    source = opened(tmp_path, tasks)
    assert source.labels.tolist() == ["good", "bad"] and source.ids.tolist() == [1, 2] and source.n_unlabelled == 1
    assert source.annotations is not None and source.annotations.names.tolist() == ["3", "4", "5"]
    assert source.texts is not None and list(source.texts) == ["text 1", "text 2"]


def test_cancelled_answers_do_not_count_and_people_have_addresses(tmp_path: Path) -> None:
    tasks = [task(i, {}) for i in range(2)]
    for each, other in zip(tasks, ("good", "bad"), strict=True):
        for name, label, cancelled in (("a@x", other, False), ("b@x", "bad", False), ("c@x", "odd", True)):
            answer = task(0, {1: label})["annotations"][0]
            each["annotations"].append(
                {**answer, "completed_by": {"id": 1, "email": name}, "was_cancelled": cancelled}
            )
    annotations = opened(tmp_path, tasks).annotations
    assert annotations is not None
    assert annotations.names.tolist() == ["a@x", "b@x"] and annotations.classes.tolist() == ["bad", "good"]


def test_records_of_argilla(tmp_path: Path) -> None:
    records = [
        {
            "id": f"r{i}",
            "fields": {"text": f"text {i}"},
            "metadata": {},
            "responses": {"label": [{"value": value, "user_id": who} for who, value in answers.items()]},
        }
        for i, answers in enumerate([{"u1": "yes", "u2": "yes"}, {"u1": "no", "u2": "yes"}, {"u2": "no"}])
    ]
    source = opened(tmp_path, records)
    assert source.annotations is not None and source.annotations.per_annotator.tolist() == [2, 3]
    assert source.ids.tolist() == ["r0", "r1", "r2"] and len(source) == 3


def test_one_annotator_gives_labels_like_any_others(tmp_path: Path) -> None:
    source = opened(tmp_path, [task(1, {3: "good"}), task(2, {3: "bad"})])
    assert source.annotations is None and source.labels.tolist() == ["good", "bad"]


def test_questions_are_chosen_by_name(tmp_path: Path) -> None:
    tasks = [task(i, {3: "good", 4: "good" if i else "bad"}) for i in range(3)]
    for each in tasks:
        each["annotations"] += task(0, {3: "cat", 4: "cat"}, question="animal")["annotations"]
    with pytest.raises(InvalidData, match="answers to 'mood', 'animal'; choose one of these with --label-column"):
        opened(tmp_path, tasks)
    annotations = opened(tmp_path, tasks, label_column="mood").annotations
    assert annotations is not None and annotations.classes.tolist() == ["bad", "good"]


def test_what_cannot_be_judged_gets_a_sentence(tmp_path: Path) -> None:
    several = task(1, {3: "good", 4: "bad"})
    several["annotations"][0]["result"][0]["value"]["choices"] = ["good", "bad"]
    with pytest.raises(InvalidData, match="task 0 has several choices at once"):
        opened(tmp_path, [several])
    empty = task(1, {3: "good"})
    empty["annotations"][0]["was_cancelled"] = True
    with pytest.raises(InvalidData, match="nobody has chosen a label in it yet"):
        opened(tmp_path, [empty])
