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
class DataSet:
    """A data set.

    Attributes:
        loader: a name from `LOADERS`.
        family: what its features are.
        half: "development", "confirmation", or "earlier": all rows of CIFAR-10, as versions before 0.3 used them.
    """

    loader: str
    family: Family
    half: Half


DATA: dict[str, DataSet] = {
    "cifar10": DataSet("cifar10", "features", "earlier"),
    "Vehicle": DataSet("mlbench", "tables", "development"),
    "Vowel": DataSet("mlbench", "tables", "development"),
    "DNA": DataSet("mlbench", "tables", "development"),
    "BreastCancer": DataSet("mlbench", "tables", "development"),
    "Glass": DataSet("mlbench", "tables", "development"),
    "Ionosphere": DataSet("mlbench", "tables", "development"),
    "Shuttle": DataSet("mlbench", "tables", "development"),
    "Zoo": DataSet("mlbench", "tables", "development"),
    "iris": DataSet("sklearn", "tables", "development"),
    "digits": DataSet("digits", "pixels", "development"),
    "fashion": DataSet("fashion", "pixels", "development"),
    "banking77": DataSet("banking77", "texts", "development"),
    "cifar10-dev": DataSet("cifar10", "features", "development"),
    "LetterRecognition": DataSet("mlbench", "tables", "confirmation"),
    "Soybean": DataSet("mlbench", "tables", "confirmation"),
    "PimaIndiansDiabetes2": DataSet("mlbench", "tables", "confirmation"),
    "HouseVotes84": DataSet("mlbench", "tables", "confirmation"),
    "Sonar": DataSet("mlbench", "tables", "confirmation"),
    "Satellite": DataSet("mlbench", "tables", "confirmation"),
    "wine": DataSet("sklearn", "tables", "confirmation"),
    "breast_cancer": DataSet("sklearn", "tables", "confirmation"),
    "penguins": DataSet("penguins", "tables", "confirmation"),
    "mnist": DataSet("mnist", "pixels", "confirmation"),
    "imdb": DataSet("imdb", "texts", "confirmation"),
    "cifar100": DataSet("cifar100", "features", "confirmation"),
    "cifar10-conf": DataSet("cifar10", "features", "confirmation"),
}


def load(name: str, folder: Path | None) -> Loaded:
    """The data set of this name; `MissingData` says which package or file is needed."""
    return LOADERS[DATA[name].loader](folder, name)
