"""The benchmark of decisions: its measures, and a simulated review."""

import numpy as np
import pytest

from eigenclean_lab.bench import decisions


def test_measures() -> None:
    flagged, wrong = np.array([True, True, False, False]), np.array([True, False, True, False])
    assert decisions.f_score(flagged, wrong) == 0.5
    assert decisions.f_score(flagged, np.zeros(4, dtype=bool)) is None
    assert decisions.calibration_error(np.array([0.9, 0.1]), np.array([True, False])) == pytest.approx(0.1)


@pytest.mark.slow
def test_a_simulated_review(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "COUNTS", (40,))
    name, features, labels, truth = next(decisions.settings(None, 0))
    steps = decisions.simulate(name, features[:600], labels[:600], truth[:600])
    assert [step.n_decisions for step in steps] == [0, 40]
    assert steps[0].f == steps[0].f_before
    assert decisions.facts(steps, [])["steps"][1]["setting"] == name


@pytest.mark.slow
def test_orders_are_compared() -> None:
    name, features, labels, truth = next(decisions.settings(None, 0))
    steps = decisions.compare_orders(name, features[:500], labels[:500], truth[:500], 30)
    errors_found = {step.order: step.errors_found for step in steps}
    assert errors_found["worst"] >= errors_found["mixed"] >= errors_found["random"]
    assert all(step.n_decisions == 30 for step in steps)
