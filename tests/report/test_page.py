"""Pages of any package: one head, one policy, escaped texts."""

import base64
import hashlib
import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from eigenclean.report import render_page


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package with a page of its own, as eigenclean-lab has them."""
    templates = tmp_path / "somebodys_pages" / "templates"
    templates.mkdir(parents=True)
    (templates.parent / "__init__.py").touch()
    (templates / "mine.html").write_text(
        '{% extends "page.html" %}{% block title %}{{ name }}{% endblock %}'
        "{% block main %}<h1>{{ name }}</h1>{{ share | percent }}{% endblock %}"
    )
    (templates / "mine.css").write_text("h1 { color: red; }\n")
    (templates / "mine.js").write_text("document.title;\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return templates.parent.name


def test_a_page_has_the_common_head_and_its_own_body(package: str) -> None:
    page = render_page("mine.html", {"name": "<b>", "share": 0.5}, package=package, styles=["page.css", "mine.css"])
    assert page.startswith("<!doctype html>") and page.count("<title>&lt;b&gt;</title>") == 1
    assert "<h1>&lt;b&gt;</h1>50\u202f%" in page
    assert "--bg:" in page and "h1 { color: red; }" in page
    assert "<script" not in page


def test_the_policy_is_about_this_style_and_this_script(package: str) -> None:
    page = render_page(
        "mine.html", {"name": "a", "share": 0}, package=package, styles=["mine.css"], script="mine.js"
    )
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{directive} &#39;sha256-{digest}&#39;" in page or f"{directive} 'sha256-{digest}'" in page


def test_a_value_that_is_missing_is_an_error_and_not_a_gap(package: str) -> None:
    with pytest.raises(UndefinedError, match="name"):
        render_page("mine.html", {"share": 0}, package=package)
