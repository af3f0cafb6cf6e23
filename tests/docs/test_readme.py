"""The numbers in the README are those of the committed results file."""

import json
import re
import tomllib
from pathlib import Path

from PIL import Image

from eigenclean_lab.bench.quality.peer_table import ALL_DATA, TABLES, common_settings, peer_table
from eigenclean_lab.bench.quality.rows import paired_cells, summary_rows
from eigenclean_lab.bench.quality.suite import quality_store

ROOT = Path(__file__).parents[2]


def test_speed_table_is_the_results_file() -> None:
    cases = json.loads((ROOT / "results" / "bench_detect.json").read_text())["cases"]
    bound = [case for case in cases if case["target"]]
    assert all(case["passed"] for case in bound)
    lines = (ROOT / "README.md").read_text().splitlines()
    for case in bound:
        assert f"| {case['case']} | {case['baseline']} | {case['ratio']:.2f} | {case['target']} |" in lines


def test_quality_tables_are_the_results_file() -> None:
    rows = summary_rows(paired_cells(quality_store(ROOT / "results" / "bench_quality.json").read()))
    text = (ROOT / "README.md").read_text()
    for names, family in ((ALL_DATA, None), (TABLES, "tables")):
        settings = common_settings(rows, names, "confirmation", family)
        assert settings
        assert "\n".join(peer_table(rows, names, settings)) in text
        assert f"{len(settings)} settings" in text


def test_the_first_screen_has_picture_install_commands_and_quality() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = "\n".join(text.splitlines()[:45])
    words = [
        "docs/img/walk.gif",
        "pip install",
        "$ eigenclean detect",
        "## How good it is",
        "| cleanlab, ",
        "| FINE |",
    ]
    places = [first.index(word) for word in words]
    assert places == sorted(places)
    assert first.count("$ eigenclean ") == 3
    assert text.index("## Speed") > text.index("## From Python") > places[-1]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    named = set(re.findall(r"`'eigenclean\[(\w+)\]'`", text))
    assert {"review", "embed", "train", "mcp"} <= named <= set(extras)


def test_the_moving_picture_is_short_and_small() -> None:
    picture = ROOT / "docs" / "img" / "walk.gif"
    assert "(docs/img/walk.gif)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert picture.stat().st_size < 1_500_000
    milliseconds = 0
    with Image.open(picture) as film:
        for number in range(getattr(film, "n_frames", 1)):
            film.seek(number)
            milliseconds += film.info["duration"]
    assert 12_000 < milliseconds < 18_000
