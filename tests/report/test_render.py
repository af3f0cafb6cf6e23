"""The page as text: complete, harmless, the same every time, and small."""

import base64
import hashlib
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean.errors import InvalidData
from eigenclean.report import render, summarize, write_report
from eigenclean.report.formatting import between
from eigenclean.verdict import Verdict

Make = Callable[..., Verdict]
Hostile = tuple[Verdict, dict[str, Any]]


class _Tags(HTMLParser):
    """All start tags, and the words between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def _page(verdict: Verdict, **arguments: Any) -> str:
    return render(summarize(verdict, **arguments))


def test_users_strings_are_escaped(hostile: Hostile) -> None:
    verdict, arguments = hostile
    page = _page(verdict, **arguments)
    parsed = _Tags(page)
    assert [tag for tag, _ in parsed.tags].count("script") == 1
    assert all("src" not in attributes for tag, attributes in parsed.tags if tag == "script")
    assert not any(name.startswith("on") for _, attributes in parsed.tags for name in attributes)
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "\u202e" not in page


def test_nothing_is_loaded_from_anywhere(hostile: Hostile) -> None:
    verdict, arguments = hostile
    page = _page(verdict, **arguments)
    for _, attributes in _Tags(page).tags:
        for name in ("src", "href", "action", "data", "srcset", "poster"):
            assert (attributes.get(name) or "#").startswith(("#", "data:"))
    assert set(re.findall(r"https?://[^'\"<> ]*", page)) == {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert "@import" not in page
    assert "url(" not in page


def test_the_policy_allows_exactly_this_style_and_this_script(make: Make) -> None:
    page = _page(make(), features=np.eye(300))
    policy = next(a["content"] for t, a in _Tags(page).tags if t == "meta" and "http-equiv" in a)
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        content = re.findall(rf"<{tag}>(.*?)</{tag}>", page, flags=re.DOTALL)
        assert len(content) == 1
        digest = base64.b64encode(hashlib.sha256(content[0].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not any("style" in attributes for _, attributes in _Tags(page).tags)  # the policy would drop them


def test_it_says_what_a_data_owner_wants_to_know(make: Make) -> None:
    verdict = make()
    run = {"source": "pets.npz", "command": "eigenclean detect pets.npz", "seconds": 1.25, "data_hash": "abc123"}
    page = _page(verdict, run=run | {"version": "9.9", "created": "2026-01-02"}, quality={"noisy_precision": 0.875})
    words = " ".join(" ".join(_Tags(page).words).split())
    for phrase in (
        f"{verdict.n_flagged} of 300 labels look wrong",
        "of these flags should be right",
        "Noise by class",
        "Top confusions",
        "The worst suspects",
        "Scores, class by class",
        "Measured against the known truth",
        "88 % of the flags are right",
        "Estimated noise rate",
        " ".join(between(*summarize(verdict)["headline"]["noise_interval"]).split()),
        "90 % interval",
        "The transition matrix",
        "Two classes are small.",
        "eigenclean detect pets.npz",
        "eigenclean 9.9",
        "abc123",
        "2026-01-02",
        "1.2 s",
        "Label score",
    ):
        assert phrase in words
    assert "A map of the data" not in words
    assert "nobody has checked them" in _page(verdict)


def _degenerate() -> list[tuple[str, dict[str, Any]]]:
    return [
        ("no suspects", {"n": 50, "flagged": np.zeros(50, dtype=bool), "p_clean": np.ones(50)}),
        ("all suspects", {"n": 50, "flagged": np.ones(50, dtype=bool), "p_clean": np.zeros(50)}),
        ("three samples", {"n": 3, "n_classes": 2}),
        ("no samples", {"n": 0}),
        ("one class", {"n": 9, "n_classes": 1}),
        ("every sample its class", {"n": 40, "labels": np.arange(40), "suggested": np.arange(40) + 1}),
        ("equal scores", {"n": 40, "score": np.full(40, 0.7)}),
        ("scores beyond all bounds", {"n": 4, "score": np.array([-np.inf, np.nan, np.inf, 1e300])}),
        ("narrow floats", {"n": 40, "score": np.linspace(0, 1, 40, dtype=np.float16)}),
        ("boolean labels", {"n": 40, "labels": np.arange(40) % 2 > 0, "suggested": np.arange(40) % 3 > 0}),
        ("byte labels", {"n": 4, "labels": np.array([b"a", b"b"] * 2), "suggested": np.array([b"b", b"\xff"] * 2)}),
        ("odd labels", {"n": 4, "labels": np.array(["\ud800", " ", "\x07", "a\nb"]), "suggested": np.full(4, "c")}),
        ("text ids", {"n": 40, "ids": np.array([f"a/b/{i}.png" for i in range(40)])}),
        ("only a name", {"n": 40, "made_by": "me"}),
        ("nothing said", {"n": 40, "made_by": {}}),
        ("nothing but none", {"n": 40, "made_by": dict.fromkeys(("parameters", "notes", "mixture", "threshold"))}),
    ]  # fmt: skip


@pytest.mark.parametrize("fields", [f for _, f in _degenerate()], ids=[name for name, _ in _degenerate()])
@pytest.mark.parametrize("rich", [False, True], ids=["bare", "rich"])
def test_degenerate_verdicts(make: Make, fields: dict[str, Any], rich: bool) -> None:
    verdict = make(**fields)
    n = len(verdict)
    arguments: dict[str, Any] = {"features": np.eye(n, 3), "images": np.zeros((n, 2, 2)), "texts": ["word"] * n}
    page = _page(verdict, **(arguments if rich else {}))
    page.encode("utf-8")
    parsed = _Tags(page)
    assert [tag for tag, _ in parsed.tags].count("h1") == 1
    assert not re.search(
        r"\b(nan|inf|None(?! of)|undefined)\b", " ".join(parsed.words[parsed.words.index("Label report") :])
    )


def test_ten_thousand_classes_stay_a_small_page(make: Make) -> None:
    verdict = make(n=60_000, n_classes=10_000, labels=np.arange(60_000) % 10_000)
    page = _page(verdict, features=np.random.default_rng(0).standard_normal((60_000, 8)))
    assert len(page) < 2_000_000
    assert "Show 470 more classes" in page
    assert "9\u202f500 quieter classes are not listed" in page


def test_photographs_stay_a_small_page(make: Make) -> None:
    rng = np.random.default_rng(0)
    image = np.kron(rng.integers(0, 256, (16, 16, 3)), np.ones((32, 32, 1))).astype(np.uint8)
    assert len(_page(make(), images=[image] * 300)) < 3_000_000


def test_the_same_input_gives_the_same_bytes(tmp_path: Path, hostile: Hostile) -> None:
    verdict, arguments = hostile
    first = write_report(tmp_path / "a.html", verdict, **arguments)
    second = write_report(str(tmp_path / "new" / "b.html"), verdict, **arguments)
    assert first.read_bytes() == second.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "new"]


def test_a_failed_report_leaves_the_old_one(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(InvalidData):
        write_report(path, make(), texts=["too few"])
    assert path.read_text() == "old"


def test_nothing_is_changed_in_what_was_given(make: Make) -> None:
    verdict, features = make(), np.random.default_rng(0).standard_normal((300, 4)).astype(np.float32)
    before = features.copy()
    for values in (verdict.labels, verdict.score, verdict.p_clean, verdict.flagged, features):
        values.flags.writeable = False
    _page(verdict, features=features, images=features.reshape(300, 2, 2))
    assert (features == before).all()
