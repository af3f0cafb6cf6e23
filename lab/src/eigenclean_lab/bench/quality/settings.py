"""The settings of `eigenclean bench quality`: real data with errors whose truth is known.

The name of a setting says all about it: data, what makes it harder, and noise, as in ``cifar10-dev-1000/pair-20``.

* ``-2classes``: the two classes that are most alike; ``-50to1``: the largest class has 50 times the rows of the
  smallest; ``-1000``: so many rows;
* ``-net10``: features of a small network after 10 epochs on the given labels (``-net``: as many as `--encoder
  trained` takes); ``-logistic``, ``-boosting``, ``-mlp``: out-of-fold probabilities of that model;
* ``clean``; ``uniform-20``: 20 % of the labels, each moved to any other class; ``sym-20``: 20 % are drawn from all
  classes, the right one included, as papers do; ``pair-20``: 20 % of each class move to the next class;
  ``oneclass-40``: 40 % of the largest class; ``boundary-15``: the 15 % nearest to another class get its label;
  ``instance-20``: instance-dependent; ``human-worst``: labels that people gave.
"""

from eigenclean.errors import InvalidOption
from eigenclean.noise import Noise, make_noise
from eigenclean_lab.bench.quality.case import QualitySetting
from eigenclean_lab.bench.quality.data import DATA
from eigenclean_lab.bench.quality.noise import Boundary, OneClass
from eigenclean_lab.bench.quality.probabilities import MODELS

QUICK = ("digits/sym-0", "digits/sym-20", "digits/sym-50")

_TABLE = "clean uniform-10 uniform-20 pair-20"
_TABLE_OF_TWO = "clean uniform-10 uniform-20 oneclass-20"  # of two classes: pair noise would be uniform
_SMALL = "clean uniform-20"
_SPECIAL = "uniform-2 uniform-50 pair-20 oneclass-40 boundary-15 instance-20"

EARLIER = {
    "cifar10": "sym-0 sym-2 sym-20 sym-50 sym-80 asym-40 instance-40 human-aggre human-rand1 human-worst",
    "cifar10-10to1": "sym-20 sym-50",
    "cifar10-net": "sym-0 sym-20 sym-50 sym-80 asym-40",
    "fashion-net": "sym-0 sym-20 sym-50 sym-80 pair-40",
}
DEVELOPMENT = {
    "banking77": "sym-20 sym-50 clean pair-20",
    "banking77-2classes": _SMALL,
    "banking77-3000": "clean uniform-20 pair-20 boundary-15",
    "fashion": "sym-0 sym-20 sym-50 sym-80 pair-40",
    "fashion-300": _SMALL,
    "fashion-1000": _SMALL,
    "fashion-3000": "clean uniform-2 uniform-20 oneclass-40 boundary-15 instance-40",
    "fashion-50to1": _SMALL,
    "digits": f"sym-0 sym-20 sym-50 {_SPECIAL}",
    "digits-300": _SMALL,
    "digits-1000": _SMALL,
    "digits-2classes": _SMALL,
    "digits-net": "sym-0 sym-20 sym-50",
    "Vehicle": f"{_TABLE} oneclass-40",
    "Vowel": f"{_TABLE} boundary-15",
    "DNA": f"{_TABLE} uniform-2 uniform-50 oneclass-40 boundary-15 instance-20",
    "BreastCancer": f"{_TABLE_OF_TWO} boundary-15 instance-20",
    "Glass": _TABLE,
    "Ionosphere": _TABLE_OF_TWO,
    "Shuttle": f"{_TABLE} uniform-2",
    "Zoo": _TABLE,
    "iris": _TABLE,
    "Vehicle-300": _SMALL,
    "Vehicle-2classes": _SMALL,
    "Vowel-2classes": _SMALL,
    "DNA-300": _SMALL,
    "DNA-1000": _SMALL,
    "DNA-50to1": _SMALL,
    "Shuttle-1000": _SMALL,
    "Shuttle-3000": _SMALL,
    "cifar10-dev": f"{_SMALL} {_SPECIAL} instance-40 human-aggre human-rand1 human-worst",
    "cifar10-dev-300": f"{_SMALL} human-worst",
    "cifar10-dev-1000": f"{_SMALL} human-aggre",
    "cifar10-dev-3000": f"{_SMALL} pair-20",
    "cifar10-dev-2classes": _SMALL,
    "cifar10-dev-50to1": _SMALL,
    "cifar10-dev-net3": "uniform-20 uniform-50 human-worst",
    "cifar10-dev-net10": "uniform-20 uniform-50 human-worst",
    "cifar10-dev-net40": "uniform-20 uniform-50",
    "Vehicle-logistic": "clean uniform-20 pair-20",
    "Vehicle-boosting": "clean uniform-20 pair-20",
    "Vehicle-mlp": _SMALL,
    "DNA-logistic": _SMALL,
    "DNA-mlp": _SMALL,
    "BreastCancer-boosting": _SMALL,
    "digits-logistic": _SMALL,
    "digits-mlp": f"{_SMALL} boundary-15",
    "cifar10-dev-3000-logistic": "clean uniform-20 human-aggre human-worst",
    "cifar10-dev-3000-mlp": "clean uniform-20 human-aggre human-worst",
}
CONFIRMATION = {
    "LetterRecognition": _TABLE,
    "Soybean": f"{_TABLE} oneclass-40",
    "PimaIndiansDiabetes2": f"{_TABLE_OF_TWO} boundary-15",
    "HouseVotes84": _TABLE_OF_TWO,
    "Sonar": _TABLE_OF_TWO,
    "Satellite": f"{_TABLE} uniform-2 uniform-50 oneclass-40 boundary-15 instance-20",
    "wine": _TABLE,
    "breast_cancer": f"{_TABLE_OF_TWO} boundary-15 instance-20",
    "penguins": _TABLE,
    "LetterRecognition-3000": _SMALL,
    "LetterRecognition-2classes": _SMALL,
    "Satellite-300": _SMALL,
    "Satellite-1000": _SMALL,
    "Satellite-3000": _SMALL,
    "Satellite-2classes": _SMALL,
    "Satellite-50to1": _SMALL,
    "mnist": f"{_SMALL} {_SPECIAL}",
    "mnist-300": _SMALL,
    "mnist-1000": _SMALL,
    "mnist-3000": f"{_SMALL} instance-40",
    "mnist-2classes": _SMALL,
    "mnist-50to1": _SMALL,
    "imdb": "clean uniform-2 uniform-10 uniform-20 oneclass-20 boundary-15 instance-20",
    "imdb-300": _SMALL,
    "imdb-1000": _SMALL,
    "imdb-3000": _SMALL,
    "imdb-50to1": "clean uniform-2",
    "cifar100": _SMALL,
    "cifar100-1000": "uniform-20",
    "cifar100-3000": f"{_SMALL} pair-20",
    "cifar100-2classes": _SMALL,
    "cifar10-conf": f"{_SMALL} {_SPECIAL} instance-40 human-aggre human-rand2 human-rand3 human-worst",
    "cifar10-conf-300": f"{_SMALL} human-worst",
    "cifar10-conf-1000": f"{_SMALL} human-aggre",
    "cifar10-conf-3000": f"{_SMALL} pair-20",
    "cifar10-conf-2classes": _SMALL,
    "cifar10-conf-50to1": _SMALL,
    "cifar100-net3": "uniform-20",
    "cifar100-net10": "uniform-20",
    "cifar100-net40": "uniform-20",
    "mnist-1000-net3": "uniform-20 uniform-50",
    "mnist-1000-net10": "uniform-20 uniform-50",
    "mnist-1000-net40": "uniform-20",
    "breast_cancer-logistic": "clean uniform-20 oneclass-20",
    "breast_cancer-boosting": "clean uniform-20 oneclass-20",
    "breast_cancer-mlp": _SMALL,
    "Satellite-3000-logistic": _SMALL,
    "Satellite-1000-boosting": f"{_SMALL} pair-20",
    "Satellite-3000-mlp": _SMALL,
    "mnist-3000-logistic": _SMALL,
    "mnist-3000-mlp": f"{_SMALL} boundary-15",
    "imdb-3000-logistic": _SMALL,
    "cifar10-conf-3000-logistic": "clean uniform-20 human-aggre human-worst",
    "cifar10-conf-3000-mlp": "clean uniform-20 human-aggre human-worst",
}


