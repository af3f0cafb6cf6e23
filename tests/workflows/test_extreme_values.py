"""The whole command on features of extreme magnitude: the verdict of ordinary ones, and no numerical warning."""

from pathlib import Path

import numpy as np
import pytest

from eigenclean.workflows.detect import DetectRequest, EngineOptions, MethodOptions, run_detect


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize("method", ["judge", "fine"])
def test_detect_at_any_magnitude(tmp_path: Path, engine: str, method: str) -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    features = 2 * rng.standard_normal((3, 6))[labels] + rng.standard_normal((90, 6))
    features /= np.abs(features).max()
    labels[:9] = (labels[:9] + 1) % 3
    flagged = []
    for number, values in enumerate((features, features * 2.0**-700, features * 2.0**1000)):
        path = tmp_path / f"{number}.npz"
        np.savez(path, features=values, labels=labels)
        request = DetectRequest(
            str(path), tmp_path / f"run{number}", MethodOptions(method), engine=EngineOptions(engine)
        )
        flagged.append(run_detect(request)["n_flagged"])  # warnings are errors here
    assert flagged[0] > 0 and len(set(flagged)) == 1
