"""The map of the report: which rows it shows, what each point carries, and that magnitudes do not matter."""

import base64
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from eigenclean.arrays import Array
from eigenclean.report import add_evaluation, summarize, write_report
from eigenclean.report.sections import map as section
from eigenclean.sample_map import MAX_STREAMED
from eigenclean.verdict import Verdict

Make = Callable[..., Verdict]


def numbers(shown: dict[str, Any], name: str, n: str = "n_points") -> list[int]:
    """The numbers that the page reads."""
    content = base64.b64decode(shown[name])
    kind = {1: "u1", 2: "<u2", 4: "<u4"}[len(content) // shown[n]]
    return [int(number) for number in np.frombuffer(content, kind)]


def test_suspects_come_first_in_the_order_of_the_list(make: Make) -> None:
    verdict = make(n=400)
    shown = summarize(verdict, features=np.random.default_rng(0).standard_normal((400, 4)))["map"]
    suspects = verdict.suspects().tolist()
    assert shown["n_points"] == 400 and shown["n_suspects"] == shown["n_first"] == len(suspects)
    assert shown["n_listed"] == min(60, len(suspects))
    rows = [*suspects, *(row for row in range(400) if not verdict.flagged[row])]
    assert shown["ids"] == [str(row) for row in rows]
    names = shown["labels"]
    assert [names[str(code)] for code in numbers(shown, "given")] == [str(verdict.labels[row]) for row in rows]
    assert [names[str(code)] for code in numbers(shown, "suggested", "n_first")] == [
        str(verdict.suggested[row]) for row in suspects
    ]
    np.testing.assert_allclose(
        np.array(numbers(shown, "wrong", "n_first")) / 255, 1 - verdict.p_clean[suspects], atol=2 / 255
    )


def test_where_none_is_flagged_the_most_doubtful_come_first(make: Make) -> None:
    verdict = make(n=50, flagged=np.zeros(50, dtype=bool))
    shown = summarize(verdict, features=np.random.default_rng(0).standard_normal((50, 4)))["map"]
    assert (shown["n_suspects"], shown["n_first"], shown["n_listed"]) == (0, 20, 20)
    assert shown["ids"][:20] == [str(row) for row in verdict.most_doubtful(20)]


def test_a_large_data_set_is_sampled_but_keeps_its_worst_suspects(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(section, "MAX_POINTS", 2000)
    verdict = make(n=20_000, rate=0.01)
    features = np.random.default_rng(0).standard_normal((20_000, 4))
    shown = summarize(verdict, features=features)["map"]
    assert shown["n_points"] == len(set(shown["ids"])) == 2000
    assert shown["ids"][: shown["n_suspects"]] == [str(row) for row in verdict.suspects(1000)]
    assert shown == summarize(verdict, features=features)["map"]


def test_rows_that_are_read_again_are_read_once_and_few(make: Make) -> None:
    verdict, features = make(n=30_000), np.random.default_rng(0).standard_normal((30_000, 4))
    asked: list[int] = []

    def take(rows: Array) -> Array:
        asked.append(len(rows))
        return np.asarray(features[rows])

    shown = summarize(verdict, features=take)["map"]
    assert asked == [MAX_STREAMED]
    assert shown["n_points"] == MAX_STREAMED and len(shown["ids"]) == section.MAX_NAMED


def test_images_may_serve_as_features(make: Make) -> None:
    images = np.random.default_rng(0).integers(0, 255, (20, 5, 5), dtype=np.uint8)
    assert summarize(make(n=20), features=images)["map"]["n_points"] == 20


@pytest.mark.parametrize(("dtype", "powers"), [(np.float64, (-1000, 1000)), (np.float32, (-120, 120))])
def test_points_do_not_depend_on_the_magnitude(make: Make, dtype: type, powers: tuple[int, int]) -> None:
    features: Array = np.random.default_rng(0).standard_normal((50, 4)).astype(dtype)
    features /= np.abs(features).max()
    verdict = make(50)
    expected = summarize(verdict, features=features)["map"]
    for power in powers:
        shown = summarize(verdict, features=np.ldexp(features, power))["map"]  # warnings are errors here
        for name in "xy":
            np.testing.assert_allclose(numbers(shown, name), numbers(expected, name), atol=14)


def test_the_report_of_an_earlier_version_is_rendered_without_its_map(make: Make, tmp_path: Any) -> None:
    verdict = make(n=50)
    features = np.random.default_rng(0).standard_normal((50, 4))
    page = write_report(tmp_path / "report.html", verdict, features=features, save_data=True)
    assert "A map of the data" in page.read_text(encoding="utf-8")
    saved = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    saved["map"] = {"n_points": 50, "x": [0.5] * 50, "y": [0.5] * 50}
    (tmp_path / "report.json").write_text(json.dumps(saved), encoding="utf-8")
    add_evaluation(page, verdict, quality={"noisy_precision": 0.9})
    text = page.read_text(encoding="utf-8")
    assert "A map of the data" not in text and "Measured against" in text
