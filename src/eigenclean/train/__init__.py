"""Training in spite of wrong labels: recipes are values and need no torch, fitting one does."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from eigenclean.deprecation import renamed_names
from eigenclean.sampling import held_out
from eigenclean.train.augment import AUGMENTS, augmentation_by_name
from eigenclean.train.callbacks import Callback
from eigenclean.train.component import ComponentSpec
from eigenclean.train.data.inputs import InputSpec, as_inputs, take_rows
from eigenclean.train.estimator import RobustClassifier
from eigenclean.train.optimiser import Optimiser
from eigenclean.train.overrides import with_settings
from eigenclean.train.presets import PRESETS
from eigenclean.train.probe.recipe import Probe
from eigenclean.train.recipe import EpochPlan, Recipe, Stage
from eigenclean.train.recipes import RECIPES, recipe, recipe_names
from eigenclean.train.recipes.dividemix import DIVIDEMIX_BY_NOISE
from eigenclean.train.selecting import Selecting
from eigenclean.train.selection import Selection
from eigenclean.train.selectors import (
    SELECTORS,
    BatchSelector,
    FromDetector,
    KeepAll,
    Memory,
    Selector,
    make_selector,
)
from eigenclean.train.storage.run_files import CHECKPOINT, METRICS, Checkpoints, MetricsFile, clear_leftovers

if TYPE_CHECKING:
    from eigenclean.train.data.pool import Pool
    from eigenclean.train.encoder import EPOCHS_ON_IMAGES, EPOCHS_ON_VECTORS, embed_by_training, trained_features
    from eigenclean.train.engine import Engine
    from eigenclean.train.loop.evaluation import collect_evidence, network_outputs
    from eigenclean.train.tensorboard import TensorBoard

# Names whose modules import torch or other extras: resolved on first use.
_LAZY = {
    "EPOCHS_ON_IMAGES": "eigenclean.train.encoder",
    "EPOCHS_ON_VECTORS": "eigenclean.train.encoder",
    "TensorBoard": "eigenclean.train.tensorboard",
    "embed_by_training": "eigenclean.train.encoder",
    "trained_features": "eigenclean.train.encoder",
    "Engine": "eigenclean.train.engine",
    "Pool": "eigenclean.train.data.pool",
    "collect_evidence": "eigenclean.train.loop.evaluation",
    "network_outputs": "eigenclean.train.loop.evaluation",
}

__all__ = [
    "AUGMENTS",
    "CHECKPOINT",
    "DIVIDEMIX_BY_NOISE",
    "EPOCHS_ON_IMAGES",
    "EPOCHS_ON_VECTORS",
    "METRICS",
    "PRESETS",
    "RECIPES",
    "SELECTORS",
    "BatchSelector",
    "Callback",
    "Checkpoints",
    "ComponentSpec",
    "Engine",
    "EpochPlan",
    "FromDetector",
    "InputSpec",
    "KeepAll",
    "Memory",
    "MetricsFile",
    "Optimiser",
    "Pool",
    "Probe",
    "Recipe",
    "RobustClassifier",
    "Selecting",
    "Selection",
    "Selector",
    "Stage",
    "TensorBoard",
    "as_inputs",
    "augmentation_by_name",
    "clear_leftovers",
    "collect_evidence",
    "embed_by_training",
    "held_out",
    "make_selector",
    "network_outputs",
    "recipe",
    "recipe_names",
    "take_rows",
    "trained_features",
    "with_settings",
]


_renamed = renamed_names(__name__, {"Part": "ComponentSpec"})


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        return _renamed(name)
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value  # found without this function from now on
    return value
