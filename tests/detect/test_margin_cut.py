"""The cut for margins: a mixture over all classes, in which wrong labels have a mean near 0 or below."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from eigenclean.detect.cuts.margin import MarginCut, MarginMixture
from eigenclean.errors import InvalidOption


class TestMarginCut:
    def test_clean_margins_are_kept(self) -> None:
        """Easy and hard samples, all of them nearer to the given class: a free mixture would split them."""
        rng = np.random.default_rng(0)
        margins = np.concatenate([rng.normal(0.55, 0.1, 1000), rng.normal(0.25, 0.1, 800)])
        cut = MarginCut().fit(margins, np.zeros(1800, dtype=int))
        assert len(cut.mixture_.weights) == 3
        assert (cut.p_clean(margins, np.zeros(1800, dtype=int)) <= 0.5).mean() < 0.01

    @pytest.mark.parametrize("rate", [0.1, 0.3, 0.6])
    def test_the_share_of_wrong_labels_is_found(self, rate: float) -> None:
        rng = np.random.default_rng(1)
        wrong = np.arange(4000) < 4000 * rate
        margins = np.where(wrong, rng.normal(-0.1, 0.12, 4000), rng.normal(0.35, 0.12, 4000))
        p_clean = MarginCut().fit(margins, np.zeros(4000, dtype=int)).p_clean(margins, np.zeros(4000, dtype=int))
        assert abs((1 - p_clean).mean() - rate) < 0.02
        assert f1_score(wrong, p_clean <= 0.5) > 0.93

    def test_log_odds_never_decrease(self) -> None:
        mixture = MarginMixture(np.array([0.3, 0.4, 0.3]), np.array([0.0, 0.2, 0.5]), np.array([0.3, 0.05, 0.02]))
        odds = mixture.log_odds(np.linspace(-2, 2, 1001))
        assert (np.diff(odds) > 0).all()

    def test_bad_options(self) -> None:
        with pytest.raises(InvalidOption, match="max_iter"):
            MarginCut(max_iter=0).fit(np.zeros(3), np.zeros(3, dtype=int))
        with pytest.raises(InvalidOption, match="highest_wrong"):
            MarginCut(highest_wrong=float("nan")).fit(np.zeros(3), np.zeros(3, dtype=int))
