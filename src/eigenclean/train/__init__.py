"""Training in spite of wrong labels. Recipes are values and need no torch; fitting one does."""

from eigenclean.train.callbacks import Callback
from eigenclean.train.component import Part
from eigenclean.train.estimator import RobustClassifier
from eigenclean.train.optimiser import Optimiser
from eigenclean.train.recipe import Recipe, Stage
from eigenclean.train.recipes import RECIPES, recipe
from eigenclean.train.selection import Selection
from eigenclean.train.selectors import SELECTORS, FromDetector, KeepAll, Selector

__all__ = [
    "RECIPES",
    "SELECTORS",
    "Callback",
    "FromDetector",
    "KeepAll",
    "Optimiser",
    "Part",
    "Recipe",
    "RobustClassifier",
    "Selection",
    "Selector",
    "Stage",
    "recipe",
]
