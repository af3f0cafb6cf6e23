"""Features of a small network that was trained on the noisy labels, as the paper has them; the ``train`` extra."""

from collections.abc import Callable
from functools import partial

import numpy as np
from torch import nn

from eigenclean.arrays import Array, encode_labels
from eigenclean.nets import make_net
from eigenclean.train.engine import Engine
from eigenclean.train.observe import outputs
from eigenclean.train.pool import Pool
from eigenclean.train.recipes import recipe
from eigenclean.train.scaling import Scaling

# Long enough to learn the classes, too short to learn the errors by heart: from good features one is soon there.
_EPOCHS_ON_IMAGES = 5
_EPOCHS_ON_VECTORS = 2


def from_images(pixels: Array, labels: Array, *, seed: int) -> Array:
    """What the small CNN sees in square grey images (n x side²) after learning these labels."""
    n, n_pixels = pixels.shape
    side = round(n_pixels**0.5)
    images = pixels.reshape(n, 1, side, side)
    make = partial(make_net, "small-cnn", (1, side, side))
    return _trained(make, images, labels, seed, _EPOCHS_ON_IMAGES)


def from_vectors(features: Array, labels: Array, *, seed: int) -> Array:
    """The hidden layer of a small perceptron on standardised features after learning these labels."""
    make = partial(make_net, "mlp", features.shape[1], hidden=[128])
    return _trained(make, Scaling.of(features)(features), labels, seed, _EPOCHS_ON_VECTORS)


def _trained(make: Callable[[int], nn.Module], inputs: Array, labels: Array, seed: int, epochs: int) -> Array:
    """The features that the network has in the end; equal seeds give equal ones, so they need not be kept."""
    classes, codes = encode_labels(labels)
    pool = Pool.of(np.ascontiguousarray(inputs, dtype=np.float32), codes, classes)
    plan = recipe("standard", warm_up=1, epochs=epochs)
    engine = Engine(plan, lambda: make(len(classes)), pool, seed=seed, device="cpu").fit()
    features, _ = outputs(engine.networks[0], pool, features=True)
    assert features is not None
    return np.asarray(features.numpy())
