"""Cuts turn scores into P(label right). A new cut is one file and one line in `CUTS`."""

from sklearn.base import clone

from eigenclean.detect.cuts.base import Cut
from eigenclean.detect.cuts.kmeans import KMeansCut
from eigenclean.detect.cuts.margin import MarginCut
from eigenclean.detect.cuts.mixture import BetaCut, GaussianCut
from eigenclean.detect.cuts.thresholds import FixedCut, PosteriorCut, QuantileCut
from eigenclean.names import check_name

CUTS: dict[str, type[Cut]] = {
    "gaussian": GaussianCut,
    "beta": BetaCut,
    "kmeans": KMeansCut,
    "quantile": QuantileCut,
    "fixed": FixedCut,
    "posterior": PosteriorCut,
    "margin": MarginCut,
}

__all__ = [
    "CUTS",
    "BetaCut",
    "Cut",
    "FixedCut",
    "GaussianCut",
    "KMeansCut",
    "MarginCut",
    "PosteriorCut",
    "QuantileCut",
    "make_cut",
]


def make_cut(cut: str | Cut) -> Cut:
    """A fresh cut from its name, or a copy of the given one.

    >>> make_cut("kmeans")
    KMeansCut()
    """
    if isinstance(cut, Cut):
        fresh: Cut = clone(cut)
        return fresh
    check_name(cut, CUTS, by="detector", what="cut")
    return CUTS[cut]()
