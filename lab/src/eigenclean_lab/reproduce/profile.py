"""What a profile is: data, networks and epochs that stand for those of the paper."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eigenclean.noise import Noise, make_noise, parse_noise

PEOPLE = "people"
MAPS = {"size": 64, "first_block": 16}  # pixels of an image, and the first block of the encoder that is trained


@dataclass(frozen=True)
class ProfileData:
    """What stands for a data set of the paper, and how long to train on it.

    Attributes:
        source: a source such as "cifar10:{data}", where ``{data}`` is the folder of the data; or a name of
            features or images of this package: "fashion", "cifar10", "cifar100", "banking77", "digits".
        description: of the data, for the reader.
        needs: the files or packages it needs.
        preset: of the recipes.
        net: the network; None for the preset's.
        net_options: its options.
        epochs: of a training; None for the preset's, and for features those of its warm-up.
        samples: to learn from at most, and as many to test on; None for all.
        asymmetric: the noise that stands for asymmetric noise, when no map is known for such classes.
        people: which of the labels that people gave, where there are several; or a noise that stands for them.
        vectors: a source of the same samples as features of an encoder, for methods that need such.
        optimiser: settings that differ from those of the preset.
    """

    source: str
    description: str
    needs: str = ""
    preset: str = "small"
    net: str | None = None
    net_options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    epochs: int | None = None
    samples: int | None = None
    asymmetric: Mapping[str, Any] | None = field(default=None, hash=False)
    people: str | None = None
    vectors: str | None = None
    optimiser: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def noise(self, text: str) -> Noise | None:
        """The noise that ``kind:rate`` stands for here; None for the labels as they come.

        >>> ProfileData("digits", "digits", asymmetric={"kind": "pair"}).noise("asymmetric:0.4")
        Pair(rate=0.4, exact=True)
        """
        if text == PEOPLE:
            return None
        kind, _, rate = text.partition(":")
        if kind == "asymmetric" and self.asymmetric is not None:
            options = dict(self.asymmetric)
            return make_noise(options.pop("kind"), float(rate), **options)
        return parse_noise(text)


@dataclass(frozen=True)
class Profile:
    """A size.

    Attributes:
        name: what to type.
        description: one sentence.
        seeds: how many, by default.
        training: by the paper's name of the data, what the trainings learn from.
        features: the same for analyses of the features of a network that was trained on the noisy labels.
        gpu: whether it takes too long without one.
        checkpoints: whether a stopped training continues where it was, not only a stopped table.
        is_papers: whether data, networks and epochs are the paper's, so that its numbers can be compared with.
    """

    name: str
    description: str
    seeds: int
    training: Mapping[str, ProfileData] = field(hash=False)
    features: Mapping[str, ProfileData] = field(hash=False)
    gpu: bool = False
    checkpoints: bool = False
    is_papers: bool = False

    def data(self, kind: str, name: str) -> ProfileData:
        """What stands for the data of that name in tasks of that kind."""
        return self._data(kind)[name]

    def has(self, kind: str, name: str) -> bool:
        """Whether something stands for the data of that name in tasks of that kind."""
        return kind == "theory" or name in self._data(kind)

    def _data(self, kind: str) -> Mapping[str, ProfileData]:
        return self.training if kind == "train" else self.features
