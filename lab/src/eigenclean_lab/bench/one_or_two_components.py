"""Quality of FINE with and without the test for one or two mixture components, on real data.

Run as ``python -m eigenclean_lab.bench.one_or_two_components``; writes results/one_or_two_components.json. Digits
come with scikit-learn. CIFAR-10 features with human labels (CIFAR-10N) are used when EIGENCLEAN_DATA names a folder
that has cifar10_lite1_20k.npz: arrays features, clean, aggre, rand1, worst.
"""

from collections.abc import Iterator

import numpy as np

from eigenclean import FINE
from eigenclean.arrays import Array
from eigenclean.detect.cuts import GaussianCut
from eigenclean.files import write_json
from eigenclean.metrics import score_verdict
from eigenclean.noise import corrupt
from eigenclean.sources import DATASETS
from eigenclean.truth import Truth
from eigenclean.workflows import network_features
from eigenclean_lab.data_folder import data_file, data_folder
from eigenclean_lab.store import MissingData

RATES = (0.0, 0.02, 0.2, 0.5, 0.8)
SEEDS = (0, 1)


def settings() -> Iterator[tuple[str, Array, Array, Truth]]:
    """Every setting: its name, features, given labels and truth."""
    digits = DATASETS["digits"]()
    pixels = digits.features() / 16
    for rate in RATES:
        for seed in SEEDS:
            noisy = corrupt(digits.labels, "symmetric", rate, random_state=seed)
            features = network_features(pixels, noisy.labels, seed=seed)
            yield f"digits, symmetric {rate:.0%}", features, noisy.labels, noisy.truth
    try:
        path = data_file(data_folder(), "cifar10_lite1_20k.npz")
    except MissingData:
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
    """Measure every setting with and without the test; write means over the seeds."""
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
