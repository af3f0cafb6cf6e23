"""Encoders from torch modules, functions that make them, and TorchScript files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.features import make_encoder
from eigenclean.features.encoders.torch_module import TorchEncoder, as_features, module_digest
from tests.features.test_encoders import PICTURES, features


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 6, 3), nn.Linear(6, 2)

    def forward(self, x: Tensor) -> Tensor:
        return torch.as_tensor(self.head(self.conv(x).mean(dim=(2, 3))))


def test_a_module_by_one_of_its_layers() -> None:
    net = Net().eval()
    encoder = TorchEncoder(net, feature_layer="conv", size=8, mean=0.5, std=0.5, device="cpu")
    result = features(encoder, PICTURES)
    pixels = np.stack([encoder.prepare(picture) for picture in PICTURES]).astype(np.float32) / 127.5 - 1
    with torch.no_grad():
        maps = net.conv(torch.from_numpy(pixels).permute(0, 3, 1, 2))
    np.testing.assert_allclose(result, maps.mean(dim=(2, 3)).numpy(), atol=1e-5)
    assert features(TorchEncoder(net, size=8, device="cpu"), PICTURES).shape == (5, 2)


def test_the_key_sees_weights_layout_and_preprocessing() -> None:
    net, other = Net(), Net()
    assert module_digest(net) == module_digest(net) != module_digest(other)
    other.load_state_dict(net.state_dict())
    assert module_digest(net) == module_digest(other)
    keys = {TorchEncoder(net, size=size, mean=mean, device="cpu").key() for size in (8, 9) for mean in (0.1, 0.2)}
    assert len(keys) == 4


def script(path: Path) -> Path:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch would rather have people export
        torch.jit.trace(Net().eval(), torch.zeros(1, 3, 8, 8)).save(str(path))  # type: ignore[no-untyped-call]
    return path


CODE = """
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 6, 3), nn.Linear(6, 2)
    def forward(self, x):
        return self.head(self.conv(x).mean(dim=(2, 3)))

def nothing():
    return None
"""


@pytest.mark.parametrize("kind", ["pt", "safetensors"])
def test_a_module_of_ones_own_with_weights(tmp_path: Path, kind: str) -> None:
    from safetensors.torch import save_file

    (tmp_path / "nets.py").write_text(CODE)
    net, weights = Net().eval(), tmp_path / f"weights.{kind}"
    if kind == "pt":
        torch.save(net.state_dict(), weights)
    else:
        save_file(net.state_dict(), weights)
    text = f"torch:{tmp_path / 'nets.py'}:Net?weights={weights}&size=8"
    np.testing.assert_allclose(
        features(make_encoder(text, device="cpu"), PICTURES),
        features(TorchEncoder(net, size=8, device="cpu"), PICTURES),
        atol=1e-6,
    )
    assert make_encoder(f"torch:{tmp_path / 'nets.py'}:Net").key() != make_encoder(text).key()


def test_mistakes_about_modules_get_a_sentence(tmp_path: Path) -> None:
    marks = tmp_path / "ran"

    class Bomb:
        def __reduce__(self) -> Any:
            return Path.touch, (marks,)

    (tmp_path / "nets.py").write_text(CODE)
    torch.save(Bomb(), tmp_path / "bomb.pt")
    torch.save({"other": torch.ones(1)}, tmp_path / "other.pt")
    (tmp_path / "words.safetensors").write_text("words")
    prefix = f"torch:{tmp_path / 'nets.py'}"
    for text, words in (
        (f"{prefix}:Net?weights={tmp_path / 'bomb.pt'}", r"bomb\.pt is no state dict of this module"),
        (f"{prefix}:Net?weights={tmp_path / 'other.pt'}", r"other\.pt is no state dict of this module"),
        (f"{prefix}:Net?weights={tmp_path / 'words.safetensors'}", r"words\.safetensors is no state dict"),
        (f"{prefix}:Net?weights={tmp_path / 'none.pt'}", r"there is no file .*none\.pt"),
        (f"{prefix}:nothing", r"nothing must return a torch\.nn\.Module, got NoneType"),
        (f"{prefix}:nonsense", r"nets\.py has no function nonsense"),
        (f"torch:{tmp_path / 'no.py'}:Net", r"there is no file .*no\.py"),
        ("torch:no.such.module:Net", r"No module named 'no'; give a file"),
        ("torch:nets", r"must look like torch:nets\.py:make_net"),
    ):
        with pytest.raises((InvalidData, InvalidOption), match=words):
            make_encoder(text)
    assert not marks.exists()


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_torchscript_file(tmp_path: Path) -> None:
    path = script(tmp_path / "net.pt")
    for text in (str(path), f"torchscript:{path}"):
        assert features(make_encoder(f"{text}?size=8", device="cpu"), PICTURES).shape == (5, 2)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_pickles_are_refused(tmp_path: Path) -> None:
    marks = tmp_path / "ran"

    class Bomb:
        def __reduce__(self) -> Any:
            return Path.touch, (marks,)

    torch.save(Bomb(), tmp_path / "bomb.pt")
    torch.save(Net().state_dict(), tmp_path / "state.pt")
    (tmp_path / "words.pt").write_text("words")
    for name in ("bomb.pt", "state.pt", "words.pt"):
        with pytest.raises(InvalidData, match=r"is not a TorchScript file .* is a pickle, which could run"):
            make_encoder(str(tmp_path / name))
    assert not marks.exists()


@pytest.mark.parametrize(
    ("out", "shape"),
    [
        (torch.ones(2, 3), (2, 3)),
        (torch.ones(2, 3, 4, 4), (2, 3)),
        (torch.ones(2, 7, 3), (2, 3)),
        ((torch.ones(2, 3), torch.ones(2, 9)), (2, 3)),
        ({"x": torch.ones(2, 3)}, (2, 3)),
    ],
)
def test_shapes_that_networks_return(out: Any, shape: tuple[int, int]) -> None:
    assert as_features(out, 2, by="net").shape == shape


def test_other_returns_get_a_sentence() -> None:
    for out, words in ((None, "a tensor, got NoneType"), (torch.ones(3), "2 rows of features, got shape")):
        with pytest.raises(InvalidData, match=words):
            as_features(out, 2, by="net")
    with pytest.raises(InvalidOption, match=r"must be a torch\.nn\.Module, got str"):
        TorchEncoder("net")  # type: ignore[arg-type]
