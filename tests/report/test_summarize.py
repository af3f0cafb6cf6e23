"""Every number of the summary against a slow loop."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from eigenclean.errors import InvalidData
from eigenclean.metrics import noise_rate_interval
from eigenclean.report import summarize
from eigenclean.report.html import render
from eigenclean.verdict import Verdict

Make = Callable[..., Verdict]


def test_headline_counts_flags_and_expected_errors(make: Make) -> None:
    verdict = make()
    n_flagged, right, missed = 0, 0.0, 0.0
    for p_clean, flagged in zip(verdict.p_clean, verdict.flagged, strict=True):
        n_flagged += bool(flagged)
        right += (1 - p_clean) * bool(flagged)
        missed += (1 - p_clean) * (not flagged)
    headline = summarize(verdict)["headline"]
    assert headline["n_flagged"] == n_flagged
    assert headline["flagged_share"] == pytest.approx(n_flagged / 300)
    assert headline["expected_right"] == pytest.approx(right)
    assert headline["expected_missed"] == pytest.approx(missed)
    assert headline["noise_rate"] == pytest.approx(verdict.noise_rate)
    assert headline["noise_interval"] == pytest.approx(noise_rate_interval(verdict.p_clean))


def test_bands_split_the_flags(make: Make) -> None:
    verdict = make()
    expected: Counter[str] = Counter()
    for p_clean in verdict.p_clean[verdict.flagged]:
        p_wrong = 1 - p_clean
        expected["sure" if p_wrong >= 0.95 else "likely" if p_wrong >= 0.75 else "borderline"] += 1
    bands = {band["name"]: band["count"] for band in summarize(verdict)["bands"]}
    assert bands == {"sure": 0, "likely": 0, "borderline": 0} | expected


def test_classes_agree_with_a_loop_and_come_noisiest_first(make: Make) -> None:
    verdict = make(labels=np.array(list("cabde"))[make().labels], suggested=np.array(["a"] * 300))
    rows = summarize(verdict)["classes"]["rows"]
    shares = [row["flagged_share"] for row in rows]
    assert shares == sorted(shares, reverse=True)
    for row in rows:
        inside = [i for i in range(300) if verdict.labels[i] == row["label"]]
        assert row["n_samples"] == len(inside)
        assert row["n_flagged"] == sum(bool(verdict.flagged[i]) for i in inside)
        assert row["noise_rate"] == pytest.approx(sum(1 - verdict.p_clean[i] for i in inside) / len(inside))
        assert row["noise_interval"] == pytest.approx(noise_rate_interval(verdict.p_clean[inside]))


def test_confusion_agrees_with_a_loop(make: Make) -> None:
    verdict = make(n=2000, n_classes=30)
    pairs: Counter[tuple[str, str]] = Counter()
    for given, suggested, flagged in zip(verdict.labels, verdict.suggested, verdict.flagged, strict=True):
        if flagged and given != suggested:
            pairs[str(given), str(suggested)] += 1
    confusion = summarize(verdict)["confusion"]
    assert [pair["count"] for pair in confusion["pairs"]] == sorted(pairs.values(), reverse=True)[:12]
    assert all(pairs[pair["given"], pair["suggested"]] == pair["count"] for pair in confusion["pairs"])
    assert confusion["n_pairs"] == len(pairs)
    assert confusion["n_without"] == verdict.n_flagged - sum(pairs.values())


def test_a_suggested_class_that_nobody_was_given_has_a_name(make: Make) -> None:
    verdict = make(suggested=np.where(make().flagged, 99, make().labels))
    summary = summarize(verdict)
    assert {pair["suggested"] for pair in summary["confusion"]["pairs"]} == {"99"}
    assert {card["suggested"] for card in summary["suspects"]["cards"]} == {"99"}


def test_a_flag_without_another_label_is_counted_apart(make: Make) -> None:
    verdict = make(suggested=make().labels)
    summary = summarize(verdict)
    assert summary["confusion"]["pairs"] == []
    assert summary["confusion"]["n_without"] == verdict.n_flagged
    assert all(card["suggested"] is None for card in summary["suspects"]["cards"])


def test_suspects_are_the_worst_in_order(make: Make) -> None:
    verdict = make(n=1000)
    cards = summarize(verdict, texts=[f"text {i}" for i in range(1000)])["suspects"]["cards"]
    order = sorted(np.flatnonzero(verdict.flagged).tolist(), key=lambda i: (verdict.p_clean[i], verdict.score[i]))
    assert [int(card["id"]) for card in cards] == order[:60]
    assert [card["text"] for card in cards] == [f"text {i}" for i in order[:60]]
    assert [card["given"] for card in cards] == [str(verdict.labels[i]) for i in order[:60]]
    assert [card["suggested"] for card in cards] == [str(verdict.suggested[i]) for i in order[:60]]
    assert [card["p_wrong"] for card in cards] == pytest.approx([1 - verdict.p_clean[i] for i in order[:60]])


def test_without_flags_the_most_doubtful_labels_are_shown(make: Make) -> None:
    p_clean = np.linspace(0.99, 0.6, 40)
    verdict = make(n=40, flagged=np.zeros(40, dtype=bool), p_clean=p_clean)
    shown = summarize(verdict)["suspects"]
    assert [card["p_wrong"] for card in shown["cards"]] == pytest.approx((1 - p_clean[::-1][:20]).tolist())
    assert shown["n_flagged"] == 0 and all(card["suggested"] is None for card in shown["cards"])
    page = render(summarize(verdict))
    assert "The most doubtful labels" in page and "No label is flagged. These 20 have" in page


def test_run_tells_how_to_run_again(make: Make) -> None:
    run = summarize(make(), run={"command": ["eigenclean", "detect", "my data.npz"], "seconds": 2})["run"]
    assert run["command"] == "eigenclean detect 'my data.npz'"
    assert (run["seconds"], run["method"], run["threshold"], run["source"]) == (2.0, "fine", 0.5, None)
    assert run["parameters"] == {"preset": "official", "random_state": "0"}


@pytest.mark.parametrize(
    ("n_flagged", "n", "sentence"),
    [
        (0, 0, "There are no labels to judge"),
        (0, 3, "None of the 3 labels is surely wrong"),
        (3, 3, "All 3 labels look wrong"),
        (1, 4, "1 of 4 labels looks wrong — about 25 %"),
        (2, 1000, "2 of 1 000 labels look wrong — about 0.2 %"),
    ],
)
def test_the_sentence(make: Make, n_flagged: int, n: int, sentence: str) -> None:
    flagged = np.arange(n) < n_flagged
    verdict = make(n=n, flagged=flagged, p_clean=np.where(flagged, 0.1, 1.0))
    assert " ".join(summarize(verdict)["headline"]["sentence"].split()) == sentence


@pytest.mark.parametrize(
    ("p_flagged", "p_kept", "words"),
    [
        (0.1, 1.0, "own estimate, about 9 in 10 of these flags should be right."),
        (0.01, 0.9, "nearly all of these flags should be right, and about 8 more wrong labels may hide"),
        (0.99, 1.0, "hardly any of these flags"),
    ],
)
def test_how_sure(make: Make, p_flagged: float, p_kept: float, words: str) -> None:
    flagged = np.arange(100) < 20
    verdict = make(n=100, flagged=flagged, p_clean=np.where(flagged, p_flagged, p_kept))
    assert words in summarize(verdict)["headline"]["certainty"]


@pytest.mark.parametrize("what", ["features", "images", "texts"])
def test_other_lengths_are_refused(make: Make, what: str) -> None:
    arguments: dict[str, Any] = {what: np.zeros((7, 4, 4)) if what != "texts" else ["a"] * 7}
    with pytest.raises(InvalidData, match=f"^report: {what} must be"):
        summarize(make(n=20), **arguments)


def test_features_must_be_numbers(make: Make) -> None:
    with pytest.raises(InvalidData, match="features must be numbers"):
        summarize(make(n=20), features=np.array([["a", "b"]] * 20))


def test_the_summary_is_json(hostile: tuple[Verdict, dict[str, Any]]) -> None:
    verdict, arguments = hostile
    text = json.dumps(summarize(verdict, **arguments), allow_nan=False, ensure_ascii=False)
    assert json.loads(text)["headline"]["n_samples"] == 240
    text.encode("utf-8")


def test_unknown_probabilities_and_scores_stay_out_of_json(make: Make) -> None:
    verdict = make(n=30, p_clean=np.full(30, np.nan), score=np.full(30, -np.inf), flagged=np.ones(30, dtype=bool))
    summary = summarize(verdict, features=np.full((30, 3), np.nan))
    json.dumps(summary, allow_nan=False)
    assert summary["scores"]["panels"] == []


def test_cautions_come_first(make: Make) -> None:
    made_by = {"method": "judge", "cautions": ["the features do not predict the labels", "<b>few rows"]}
    summary = summarize(make(made_by=made_by))
    assert summary["headline"]["cautions"] == made_by["cautions"]
    page = render(summary)
    assert page.index("Caution:</b> the features do not predict the labels.") < page.index("<h1>")
    assert "<b>few rows" not in page and page.count("the features do not predict the labels") == 1


@pytest.mark.parametrize(
    ("low", "ending"), [(0.8, "and 80 to 90 % of the flags there were right."), (None, "flagged.")]
)
def test_what_was_measured_takes_the_place_of_the_estimate(make: Make, low: float | None, ending: str) -> None:
    test = {"n_planted": 90, "recall": 0.93, "precision_low": low, "precision_high": low and 0.9}
    head = summarize(make(), run={"self_test": test})["headline"]
    certainty = " ".join(head["certainty"].split())
    assert certainty.startswith("Measured on these data: of 90 labels made wrong in a copy, 93 % were flagged")
    assert ending in certainty and "own estimate" not in certainty and head["is_measured"]


def test_what_people_found_out_comes_before_the_estimate(make: Make) -> None:
    flagged = np.arange(100) < 20
    p_clean = np.where(
        flagged, 0.1, np.where(np.arange(100) >= 90, 0.0, 1.0)
    )  # ten labels were corrected by people
    facts = {"n": 26, "confirmed": 13, "corrected": 10, "removed": 2, "applied": 3}
    summary = summarize(make(n=100, flagged=flagged, p_clean=p_clean), run={"decisions": facts})
    assert " ".join(summary["headline"]["certainty"].split()) == (
        "Measured by people: of 25 labels that they decided about, 15 were wrong (60 %). They chose which ones to "
        "look at, so this is not the noise rate. By the detector’s own estimate, about 9 in 10 of these flags "
        "should be right."
    )
    assert "probabilities of labels that nobody has decided about are the detector’s own" in render(summary)


@pytest.mark.parametrize(
    "run", [{"decisions": {"n": 1}}, {"decisions": {"applied": 9}}, {"self_test": {"recall": "x"}}]
)
def test_a_record_that_says_nothing_leaves_the_estimate(make: Make, run: dict[str, Any]) -> None:
    assert summarize(make(), run=run)["headline"]["certainty"].startswith("By the detector’s own estimate, ")


@pytest.mark.parametrize("n_flagged", [0, 1, 5])
def test_an_estimate_is_called_one(make: Make, n_flagged: int) -> None:
    flagged = np.arange(50) < n_flagged
    for p_kept in (1.0, 0.9):
        verdict = make(n=50, flagged=flagged, p_clean=np.where(flagged, 0.1, p_kept))
        assert summarize(verdict)["headline"]["certainty"].startswith("By the detector’s own estimate, ")


def test_the_report_names_the_next_command(make: Make) -> None:
    page = render(summarize(make(), run={"next": "eigenclean review 'a run'"}))
    assert "Next: <code>eigenclean review &#39;a run&#39;</code>" in page
    assert "Next:" not in render(summarize(make()))
