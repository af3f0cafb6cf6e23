"""The paragraph about large data comes from the results file."""

from pathlib import Path

from eigenclean_lab.bench.scale.page import measured
from eigenclean_lab.bench.scale.run import LARGE_RUN, RATES, Measurement, ScaleSizes
from eigenclean_lab.bench.scale.suite import ScaleSuite, scale_store
from eigenclean_lab.bench.speed.ratios import Ratio, RatioTarget


def test_nothing_is_said_before_it_was_measured(tmp_path: Path) -> None:
    assert "eigenclean bench scale" in measured(tmp_path / "bench_scale.json")


def test_the_estimate_follows_the_rates(tmp_path: Path) -> None:
    """By hand: 2·4.096 TB at 1 GB/s and 100 workers is 81.92 s; products as written below; twice as long in all."""
    suite, store = ScaleSuite(ScaleSizes()), scale_store(tmp_path / "bench_scale.json")
    ratio = Ratio.measured("a", "b", 1.25, RatioTarget("at most", 1.5), "")
    rates = {"read_bytes": 1e9, "second_moments": 1e11, "discriminants": 1e11}
    large = {"rounds": 1, "ratio": 2.0, "rows": 1_280_000}
    store.write(
        [
            suite.cell(Measurement("engines", "a", ratio, {})),
            suite.cell(Measurement("time", RATES, None, rates)),
            suite.cell(Measurement("time", LARGE_RUN, None, large)),
        ]
    )
    products = (1e9 * 1024**2 / 1e11 + (1 + 7 / 5) * 1e9 * 1024 * 1000 / 1e11) * 2 / 100
    hours = 2 * (81.92 + products) / 3600
    text = measured(store.path)
    assert f"**{hours:.1f} hours**" in text
    assert "| a | b | 1.25 | <= 1.5x met |" in text
    assert "4.1 TB" in text and "3.8 GB of tables" in text
