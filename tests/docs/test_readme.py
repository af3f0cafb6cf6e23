"""The numbers in the README are those of the committed results file."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_speed_table_is_the_results_file() -> None:
    cases = json.loads((ROOT / "results" / "bench_detect.json").read_text())["cases"]
    bound = [case for case in cases if case["target"]]
    assert all(case["passed"] for case in bound)
    lines = (ROOT / "README.md").read_text().splitlines()
    for case in bound:
        assert f"| {case['case']} | {case['baseline']} | {case['ratio']:.2f} | {case['target']} |" in lines
