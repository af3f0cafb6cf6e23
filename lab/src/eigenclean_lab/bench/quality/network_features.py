"""Features of a small network that was trained on the given labels, as the paper judges them."""

from eigenclean.arrays import Array
from eigenclean.extras import require
from eigenclean.workflows import network_features


def perceptron_features(pixels: Array, labels: Array, *, seed: int, epochs: int, data: str) -> Array:
    """Hidden layer of scikit-learn's perceptron on the digits; ``epochs`` must be 0, its usual number."""
    return network_features(pixels / 16, labels, seed=seed)


def vector_features(features: Array, labels: Array, *, seed: int, epochs: int, data: str) -> Array:
    """Hidden layer of a small perceptron on standardised features of a pretrained encoder."""
    _require_torch(data)
    from eigenclean.train import EPOCHS_ON_VECTORS, trained_features

    return trained_features(features, labels, epochs=epochs or EPOCHS_ON_VECTORS, seed=seed, device="cpu")


def image_features(pixels: Array, labels: Array, *, seed: int, epochs: int, data: str) -> Array:
    """Last hidden layer of the small CNN on square grey images (n x side²)."""
    _require_torch(data)
    from eigenclean.train import EPOCHS_ON_IMAGES, trained_features

    n, n_pixels = pixels.shape
    side = round(n_pixels**0.5)
    images = pixels.reshape(n, 1, side, side)
    epochs = epochs or EPOCHS_ON_IMAGES
    return trained_features(images, labels, epochs=epochs, seed=seed, device="cpu", scale=False)


def _require_torch(data: str) -> None:
    for library in ("torch", "accelerate"):
        require(library, extra="train", caller=f"bench quality, {data}-net")
