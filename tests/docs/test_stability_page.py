"""The page on what is stable names every check of scikit-learn that fails, and for whom."""

import re
from pathlib import Path

from tests.contracts.test_estimator_checks import EXPECTED_FAILURES, EXPECTED_FAILURES_OF_FINE
from tests.train.test_estimator_checks import EXPECTED_FAILURES as EXPECTED_FAILURES_OF_CLASSIFIER

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "stability.md"


def test_the_list_of_exceptions_is_that_of_the_tests() -> None:
    listed: dict[str, set[str]] = {}
    for who, checks in re.findall(
        r"^\| (.+?) \| ((?:`check_\w+`(?:, )?)+) \|", PAGE.read_text("utf-8"), re.MULTILINE
    ):
        listed.setdefault(who, set()).update(re.findall(r"`(check_\w+)`", checks))
    detectors, classifier = set(EXPECTED_FAILURES), set(EXPECTED_FAILURES_OF_CLASSIFIER)
    assert listed == {
        "all": detectors & classifier,
        "detectors": detectors - classifier,
        "FINE": set(EXPECTED_FAILURES_OF_FINE),
        "`RobustClassifier`": classifier - detectors,
    }
