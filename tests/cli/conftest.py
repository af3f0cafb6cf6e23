from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from eigenclean.arrays import Array
from eigenclean.cli.app import run
from eigenclean.noise import add_noise


class Ran:
    """What a command did: exit code, and what it printed."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def call(*arguments: object) -> Ran:
        code = run([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    return call


@pytest.fixture(scope="session")
def digits() -> tuple[Array, Array, Array]:
    """Pixels, noisy labels, true labels of 600 digits."""
    data, target = map(np.asarray, load_digits(return_X_y=True))
    return data[:600].astype(np.float32), add_noise(target[:600], rate=0.2), target[:600]


@pytest.fixture
def npz(tmp_path: Path, digits: tuple[Array, Array, Array]) -> Path:
    path = tmp_path / "digits.npz"
    np.savez(path, features=digits[0], labels=digits[1])
    return path
