"""Wilson's interval against scipy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from eigenclean.errors import InvalidOption
from eigenclean.metrics.noise_rate import normal_quantile, wilson_interval


@given(n=st.integers(1, 5000), share=st.floats(0, 1), level=st.sampled_from([0.5, 0.9, 0.99]))
def test_the_interval_is_that_of_scipy(n: int, share: float, level: float) -> None:
    hits = round(share * n)
    expected = binomtest(hits, n).proportion_ci(level, method="wilson")
    low, high = wilson_interval(hits / n, n, level)
    assert float(low) == pytest.approx(expected.low, abs=1e-12)
    assert float(high) == pytest.approx(expected.high, abs=1e-12)


def test_a_share_of_nothing_may_be_anything() -> None:
    low, high = wilson_interval([0.0, np.nan], [0, 5])
    assert (low[0], high[0]) == (0.0, 1.0)
    assert np.isnan(low[1])


@pytest.mark.parametrize("level", [0, 1, 90, -0.5, True])
def test_the_level_is_a_share(level: float) -> None:
    with pytest.raises(InvalidOption, match=r"between 0 and 1, such as 0\.9, got"):
        normal_quantile(level)
