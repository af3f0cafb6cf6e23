"""What the training tests share: few threads, few samples."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

from eigenclean.arrays import Array, Ints
from eigenclean.nets import make_net
from eigenclean.train.data.pool import Pool


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small matrices are slower with two threads, much slower when the machine is shared."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def blobs() -> tuple[Array, Ints]:
    """Three well separated classes of 40, a few labels wrong."""
    rng = np.random.default_rng(3)
    codes = np.arange(120) % 3
    features = (6 * np.eye(3)[codes] @ rng.normal(size=(3, 8)) + rng.normal(size=(120, 8))).astype(np.float32)
    given = codes.copy()
    given[:9] = (given[:9] + 1) % 3
    return features, given


@pytest.fixture
def pool(blobs: tuple[Array, Ints]) -> Pool:
    return Pool.from_arrays(*blobs, np.array(["a", "b", "c"]))


@pytest.fixture
def small_net() -> Callable[[], torch.nn.Module]:
    return lambda: make_net("mlp", 8, 3, hidden=[16], dropout=0.2)
