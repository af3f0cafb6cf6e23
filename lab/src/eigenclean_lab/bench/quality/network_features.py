"""Features of a small network that was trained on the noisy labels, as the paper judges them."""

from eigenclean.arrays import Array
from eigenclean.extras import require
from eigenclean.workflows import network_features


def digits_features(pixels: Array, labels: Array, seed: int) -> Array:
    """Hidden layer of scikit-learn's perceptron on the digits."""
    return network_features(pixels / 16, labels, seed=seed)


def cifar10_features(features: Array, labels: Array, seed: int) -> Array:
    """Hidden layer of a small perceptron on standardised features of a pretrained encoder."""
    _require_torch("cifar10-net")
    from eigenclean.train import EPOCHS_ON_VECTORS, trained_features

    return trained_features(features, labels, epochs=EPOCHS_ON_VECTORS, seed=seed, device="cpu")


def fashion_features(pixels: Array, labels: Array, seed: int) -> Array:
    """Last hidden layer of the small CNN on square grey images (n x side²)."""
    _require_torch("fashion-net")
    from eigenclean.train import EPOCHS_ON_IMAGES, trained_features

    n, n_pixels = pixels.shape
    side = round(n_pixels**0.5)
    images = pixels.reshape(n, 1, side, side)
    return trained_features(images, labels, epochs=EPOCHS_ON_IMAGES, seed=seed, device="cpu", scale=False)


def _require_torch(data: str) -> None:
    for library in ("torch", "accelerate"):
        require(library, extra="train", caller=f"bench quality, {data}")
