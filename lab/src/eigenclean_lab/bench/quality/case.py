"""A setting of `eigenclean bench quality`, as a value, and the case that a detector gets from it."""

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from eigenclean.arrays import Array, Float64s, encode_labels
from eigenclean.noise import Noise, corrupt
from eigenclean.truth import Truth
from eigenclean_lab.bench.quality.data import DATA, Family, Half, load
from eigenclean_lab.bench.quality.subsets import most_confused, stratified, thinned

# Functions that make features with a network, by the name of the data; imported on use, as some need torch.
NETWORKS = {
    "digits": "perceptron_features",
    "cifar10": "vector_features",
    "cifar10-dev": "vector_features",
    "cifar10-conf": "vector_features",
    "cifar100": "vector_features",
    "fashion": "image_features",
    "mnist": "image_features",
}
NETWORK_MODULE = "eigenclean_lab.bench.quality.network_features"
PROBABILITY_MODULE = "eigenclean_lab.bench.quality.probabilities"


@dataclass(frozen=True, eq=False)
class Case:
    """What a detector gets, and the truth that it does not get.

    Attributes:
        features: n x d.
        labels: the given labels.
        truth: the right labels.
        probabilities: n x K, out of fold, classes in sorted order; where they are there, the detector gets them
            and not the features.
        learned: whether the features are those of a network that was trained on the given labels.
        fitted: probabilities that models of peers have given for this case, and the seconds they took, by model.
    """

    features: Array
    labels: Array
    truth: Truth
    probabilities: Float64s | None = None
    learned: bool = False
    fitted: dict[str, tuple[Float64s, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class QualitySetting:
    """Data, size and noise.

    Attributes:
        data: a name from `DATA`.
        noise: a noise, or the name of a label set that people made ("aggre"); None leaves the labels as they are.
        two_classes: keep only the two classes that the nearest neighbours confuse most.
        ratio: above 1, thin the classes out, exponentially from the first to the last, so that the largest has
            so many times the rows of the smallest.
        n_rows: take so many rows, with the shares of the classes kept.
        epochs: judge features of a small network that was trained on the given labels for so many epochs; 0 for
            the number that `--encoder trained` takes.
        model: give the detector the out-of-fold probabilities of this model instead of features.
        earlier: belongs to the settings of versions before 0.3, which are shown apart.
        name: as the table shows it.
    """

    data: str
    noise: Noise | str | None
    two_classes: bool = False
    ratio: float = 1.0
    n_rows: int | None = None
    epochs: int | None = None
    model: str | None = None
    earlier: bool = field(default=False, compare=False, repr=False)
    name: str = field(default="", compare=False, repr=False)

    @property
    def seeded(self) -> bool:
        """Whether rows, labels or features depend on the seed; otherwise one run is enough."""
        is_subset = self.ratio > 1 or self.n_rows is not None
        return isinstance(self.noise, Noise) or is_subset or self.model is not None

    @property
    def learned(self) -> bool:
        """Whether the features are those of a network that was trained on the given labels."""
        return self.epochs is not None

    @property
    def half(self) -> Half:
        """The half of its data: "development", "confirmation" or "earlier"."""
        return "earlier" if self.earlier else DATA[self.data].half

    @property
    def family(self) -> Family:
        """What the detector gets: the kind of features, or "probabilities"."""
        if self.model is not None:
            return "probabilities"
        return "network" if self.learned else DATA[self.data].family

    def make(self, folder: Path | None, seed: int) -> Case:
        """The case for this seed; `MissingData` says which package or file is needed."""
        loaded = load(self.data, folder)
        if self.two_classes:
            loaded = loaded.take(most_confused(loaded.features, loaded.labels))
        if self.ratio > 1:
            loaded = loaded.take(thinned(loaded.labels, self.ratio, seed))
        if self.n_rows is not None:
            loaded = loaded.take(stratified(loaded.labels, self.n_rows, seed))
        features, labels, truth = loaded.features, loaded.labels, Truth(loaded.labels)
        if isinstance(self.noise, str):
            labels = loaded.label_sets[self.noise]
        elif self.noise is not None:
            noisy = corrupt(labels, self.noise, random_state=seed, features=features)
            labels, truth = noisy.labels, noisy.truth
        if self.epochs is not None:
            train = getattr(import_module(NETWORK_MODULE), NETWORKS[self.data])
            features = train(features, labels, seed=seed, epochs=self.epochs, data=self.data)
        probabilities = None
        if self.model is not None:
            predict = import_module(PROBABILITY_MODULE).out_of_fold
            probabilities = predict(self.model, features, encode_labels(labels)[1], seed=seed)
        return Case(features, labels, truth, probabilities, self.learned)
