"""The noise rate that the page estimates from the decisions, against an oracle."""

from collections.abc import Callable
from typing import Any

import numpy as np
from playwright.sync_api import expect
from scipy import stats

from tests.review.page.test_page import judged

OpenPage = Callable[..., Any]


def test_the_estimate_is_what_the_decisions_say(served: Any, open_page: OpenPage) -> None:
    """Against the same model without bins, integrated by SciPy."""
    page = open_page(served.guard.link).page
    judged(page, 0)
    rng = np.random.default_rng(0)
    cases = [
        (rng.beta(8, 1, 300), np.full(300, -1)),
        (rng.beta(8, 1, 300), np.where(np.arange(300) < 40, np.arange(300) % 10 > 0, -1)),
        (np.full(200, 0.999), np.where(np.arange(200) < 60, np.arange(200) % 3 > 0, -1)),  # much too sure
        (rng.beta(3, 2, 50), (rng.random(50) < 0.4).astype(int)),  # all judged
    ]
    for wrong, verdicts in cases:
        rest = {"n": 1000, "rate": 0.02, "low": 0.01, "high": 0.04}
        got = page.evaluate(
            "async (given) => (await import('/page/estimate.js')).estimate(...given)",
            [wrong.tolist(), verdicts.astype(int).tolist(), rest],
        )
        mean, low, high = _oracle(wrong, verdicts)
        np.testing.assert_allclose(got["precision"], np.array([mean, low, high]) / len(wrong), atol=0.012)
        total = len(wrong) + 1000
        expected = (
            (mean + 20) / total,
            (mean + 20 - np.hypot(mean - low, 10)) / total,
            (mean + 20 + np.hypot(high - mean, 20)) / total,
        )
        np.testing.assert_allclose(got["noise"], expected, atol=0.004)
        assert got["precision"][1] <= got["precision"][0] <= got["precision"][2]


def _oracle(wrong: Any, verdicts: Any) -> tuple[float, float, float]:
    logit = np.log(np.clip(wrong, 1e-4, None) / np.clip(1 - wrong, 1e-4, None))
    shifts = np.linspace(-12, 12, 801)
    log = stats.t.logpdf(shifts / np.log(2), 3)
    done, open_ = verdicts >= 0, verdicts < 0
    p = 1 / (1 + np.exp(-(logit[:, None] + shifts)))
    log = log + np.log(np.where((verdicts == 1)[:, None], p, 1 - p))[done].sum(axis=0)
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    n_wrong = np.count_nonzero(verdicts == 1)
    mean, spread = p[open_].sum(axis=0), np.sqrt((p * (1 - p))[open_].sum(axis=0)) + 1e-12
    if not open_.any():
        return float(n_wrong), float(n_wrong), float(n_wrong)
    grid = np.linspace(0, np.count_nonzero(open_), 1501)
    below = (weight * stats.norm.cdf((grid[:, None] - mean) / spread)).sum(axis=1)
    low, high = np.interp([0.05, 0.95], below, grid)
    return n_wrong + float(weight @ mean), n_wrong + float(low), n_wrong + float(high)


def test_the_estimate_is_on_the_page(served: Any, open_page: OpenPage) -> None:
    page = open_page(served.guard.link).page
    judged(page, 0)
    expect(page.locator("#basis")).to_contain_text("By the detector alone")
    before = page.locator("#precision").text_content()
    for n in range(1, 9):
        page.keyboard.press("k")
        judged(page, n)
    expect(page.locator("#basis")).to_contain_text("0 found wrong, 8 right")
    expect(page.locator("#precision")).not_to_have_text(before or "")
    assert "between" in (page.locator("#noise").get_attribute("title") or "")
