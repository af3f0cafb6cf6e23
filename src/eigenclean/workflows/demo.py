"""`eigenclean demo`: digits with planted errors, judged on the features of a small network."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier

from eigenclean.arrays import Array
from eigenclean.detect import FINE, Detector, detector
from eigenclean.metrics import reliability_curve, score_verdict
from eigenclean.noise import corrupt
from eigenclean.progress import track
from eigenclean.report import publish, results_folder
from eigenclean.sources.arrays.memory import MemorySource
from eigenclean.sources.layouts.bundled import DATASETS
from eigenclean.sources.record import source_record

DATA = "digits.npz"
DETECTORS: dict[str, Detector] = {"the judge": detector(), "FINE": FINE()}
_EPOCHS = 10  # enough to learn the digits, too few to memorise the errors


@dataclass(frozen=True)
class Demo:
    """The result of the demo: the summary that was written, and the measured quality of each detector."""

    folder: Path
    noise: str
    summary: dict[str, Any]
    quality: dict[str, dict[str, Any]]


def run_demo(out: Path, *, rate: float = 0.2, seed: int = 0, command: str | None = None) -> Demo:
    """Plant errors in scikit-learn's digits, train a network on the noisy labels, find the errors, report."""
    with results_folder(out) as folder:
        digits = DATASETS["digits"]()
        noisy = corrupt(digits.labels, "symmetric", rate, random_state=seed)
        features = network_features(digits.features() / 16, noisy.labels, seed=seed)
        source = MemorySource(
            f"digits with {rate:.0%} symmetric noise", features, noisy.labels, images=digits.images
        )
        started = time.perf_counter()
        verdicts = {name: detector.fit_judge(features, noisy.labels) for name, detector in DETECTORS.items()}
        seconds = time.perf_counter() - started
        quality = {name: score_verdict(verdict, noisy.truth).as_dict() for name, verdict in verdicts.items()}
        name, verdict = next(iter(verdicts.items()))
        curve = reliability_curve(verdict.p_clean, noisy.truth.is_clean(verdict.labels))
        arrays = {"features": features, "labels": noisy.labels, "images": np.asarray(digits.images)}
        summary = publish(
            folder,
            verdict,
            source,
            command=command,
            seconds=seconds,
            facts={"source": source_record(DATA) | {"folder": str(folder.resolve())}},
            quality=quality[name],
            reliability=curve,
            others={DATA: lambda path: np.savez(path, allow_pickle=False, **arrays)},  # for `eigenclean review`
        )
    return Demo(folder, str(noisy.noise), summary, quality)


def network_features(pixels: Array, labels: Array, *, seed: int) -> Array:
    """Hidden activations of a small network trained on these labels, as in the paper."""
    network = MLPClassifier((128,), learning_rate_init=3e-3, random_state=seed)
    classes = np.unique(labels)
    for _ in track(range(_EPOCHS), "training a small network on the noisy labels"):
        network.partial_fit(pixels, labels, classes=classes)
    hidden = np.maximum(pixels @ network.coefs_[0] + network.intercepts_[0], 0)
    return np.asarray(hidden, dtype=np.float32)
