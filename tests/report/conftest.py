"""Verdicts to report on: an ordinary one, and one whose every string is hostile."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from eigenclean.metrics import reliability_curve
from eigenclean.verdict import Verdict

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "' onmouseover='alert(3)",
    "{{ 7 * 7 }}</style></script><b>",
    "x" * 500,
    "🐈‍⬛ the black cat",
    "قطة → كلب",
    "\u202egnp.exe",
)


def _verdict(n: int = 300, n_classes: int = 5, rate: float = 0.2, seed: int = 0, **fields: Any) -> Verdict:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n)
    wrong = rng.random(n) < rate
    score = np.where(wrong, rng.normal(0.4, 0.1, n), rng.normal(0.8, 0.06, n))
    p_clean = 1 / (1 + np.exp(-25 * (score - 0.6)))
    flagged = p_clean < 0.5
    given: dict[str, Any] = {
        "ids": np.arange(n),
        "labels": labels,
        "score": score,
        "p_clean": p_clean,
        "flagged": flagged,
        "suggested": np.where(flagged, (labels + rng.integers(1, max(2, n_classes), n)) % n_classes, labels),
        "suggested_confidence": 1 - p_clean,
        "made_by": {
            "method": "fine",
            "parameters": {"preset": "official", "random_state": 0},
            "notes": ["Two classes are small."],
            "threshold": 0.5,
            "mixture": {
                "kind": "gaussian",
                "weights": [[rate, 1 - rate]] * n_classes,
                "means": [[0.4, 0.8]] * n_classes,
                "variances": [[0.01, 0.0036]] * n_classes,
                "split": [True] * n_classes,
                "boundary": [0.6] * n_classes,
            },
        },
    }
    return Verdict(**(given | fields))


@pytest.fixture
def make() -> Callable[..., Verdict]:
    """Build a verdict of a given size; fields may be replaced."""
    return _verdict


@pytest.fixture
def hostile() -> tuple[Verdict, dict[str, Any]]:
    """A verdict and the other arguments, with something nasty wherever a user may write."""
    plain = _verdict(n=240, n_classes=len(HOSTILE))
    names = np.array(HOSTILE)
    nasty = HOSTILE[0]
    verdict = _verdict(
        n=240,
        n_classes=len(HOSTILE),
        ids=np.array([f"{HOSTILE[i % len(HOSTILE)]}{i}" for i in range(240)]),
        labels=names[plain.labels],
        suggested=names[plain.suggested],
        made_by={"method": nasty, "parameters": {nasty: nasty, "p": {"<b>": nasty}}, "notes": [nasty]},
    )
    rng = np.random.default_rng(1)
    return verdict, {
        "features": rng.standard_normal((240, 6)),
        "images": rng.integers(0, 255, (240, 8, 8), dtype=np.uint8),
        "texts": [f"{nasty} text {i}" for i in range(240)],
        "run": dict.fromkeys(("source", "command", "version", "data_hash", "created"), nasty) | {"seconds": 1.5},
        "quality": {"noisy_precision": 0.9, "auroc": None},
        "reliability": reliability_curve(verdict.p_clean, ~verdict.flagged),
    }
