"""Judging again from the page: the verdict knows the decisions, none is lost, and a stale page decides nothing."""

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, expect

from eigenclean.detect.judge.judge import Judge
from eigenclean.detect.judge.verified import judge_verified
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.evidence import VerifiedLabels
from eigenclean.patch import Patch
from eigenclean.review import Review
from eigenclean.review.actions.again import JudgingAgain
from eigenclean.review.app import make_app
from eigenclean.review.guard import Guard
from eigenclean.review.order import MIXED
from eigenclean.review.serve import listen, make_server
from eigenclean.review.store import KEEP, Change
from eigenclean.verdict import Verdict
from eigenclean.workflows import DetectRequest, run_detect
from eigenclean.workflows.detect import MethodOptions
from eigenclean.workflows.review import judged_again
from eigenclean.workflows.reviewing.judge_again import judge_again


@pytest.fixture(scope="module")
def judged_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run by one cheap view; not to be changed."""
    folder = tmp_path_factory.mktemp("small")
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    features = rng.normal(size=(300, 5)) + 2.5 * np.eye(5)[truth]
    given = np.where(rng.random(300) < 0.15, (truth + 1) % 3, truth)
    np.savez(folder / "rows.npz", features=features, labels=given)
    method = MethodOptions(settings={"views": "linear", "n_repeats": 1})
    run_detect(DetectRequest(str(folder / "rows.npz"), folder / "run", method))
    return folder / "run"


@pytest.fixture
def small(judged_run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(judged_run, tmp_path / "run"))


@pytest.fixture
def review(small: Path) -> Iterator[Review]:
    opened = Review.open(small, order=MIXED)
    yield opened
    opened.close()


def decide(review: Review, n: int) -> None:
    suspects = review.suspects
    for item in range(n):
        given = suspects.labels[suspects.given[item]]
        review.store.record([Change(suspects.ids[item], given, KEEP)], reviewer="Ada", action=str(item))


def test_the_verdict_knows_the_decisions_afterwards(review: Review, small: Path) -> None:
    with pytest.raises(InvalidData, match="nothing was decided"):
        judge_again(review)
    decide(review, 4)
    assert review.n_since_verdict() == 4
    before = json.loads((small / "summary.json").read_text())
    after = judged_again(review)
    assert after.n_since_verdict() == 0 and after.n_known == 4 and after.suspects.order == MIXED
    summary = json.loads((small / "summary.json").read_text())
    assert summary["decisions"]["confirmed"] == 4 and summary["parameters"] == before["parameters"]
    assert summary["source"] == before["source"] and summary["data_hash"] == before["data_hash"]
    assert Verdict.load(small).p_clean[review.suspects.rows[:4]].tolist() == [1.0] * 4
    assert len(after.store.history()) == 4 and after.patch().decision.tolist() == ["keep"] * 4
    assert "What people decided" in (small / "report.html").read_text()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"method": "fine"}, "learns from decisions, not fine"),
        ({"pred_probs": {"name": "x"}}, "probabilities of a model: repeat its"),
        ({"decision": {"rule": "__class__"}}, "which labels are flagged"),
        ({"parameters": {"nonsense": 1}}, "nonsense"),
    ],
)
def test_what_a_run_cannot_do_again(review: Review, small: Path, change: dict[str, Any], sentence: str) -> None:
    decide(review, 1)
    summary = json.loads((small / "summary.json").read_text())
    (small / "summary.json").write_text(json.dumps({**summary, **change}))
    with pytest.raises((InvalidData, InvalidOption), match=sentence):
        judge_again(review)


@pytest.fixture(scope="module")
def made_with_more(judged_run: Path) -> Path:
    """The same rows with groups from Python and three decisions from a patch; not to be changed."""
    with np.load(judged_run.parent / "rows.npz") as rows:
        given = rows["labels"]
    records = [{"id": i, "decision": "keep", "old": int(given[i]), "data_hash": "0"} for i in (0, 1, 2)]
    Patch.from_records(records).save(judged_run.parent / "patch.jsonl")
    folder, method = judged_run.parent / "more", MethodOptions(settings={"views": "linear", "n_repeats": 1})
    groups, patch = np.arange(300) // 5, judged_run.parent / "patch.jsonl"
    run_detect(DetectRequest(str(judged_run.parent / "rows.npz"), folder, method, groups=groups, decisions=patch))
    return folder


@pytest.fixture
def more(made_with_more: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made_with_more, tmp_path / "more"))


def test_groups_and_decisions_that_the_run_was_given_count_again(more: Path, judged_run: Path) -> None:
    review = Review.open(more)
    assert review.n_since_verdict() == 0 and review.n_known == 0
    decide(review, 2)
    assert review.n_since_verdict() == 2
    decided = [int(id) for id in review.suspects.ids[:2]]
    after = judged_again(review)
    assert after.n_since_verdict() == 0
    facts = json.loads((more / "summary.json").read_text())["decisions"]
    assert facts["n"] == 5 and facts["given"] == 3
    with np.load(judged_run.parent / "rows.npz") as rows:
        features, given = rows["features"], rows["labels"]
    kept = [(i, "keep", given[i], None) for i in [0, 1, 2, *decided]]
    verified = VerifiedLabels.match(np.arange(300), given, kept)
    judge = Judge(views="linear", n_repeats=1)
    expected = judge_verified(judge, features, given, verified, groups=np.arange(300) // 5)
    np.testing.assert_allclose(Verdict.load(more).p_clean, expected.p_clean, atol=1e-6)
    assert (more / "groups.parquet").is_file() and len(Patch.load(more / "known_decisions.jsonl")) == 3
    review.close()


def test_groups_of_somebody_else_are_checked(more: Path) -> None:
    review = Review.open(more)
    decide(review, 1)
    table = pq.read_table(more / "groups.parquet")
    for changed, sentence in [
        (table.slice(0, 299), "groups of 299 rows, not of 300"),
        (table.set_column(0, "id", pa.array(range(1, 301))), "groups of other rows"),
        (table.select(["id"]), "cannot be read"),
    ]:
        pq.write_table(changed, more / "groups.parquet")
        with pytest.raises(InvalidData, match=sentence):
            judge_again(review)
    (more / "known_decisions.jsonl").write_text("nonsense")
    with pytest.raises(InvalidData, match=r"known_decisions\.jsonl, line 1"):
        judge_again(review)
    review.close()


def test_it_runs_once_at_a_time_and_says_what_failed() -> None:
    begun, go_on, n = threading.Event(), threading.Event(), [0]

    def work() -> None:
        n[0] += 1
        begun.set()
        go_on.wait(10)
        raise InvalidData("the data are gone")

    again = JudgingAgain(work)
    again.start()
    again.start()
    begun.wait(10)
    assert n == [1] and again.state() == {"running": True, "problem": ""}
    go_on.set()
    while again.state()["running"]:
        pass
    assert again.state()["problem"] == "the data are gone"


def judged(page: Page, n: int) -> None:
    expect(page.locator("#progress-text")).to_contain_text(f"{n} of ")


def test_the_button_judges_again_and_loads_the_page_anew(review: Review, open_page: Callable[..., Any]) -> None:
    go_on = threading.Event()

    def slowly(opened: Review) -> Review:
        go_on.wait(20)
        return judged_again(opened)

    with listen(0) as listening:
        port = listening.getsockname()[1]
        guard = Guard(make_app(review, reviewer="Ada", judge_again=slowly), port=port, announce=lambda link: None)
        server = make_server(guard)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        page = open_page(guard.link).page
        judged(page, 0)
        expect(page.locator("#again")).to_be_hidden()
        for n in (1, 2, 3):
            page.keyboard.press("k")
            judged(page, n)
        button = page.get_by_role("button", name="Judge again")
        expect(button).to_have_text("Judge again: 3 decisions since the last verdict")
        button.click()
        expect(page.locator("#again")).to_have_text("Judging again …")
        page.keyboard.press("k")  # one can go on meanwhile
        judged(page, 4)
        key = review.suspects.key
        go_on.set()
        expect(page.locator("#again")).to_be_hidden(timeout=30_000)
        decided = [entry.id for entry in review.store.history()]
        assert len(decided) == 4  # nothing was lost
        listed = set(Review.open(review.folder).suspects.ids)
        assert not listed & set(decided)
        cookies = "; ".join(f"{c['name']}={c['value']}" for c in page.context.cookies())
        body = {"decisions": [{"item": 0, "state": "keep", "base": 0}], "action": "x", "request": "x", "key": key}
        answer = page.request.post(
            f"http://127.0.0.1:{port}/api/decisions", data=body,
            headers={"Cookie": cookies, "Origin": f"http://127.0.0.1:{port}"},
        )  # fmt: skip
        assert answer.status == 409 and "judged again" in answer.text()  # a page with the old list
        server.should_exit = True
        thread.join(10)