def parse_setting(name: str, *, earlier: bool = False) -> QualitySetting:
    """The setting that a name stands for.

    >>> parse_setting("cifar10-dev-1000/pair-20")
    QualitySetting(data='cifar10-dev', noise=Pair(rate=0.2, exact=True), two_classes=False, ratio=1.0, n_rows=1000,
            epochs=None, model=None)
    """
    group, _, noise = name.partition("/")
    data = max((data for data in DATA if f"{group}-".startswith(f"{data}-")), key=len, default="")
    if not data:
        raise InvalidOption(f"bench quality: the setting {name!r} names no data; there are {', '.join(DATA)}")
    variant: dict[str, bool | float | str] = {}
    for word in filter(None, group.removeprefix(data).split("-")):
        if word == "2classes":
            variant["two_classes"] = True
        elif word.endswith("to1"):
            variant["ratio"] = float(word.removesuffix("to1"))
        elif word.startswith("net"):
            variant["epochs"] = int(word.removeprefix("net") or 0)
        elif word in MODELS:
            variant["model"] = word
        else:
            variant["n_rows"] = int(word)
    return QualitySetting(data, _noise(noise), **variant, earlier=earlier, name=name)  # type: ignore[arg-type]


def _noise(text: str) -> Noise | str | None:
    kind, _, value = text.partition("-")
    if kind == "human":
        return value
    share = int(value or 0) / 100
    if share == 0:
        return None
    if kind == "boundary":
        return Boundary(share)
    if kind == "oneclass":
        return OneClass(share)
    if kind == "uniform":
        return make_noise("symmetric", share, inclusive=False)
    if kind == "asym":
        return make_noise("asymmetric", share, map="cifar10")
    return make_noise({"sym": "symmetric"}.get(kind, kind), share)


SETTINGS: dict[str, QualitySetting] = {
    f"{group}/{noise}": parse_setting(f"{group}/{noise}", earlier=groups is EARLIER)
    for groups in (EARLIER, DEVELOPMENT, CONFIRMATION)
    for group, noises in groups.items()
    for noise in noises.split()
}
