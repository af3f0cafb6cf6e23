"""Judging again after a review: decisions are known, found by id and label, and never suspects again."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from eigenclean import Verdict, audit
from eigenclean.detect.judge.judge import Judge
from eigenclean.detect.judge.verified import calibrated_log_odds, judge_verified
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.evidence import VerifiedLabels
from eigenclean.patch import Patch
from eigenclean.review.store import FILE, KEEP, RELABEL, REMOVE, UNSURE, Change, Store
from eigenclean.workflows import DetectRequest, run_detect
from eigenclean.workflows.detect import EngineOptions, MethodOptions

FAST = MethodOptions(settings={"views": "linear", "n_repeats": 1})


class Rows:
    """500 rows of three classes, a tenth of the labels wrong, as a file."""

    def __init__(self, folder: Path) -> None:
        rng = np.random.default_rng(0)
        self.truth = rng.integers(0, 3, 500)
        self.features = rng.normal(size=(500, 5)) + 2.0 * np.eye(5)[self.truth]
        wrong = rng.random(500) < 0.1
        self.labels = np.where(wrong, (self.truth + 1) % 3, self.truth)
        self.ids = np.array([f"r{i}" for i in range(500)])
        self.path = folder / "rows.npz"
        self.save(self.labels)

    def save(self, labels: np.ndarray, order: np.ndarray | None = None) -> None:
        order = np.arange(500) if order is None else order
        np.savez(self.path, features=self.features[order], labels=labels[order], ids=self.ids[order])


@pytest.fixture
def rows(tmp_path: Path) -> Rows:
    return Rows(tmp_path)


@pytest.fixture
def decided(rows: Rows, tmp_path: Path) -> tuple[Path, list[int]]:
    """A run, and five rows that were decided about: corrected, corrected, kept, removed, unsure."""
    run = tmp_path / "run"
    summary = run_detect(DetectRequest(str(rows.path), run, FAST))
    worst = Verdict.load(run).suspects(5).tolist()
    states = (RELABEL, RELABEL, KEEP, REMOVE, UNSURE)
    with Store(run / FILE, summary["data_hash"]) as store:
        for number, (row, state) in enumerate(zip(worst, states, strict=True)):
            new = int(rows.truth[row] if rows.truth[row] != rows.labels[row] else (rows.labels[row] + 1) % 3)
            change = Change(f"r{row}", int(rows.labels[row]), state, new if state == RELABEL else None)
            store.record([change], reviewer="Ada", action=str(number))
    return run, worst


def check(verdict: Verdict, rows: list[int]) -> None:
    assert not verdict.flagged[rows].any()
    assert verdict.p_clean[rows[:3]].tolist() == [0.0, 0.0, 1.0]


def test_decisions_in_the_folder_count_by_themselves(rows: Rows, decided: tuple[Path, list[int]]) -> None:
    run, worst = decided
    notes: list[str] = []
    summary = run_detect(DetectRequest(str(rows.path), run, FAST), notify=notes.append)
    assert len(summary["decisions"].pop("ids")) == 5
    assert summary["decisions"] == {"n": 5, "confirmed": 1, "corrected": 2, "removed": 1, "unmatched": 0}
    assert "5 decisions of people count: 1 confirmed, 2 corrected, 1 removed" in notes
    check(Verdict.load(run), worst)


def test_decisions_are_found_again_when_the_data_have_changed(
    rows: Rows, decided: tuple[Path, list[int]], tmp_path: Path
) -> None:
    run, worst = decided
    labels = rows.labels.copy()
    labels[worst[0]] = (
        rows.truth[worst[0]] if rows.truth[worst[0]] != labels[worst[0]] else (labels[worst[0]] + 1) % 3
    )
    labels[worst[2]] = (labels[worst[2]] + 1) % 3  # somebody changed what was confirmed
    order = np.random.default_rng(1).permutation(500)
    rows.save(labels, order)
    summary = run_detect(DetectRequest(str(rows.path), tmp_path / "again", FAST, decisions=run))
    facts = {"n": 4, "confirmed": 1, "corrected": 1, "removed": 1, "unmatched": 1, "given": 4, "applied": 1}
    assert len(summary["decisions"].pop("ids")) == 4
    assert summary["decisions"] == facts
    verdict = Verdict.load(tmp_path / "again")
    place = {id: row for row, id in enumerate(verdict.ids.tolist())}
    assert not verdict.flagged[[place[f"r{row}"] for row in worst if row != worst[2]]].any()
    assert verdict.p_clean[place[f"r{worst[0]}"]] == 1.0


def test_a_method_that_has_no_use_for_decisions_says_so(rows: Rows, decided: tuple[Path, list[int]]) -> None:
    notes: list[str] = []
    request = DetectRequest(str(rows.path), decided[0], MethodOptions("knn"))
    assert "decisions" not in run_detect(request, notify=notes.append)
    assert any("5 decisions of people" in note and "knn judges without" in note for note in notes)


def test_decisions_count_in_a_stream(rows: Rows, decided: tuple[Path, list[int]], tmp_path: Path) -> None:
    run, worst = decided
    in_memory, streamed = tmp_path / "memory", tmp_path / "stream"
    run_detect(DetectRequest(str(rows.path), in_memory, FAST, decisions=run))
    engine = EngineOptions("stream")
    summary = run_detect(DetectRequest(str(rows.path), streamed, FAST, engine=engine, decisions=run))
    assert summary["decisions"]["n"] == 5 and summary["engine"]["name"] == "stream"
    expected, in_stream = Verdict.load(in_memory), Verdict.load(streamed)
    check(in_stream, worst)
    for column in ("score", "p_clean", "flagged", "suggested", "suggested_confidence"):
        np.testing.assert_array_equal(getattr(in_stream, column), getattr(expected, column))
    assert Patch.load(streamed / "known_decisions.jsonl").counts() == {KEEP: 1, RELABEL: 2, REMOVE: 1, UNSURE: 1}
    again = run_detect(DetectRequest(str(rows.path), streamed, FAST, engine=engine))  # they are in the folder now
    assert again["decisions"]["n"] == again["decisions"]["given"] == 5


def test_a_label_that_no_row_has_goes_into_the_verdict(rows: Rows, tmp_path: Path) -> None:
    record = {"id": "r3", "decision": "relabel", "old": int(rows.labels[3]), "new": 1000, "data_hash": "0a"}
    Patch.from_records([{**record, "reason": "<i>odd</i>"}]).save(tmp_path / "patch.jsonl")
    judged = audit(rows.path, decisions=tmp_path / "patch.jsonl", settings=FAST.settings, out=tmp_path / "again")
    verdict = judged.verdict
    assert judged.summary["decisions"]["notes"][0]["note"] == "<i>odd</i>"
    assert "&lt;i&gt;odd&lt;/i&gt;" in (tmp_path / "again" / "report.html").read_text()
    assert verdict.p_clean[3] == 0.0 and not verdict.flagged[3]
    assert verdict.suggested[3] == 1000 and verdict.suggested_confidence[3] == 1.0
    verdict.save(tmp_path / "run")
    assert Verdict.load(tmp_path / "run").suggested[3] == 1000
    assert 1000 not in verdict.labels


def test_a_patch_counts_too(rows: Rows, tmp_path: Path) -> None:
    record = {"id": "r3", "decision": "keep", "old": int(rows.labels[3]), "data_hash": "0a"}
    Patch.from_records([record]).save(tmp_path / "patch.jsonl")
    result = audit(rows.path, decisions=tmp_path / "patch.jsonl", settings=FAST.settings)
    assert result.summary["decisions"]["confirmed"] == 1 and result.verdict.p_clean[3] == 1.0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda r: {**r, "old": 7}, "none of the 1 decisions of .* is about these data"),
        (lambda r: {**r, "id": "x"}, "none of the 1 decisions of .* is about these data"),
    ],
)
def test_decisions_about_other_data(
    rows: Rows, tmp_path: Path, change: Callable[[dict[str, object]], dict[str, object]], sentence: str
) -> None:
    record = change({"id": "r3", "decision": "keep", "old": int(rows.labels[3]), "data_hash": "0a"})
    Patch.from_records([record]).save(tmp_path / "patch.jsonl")
    with pytest.raises(InvalidData, match=sentence):
        run_detect(DetectRequest(str(rows.path), tmp_path / "run", FAST, decisions=tmp_path / "patch.jsonl"))


def test_what_excludes_decisions(rows: Rows, tmp_path: Path) -> None:
    source = str(rows.path)
    with pytest.raises(InvalidOption, match="learns from decisions, not fine"):
        run_detect(DetectRequest(source, tmp_path / "run", MethodOptions("fine"), decisions=tmp_path))
    with pytest.raises(InvalidData, match="has no decisions of people; review it first"):
        run_detect(DetectRequest(source, tmp_path / "run", FAST, decisions=tmp_path))


def test_images_that_a_patch_moved_are_found() -> None:
    decisions = [("cat/1.png", "relabel", "cat", "dog"), ("cat/2.png", "keep", "cat", None)]
    ids, labels = np.array(["cat/2.png", "dog/1.png"]), np.array(["cat", "dog"])
    matched = VerifiedLabels.match(ids, labels, decisions)
    assert matched.is_known.all() and matched.labels.tolist() == ["cat", "dog"] and matched.n_unmatched == 0


def test_contradicting_decisions_are_refused() -> None:
    decisions = [("a", "keep", 1, None), ("a", "relabel", 1, 2)]
    with pytest.raises(InvalidData, match="contradict each other about 'a': keep and relabel to 2"):
        VerifiedLabels.match(np.array(["a", "b"]), np.array([1, 2]), decisions)


def test_known_labels_teach_the_noise_model(rows: Rows) -> None:
    """Noise between classes that overlap: labels alone cannot tell; some known labels can."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 1500)
    features = rng.normal(size=(1500, 2)) + np.where(truth == 1, 1.2, -1.2)[:, None]
    near = np.abs(features.sum(axis=1)) < 1.5
    labels = np.where(near & (rng.random(1500) < 0.6), (features.sum(axis=1) < 0).astype(int), truth)
    rate = float(np.mean(labels != truth))
    judge = Judge(views="linear", n_repeats=1)
    before = judge.fit_judge(features, labels).noise_rate
    known = np.zeros(1500, dtype=bool)
    known[rng.choice(1500, 200, replace=False)] = True
    nothing = np.zeros(1500, dtype=bool)
    verified = VerifiedLabels(np.where(known, truth, labels), known, nothing, known)
    after = judge_verified(Judge(views="linear", n_repeats=1), features, labels, verified).noise_rate
    assert abs(after - rate) < abs(before - rate)


