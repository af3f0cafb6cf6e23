"""Facts about the machine that are stored with measurements."""

import json
import os
import sys

import numpy as np
import pytest
import sklearn

from eigenclean_lab import machine


def test_facts_are_versions_and_go_to_json() -> None:
    facts = machine.detection_facts()
    assert facts == {
        "cpu_count": os.cpu_count(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "numpy": np.__version__,
        "scikit_learn": sklearn.__version__,
    }
    timing = machine.timing_facts(2)
    assert timing["threads"] == 2 and json.loads(json.dumps(timing)) == timing
    assert timing["blas"] and all(isinstance(library, str) for library in timing["blas"])


def test_without_torch_the_facts_of_a_training_are_those_of_the_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    facts = machine.training_facts("cpu")
    assert (facts["torch"], facts["threads"], facts["device"]) == (
        torch.__version__,
        torch.get_num_threads(),
        "cpu",
    )
    monkeypatch.setattr(machine, "find_spec", lambda name: None)
    assert machine.training_facts("cpu") == {name: facts[name] for name in ("cpu_count", "python", "numpy")}
