"""The tools of an agent: what they answer, what they may read, and that they never write to data."""

import os
from pathlib import Path

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.patch import Patch
from eigenclean.workflows.agents.tools import PROPOSAL, REVIEWER, AgentTools

N = 120


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> AgentTools:
    """Tools on a table in which the labels of the first four rows are wrong, audited as "first"."""
    folder = tmp_path_factory.mktemp("agents")
    codes = np.arange(N) % 2
    columns = np.random.default_rng(0).normal(size=(N, 2)) + 6 * np.eye(2)[codes]
    labels = np.where(np.arange(N) < 4, 1 - codes, codes)
    frame = pd.DataFrame(columns, columns=["width", "height"]).assign(species=np.array(["ant", "bee"])[labels])
    (folder / "data").mkdir()
    frame.to_csv(folder / "data" / "x.csv", index=False)
    (folder / "secret.csv").write_text("a,label\n1,x\n2,y\n")
    agent_tools = AgentTools(folder / "data", folder / "runs")
    answer = agent_tools.audit("x.csv", "first", label_column="species")
    assert answer["n_flagged"] == 4
    assert {record["id"] for record in answer["worst_suspects"][:4]} == {0, 1, 2, 3}
    assert {"cautions", "notes", "report", "classes"} <= set(answer)
    return agent_tools


def test_suspects_come_with_their_values(tools: AgentTools) -> None:
    answer = tools.list_suspects("first", most=2, start=1)
    assert answer["n_flagged"] == 4 and len(answer["suspects"]) == 2
    assert {"id", "given_label", "suggested_label", "label_score", "width"} <= set(answer["suspects"][0])
    assert tools.list_audits() == {"first": 4}
    with pytest.raises(InvalidOption, match="most must be"):
        tools.list_suspects("first", most=1000)


def test_a_suspect_is_explained(tools: AgentTools) -> None:
    answer = tools.explain_suspect("first", "0")
    assert (answer["given_label"], answer["suggested_label"]) == ("bee", "ant")
    assert set(answer["alignment_with_classes"]) == {"ant", "bee"}
    assert set(answer["values"]) == {"width", "height"}
    assert len(answer["nearest_with_the_suggested_label"]) > 0
    with pytest.raises(InvalidData, match="no suspect"):
        tools.explain_suspect("first", "77")


def test_a_patch_is_a_proposal_and_the_data_stay_as_they_are(tools: AgentTools) -> None:
    before = (tools.root / "x.csv").read_bytes()
    answer = tools.propose("first", min_confidence=0.5)
    patch = Patch.load(answer["patch"])
    assert set(patch.ids.tolist()) == {0, 1, 2, 3} and set(patch.reviewer) == {REVIEWER}
    assert "eigenclean patch diff" in answer["next"]
    answer = tools.propose("first", labels={"0": "ant", "5": "bee"}, reason="seen")
    patch = Patch.load(answer["patch"])
    assert patch.ids.tolist() == [0] and patch.reason.tolist() == ["seen"]  # row 5 is a bee already
    assert Path(answer["patch"]).name == PROPOSAL
    assert (tools.root / "x.csv").read_bytes() == before
    assert sorted(os.listdir(tools.root)) == ["x.csv"]


@pytest.mark.parametrize(
    ("labels", "words"), [({"777": "ant"}, "no sample '777'"), ({"0": "wasp"}, "'wasp' is no class")]
)
def test_a_proposal_about_nothing_is_one_sentence(tools: AgentTools, labels: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidData, match=words):
        tools.propose("first", labels=labels)
    with pytest.raises(InvalidOption, match="either"):
        tools.propose("first")


def test_the_gate(tools: AgentTools) -> None:
    assert tools.check(run="first", max_noise=0.5)["passed"] is True
    assert tools.check(run="first", max_noise=0.0)["passed"] is False
    with pytest.raises(InvalidOption, match="either"):
        tools.check()


@pytest.mark.parametrize("source", ["../secret.csv", "/etc/passwd", "link.csv"])
def test_nothing_outside_the_folder_is_read(tools: AgentTools, source: str) -> None:
    link = tools.root / "link.csv"
    link.symlink_to(tools.root.parent / "secret.csv")
    try:
        with pytest.raises(InvalidData, match="data must be inside"):
            tools.audit(source, "second")
        with pytest.raises(InvalidData, match="data must be inside"):
            tools.check(source)
    finally:
        link.unlink()
    assert not (tools.runs / "second").exists()


@pytest.mark.parametrize("run", ["", "..", "a/b", "../data", "x" * 200, "a b"])
def test_nothing_outside_the_folder_of_results_is_written(tools: AgentTools, run: str) -> None:
    with pytest.raises(InvalidOption, match="letters, digits"):
        tools.audit("x.csv", run)
    with pytest.raises(InvalidOption, match="letters, digits"):
        tools.propose(run, min_confidence=0.5)


def test_an_audit_that_is_not_there(tools: AgentTools) -> None:
    with pytest.raises(InvalidData, match="no audit 'third'"):
        tools.list_suspects("third")
