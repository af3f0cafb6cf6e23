"""Certainty bands cover all probabilities, once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eigenclean.metrics import CERTAINTY_BANDS, count_by_certainty


def test_bands_descend_to_zero_and_have_distinct_names() -> None:
    limits = [band.lower for band in CERTAINTY_BANDS]
    assert limits == sorted(limits, reverse=True) and limits[-1] == 0.0
    assert len({band.name for band in CERTAINTY_BANDS}) == len(CERTAINTY_BANDS)


@given(st.lists(st.floats(0, 1) | st.sampled_from([band.lower for band in CERTAINTY_BANDS])))
def test_each_label_is_in_the_highest_band_whose_limit_it_reaches(p_wrong: list[float]) -> None:
    expected = [0] * len(CERTAINTY_BANDS)
    for p in p_wrong:
        expected[next(at for at, band in enumerate(CERTAINTY_BANDS) if p >= band.lower)] += 1
    assert count_by_certainty(np.array(p_wrong)) == expected


def test_a_limit_belongs_to_the_band_above() -> None:
    assert count_by_certainty([0.95, np.nextafter(0.95, 0), 0.75, np.nextafter(0.75, 0)]) == [1, 2, 1]
