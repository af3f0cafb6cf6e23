"""The data of `eigenclean bench quality`: what each is, which half it belongs to, and how it is loaded.

A data set belongs to one half as a whole: choices are made on the development half, and the confirmation half, of
other data, is reported. CIFAR-10, whose labels by people exist nowhere else, is cut in two by its rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from eigenclean_lab.bench.quality.data.embeddings import load_banking77, load_cifar10, load_cifar100
from eigenclean_lab.bench.quality.data.loaded import Loaded
from eigenclean_lab.bench.quality.data.pixels import load_digits, load_fashion, load_mnist
from eigenclean_lab.bench.quality.data.tables import load_mlbench, load_penguins, load_sklearn
from eigenclean_lab.bench.quality.data.texts import load_imdb

Half = Literal["development", "confirmation", "earlier"]
Family = Literal["tables", "pixels", "texts", "features", "network", "probabilities"]
HALVES: tuple[Half, ...] = ("development", "confirmation", "earlier")
FAMILIES: tuple[Family, ...] = ("tables", "pixels", "texts", "features", "network", "probabilities")

LOADERS: dict[str, Callable[[Path | None, str], Loaded]] = {
    "mlbench": load_mlbench,
    "sklearn": load_sklearn,
    "penguins": load_penguins,
    "digits": load_digits,
    "fashion": load_fashion,
    "mnist": load_mnist,
    "banking77": load_banking77,
    "imdb": load_imdb,
    "cifar10": load_cifar10,
    "cifar100": load_cifar100,
}


@dataclass(frozen=True)
class Data:
    """A data set.

    Attributes:
        loader: a name from `LOADERS`.
        family: what its features are.
        half: "development", "confirmation", or "earlier": all rows of CIFAR-10, as versions before 0.3 used them.
    """

    loader: str
    family: Family
    half: Half


DATA: dict[str, Data] = {
    "cifar10": Data("cifar10", "features", "earlier"),
    "Vehicle": Data("mlbench", "tables", "development"),
    "Vowel": Data("mlbench", "tables", "development"),
    "DNA": Data("mlbench", "tables", "development"),
    "BreastCancer": Data("mlbench", "tables", "development"),
    "Glass": Data("mlbench", "tables", "development"),
    "Ionosphere": Data("mlbench", "tables", "development"),
    "Shuttle": Data("mlbench", "tables", "development"),
    "Zoo": Data("mlbench", "tables", "development"),
    "iris": Data("sklearn", "tables", "development"),
    "digits": Data("digits", "pixels", "development"),
    "fashion": Data("fashion", "pixels", "development"),
    "banking77": Data("banking77", "texts", "development"),
    "cifar10-dev": Data("cifar10", "features", "development"),
    "LetterRecognition": Data("mlbench", "tables", "confirmation"),
    "Soybean": Data("mlbench", "tables", "confirmation"),
    "PimaIndiansDiabetes2": Data("mlbench", "tables", "confirmation"),
    "HouseVotes84": Data("mlbench", "tables", "confirmation"),
    "Sonar": Data("mlbench", "tables", "confirmation"),
    "Satellite": Data("mlbench", "tables", "confirmation"),
    "wine": Data("sklearn", "tables", "confirmation"),
    "breast_cancer": Data("sklearn", "tables", "confirmation"),
    "penguins": Data("penguins", "tables", "confirmation"),
    "mnist": Data("mnist", "pixels", "confirmation"),
    "imdb": Data("imdb", "texts", "confirmation"),
    "cifar100": Data("cifar100", "features", "confirmation"),
    "cifar10-conf": Data("cifar10", "features", "confirmation"),
}


def load(name: str, folder: Path | None) -> Loaded:
    """The data set of this name; `MissingData` says which package or file is needed."""
    return LOADERS[DATA[name].loader](folder, name)
