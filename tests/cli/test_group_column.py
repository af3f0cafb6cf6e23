"""`eigenclean detect --group-column`: groups are no features, and bad input is one sentence."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from eigenclean import Verdict, audit, open_source
from eigenclean.detect.judge.judge import Judge

Cli = Callable[..., Any]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 120)
    columns = {f"f{i}": rng.normal(size=120) + labels for i in range(3)}
    scene: list[int | None] = [*(np.arange(118) // 2).tolist(), None, None]
    path = tmp_path / "scenes.csv"
    pyarrow.csv.write_csv(pa.table({**columns, "scene": scene, "label": labels}), str(path))
    return path


def test_rows_of_a_scene_are_judged_by_other_scenes(cli: Cli, table: Path) -> None:
    out = table.parent / "run"
    ran = cli("detect", table, "--group-column", "scene", "--out", out, "--set", "n_repeats=1", "--no-report")
    assert ran.code == 0, ran.err
    source = open_source(table, group_column="scene")
    assert source.groups is not None and len(set(source.groups.tolist())) == 61
    assert source.features().shape == (120, 3) and source.evidence().groups is source.groups
    judged = Judge(n_repeats=1).fit_judge(source.features(), source.labels, groups=source.groups)
    np.testing.assert_allclose(Verdict.load(out).p_clean, judged.p_clean)
    assert json.loads((out / "summary.json").read_text())["source"]["group_column"] == "scene"
    result = audit(source.features(), label=source.labels, groups=source.groups, settings={"n_repeats": 1})
    np.testing.assert_allclose(result.verdict.p_clean, judged.p_clean)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--group-column", "sceen"), "did you mean 'scene'?"),
        (
            ("--group-column", "scene", "--feature-column", "scene"),
            "cannot be a feature and label, id, text or group",
        ),
        (("--group-column", "scene", "--method", "fine"), "by the default method, not by fine"),
        (("--group-column", "scene", "--engine", "stream"), "groups need all rows in memory"),
        (("--group-column", "scene", "--self-test"), "leave one out"),
        (("--group-column", "label", "--label-column", "label"), "at least 5 groups"),
    ],
)
def test_bad_input_gets_one_sentence(cli: Cli, table: Path, options: tuple[str, ...], sentence: str) -> None:
    ran = cli("detect", table, *options, "--out", table.parent / "run")
    assert ran.code == 2 and sentence in ran.err, ran.err
    assert not (table.parent / "run").exists()


def test_a_class_in_one_group_is_said(cli: Cli, table: Path) -> None:
    text = table.read_text().splitlines()
    head, rows = text[0], [row.rsplit(",", 2) for row in text[1:]]
    first = next(i for i, row in enumerate(rows) if row[1] == "0")
    lines = [",".join([row[0], row[1], "9" if i in (first, first + 1) else row[2]]) for i, row in enumerate(rows)]
    table.write_text("\n".join([head, *lines]) + "\n")
    ran = cli("detect", table, "--group-column", "scene", "--out", table.parent / "run", "--set", "n_repeats=1")
    assert "all rows of class 9 are in one group" in ran.err
