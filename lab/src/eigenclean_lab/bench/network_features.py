"""Features of a small network that was trained on the noisy labels, as the paper has them; the ``train`` extra."""

from eigenclean.arrays import Array
from eigenclean.train.encoder import EPOCHS_ON_IMAGES, EPOCHS_ON_VECTORS, trained_features


def from_images(pixels: Array, labels: Array, *, seed: int) -> Array:
    """What the small CNN sees in square grey images (n x side²) after learning these labels."""
    n, n_pixels = pixels.shape
    side = round(n_pixels**0.5)
    images = pixels.reshape(n, 1, side, side)
    return trained_features(images, labels, epochs=EPOCHS_ON_IMAGES, seed=seed, device="cpu", scale=False)


def from_vectors(features: Array, labels: Array, *, seed: int) -> Array:
    """The hidden layer of a small perceptron on standardised features after learning these labels."""
    return trained_features(features, labels, epochs=EPOCHS_ON_VECTORS, seed=seed, device="cpu")