def test_log_odds_are_calibrated_by_decisions_about_chosen_rows() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(2, 2, 20_000)
    known = (np.argsort(np.argsort(scores)) < 200) | (rng.random(20_000) < 0.04)  # the worst, and some at random
    for offset, slope, tolerance in ((0.0, 1.0, 0.02), (-0.5, 1.6, 0.03), (0.8, 0.6, 0.03)):
        right = rng.random(20_000) < expit(offset + slope * scores)
        after = expit(calibrated_log_odds(scores, known, right))
        assert after[~known].mean() == pytest.approx(right[~known].mean(), abs=tolerance)
    few = np.arange(20_000) < 5  # as expected: they change little
    assert np.abs(expit(calibrated_log_odds(scores, few, few)) - expit(scores)).max() < 0.1


def test_applied_corrections_are_no_fair_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("calibrated")

    monkeypatch.setattr("eigenclean.detect.judge.verified.calibrated_log_odds", refuse)
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 2
    features = rng.normal(size=(60, 2)) + 4 * truth[:, None]
    verified = VerifiedLabels.match(np.arange(60), truth, [(0, "relabel", 1, 0)])
    assert judge_verified(Judge(views="linear", n_repeats=1), features, truth, verified).p_clean[0] == 1
    with pytest.raises(AssertionError, match="calibrated"):
        confirmed = VerifiedLabels.match(np.arange(60), truth, [(0, "keep", 0, None)])
        judge_verified(Judge(views="linear", n_repeats=1), features, truth, confirmed)
