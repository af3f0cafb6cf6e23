"""What the one-or-two-components decision of the mixture cuts is worth, on real data.

Run as `python benchmarks/one_or_two_components.py`; writes results/one_or_two_components.json. Digits come with
scikit-learn. CIFAR-10 features with human labels (CIFAR-10N) are used when EIGENCLEAN_DATA names a folder that has
cifar10_lite1_20k.npz: arrays features, clean, aggre, rand1, worst.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from eigenclean import FINE
from eigenclean.arrays import Array
from eigenclean.detect.cuts import GaussianCut
from eigenclean.files import write_json
from eigenclean.metrics import score_verdict
from eigenclean.noise import corrupt
from eigenclean.sources.layouts.bundled import DATASETS
from eigenclean.truth import Truth
from eigenclean.workflows.demo import network_features

RATES = (0.0, 0.02, 0.2, 0.5, 0.8)
SEEDS = (0, 1)


def settings() -> Iterator[tuple[str, Array, Array, Truth]]:
    """Name, features, given labels, truth."""
    digits = DATASETS["digits"]()
    pixels = digits.features() / 16
    for rate in RATES:
        for seed in SEEDS:
            noisy = corrupt(digits.labels, "symmetric", rate, random_state=seed)
            features = network_features(pixels, noisy.labels, seed=seed)
            yield f"digits, symmetric {rate:.0%}", features, noisy.labels, noisy.truth
    path = Path(os.environ.get("EIGENCLEAN_DATA", ".")) / "cifar10_lite1_20k.npz"
    if not path.exists():
        return
    with np.load(path) as data:
        features, truth = data["features"].astype(np.float32), Truth(data["clean"])
        for rate in RATES:
            for seed in SEEDS:
                noisy = corrupt(truth.labels, "symmetric", rate, random_state=seed)
                yield f"cifar, symmetric {rate:.0%}", features, noisy.labels, truth
        for name in ("aggre", "rand1", "worst"):
            yield f"cifar, human {name}", features, data[name], truth


def main() -> None:
    """Judge every setting with both decisions; save means over the seeds."""
    rows: dict[str, dict[str, list[list[float]]]] = {}
    for name, features, given, truth in settings():
        for split in ("always", "auto"):
            verdict = FINE(cut=GaussianCut(split=split)).judge(features, given)
            quality = score_verdict(verdict, truth)
            auroc = float("nan") if quality.auroc is None else quality.auroc
            numbers = [quality.f, auroc, quality.flagged_share, verdict.noise_rate]
            rows.setdefault(name, {}).setdefault(split, []).append(numbers)
    keys = ("f", "auroc", "flagged", "estimated_noise_rate")
    record = {
        name: {
            split: {
                key: None if np.isnan(value) else round(float(value), 3)
                for key, value in zip(keys, np.mean(numbers, axis=0), strict=True)
            }
            for split, numbers in splits.items()
        }
        for name, splits in rows.items()
    }
    write_json("results/one_or_two_components.json", {"seeds": list(SEEDS), "settings": record})


if __name__ == "__main__":
    main()
