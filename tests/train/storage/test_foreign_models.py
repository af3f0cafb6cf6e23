"""A model folder of somebody else chooses neither code nor downloads nor the amount of memory."""

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from torch import nn

from eigenclean.arrays import Array, Ints
from eigenclean.errors import EigencleanError, InvalidData, InvalidOption
from eigenclean.train import RobustClassifier, recipe

QUICK = recipe("standard", warm_up=1, epochs=2)


@pytest.fixture
def folder(blobs: tuple[Array, Ints], tmp_path: Path) -> Path:
    RobustClassifier(QUICK, device="cpu").fit(*blobs).save(tmp_path / "model")
    return tmp_path / "model"


def rewrite(folder: Path, **changes: Any) -> None:
    path = folder / "model.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    (folder / "manifest.json").unlink(missing_ok=True)  # whoever forges a file forges its hash as well


@pytest.mark.parametrize(
    "net", ["torch:forged_net.py:make", "forged_net.py:make", "os", "hf-hub:somebody/net", ["mlp"], {"a": 1}]
)
def test_only_networks_of_the_library_are_built(net: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "forged_net.py").write_text("raise SystemExit('executed')")
    monkeypatch.chdir(folder)
    rewrite(folder, net=net)
    with pytest.raises(InvalidOption, match="net must be one of"):
        RobustClassifier.load(folder)
    assert "forged_net" not in sys.modules


@pytest.mark.parametrize("encoder", ["torch:forged_net.py:make", "forged.pt", "timm:resnet18", "hub?x=1", 7])
def test_only_bundled_encoders_are_built(encoder: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "forged_net.py").write_text("raise SystemExit('executed')")
    monkeypatch.chdir(folder)
    rewrite(folder, net="encoder", net_options={"encoder": encoder}, shape=[3, 8, 8])
    with pytest.raises(InvalidOption, match="is not a bundled one and is not run because a file says so"):
        RobustClassifier.load(folder)
    assert "forged_net" not in sys.modules


class _Timm:
    """Stands for timm: remembers what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bool]] = []

    def create_model(self, name: str, *, pretrained: bool, num_classes: int, in_chans: int) -> nn.Module:
        self.asked.append((name, pretrained))
        return _Head(num_classes)


class _Head(nn.Module):
    def __init__(self, n_classes: int) -> None:
        super().__init__()
        self.head = nn.Linear(6, n_classes)

    def get_classifier(self) -> nn.Module:
        return self.head

    def forward_features(self, x: torch.Tensor) -> torch.Tensor:
        return x.flatten(1)[:, :6]

    def forward_head(self, x: torch.Tensor, pre_logits: bool) -> torch.Tensor:
        return x


def test_timm_builds_but_downloads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    timm = _Timm()
    monkeypatch.setitem(sys.modules, "timm", timm)
    images, labels = np.random.default_rng(0).random((12, 8, 8, 3), dtype=np.float32), np.arange(12) % 2
    options = {"model": "resnet18", "pretrained": True}
    model = RobustClassifier(QUICK, net="timm", net_options=options, device="cpu").fit(images, labels)
    assert timm.asked == [("resnet18", True)]  # the user asked for it
    model.save(tmp_path)
    timm.asked.clear()
    back = RobustClassifier.load(tmp_path)
    assert timm.asked and not any(pretrained for _, pretrained in timm.asked)
    assert np.array_equal(back.predict_proba(images), model.predict_proba(images))
    for name in ("hf-hub:somebody/net", "local-dir:.", "hf_hub:x", "../net", "https://example.org/net"):
        rewrite(tmp_path, net_options={"model": name})
        timm.asked.clear()
        with pytest.raises(InvalidOption, match=r"if you trust it, give the function.*net="):
            RobustClassifier.load(tmp_path)
        assert not timm.asked


def test_a_record_cannot_ask_for_more_memory_than_its_tensors_have(folder: Path) -> None:
    for options in ({"hidden": [10**9, 10**9]}, {"hidden": [10**6] * 20}, {"hidden": [256, 128, 64]}):
        rewrite(folder, net_options=options)
        with pytest.raises(InvalidData, match="is not a saved classifier"):
            RobustClassifier.load(folder)
    rewrite(folder, net_options={}, n_networks=10**9, classes_type="<U400000000")
    back = RobustClassifier.load(folder)
    assert len(back.networks_) == 1 and back.classes_.nbytes < 100


def _broken(folder: Path) -> list[Callable[[], object]]:
    return [
        lambda: rewrite(folder, recipe={"name": "x"}),
        lambda: rewrite(folder, recipe=None),
        lambda: rewrite(folder, shape="wide"),
        lambda: rewrite(folder, classes={"a": 1}),
        lambda: rewrite(folder, classes_type="O"),
        lambda: rewrite(folder, net_options=7),
        lambda: rewrite(folder, net_options={"unknown": 1}),
        lambda: (folder / "model.json").write_text("[" * 100_000),
    ]


@pytest.mark.parametrize("number", range(8))
def test_a_record_of_other_values_gets_a_sentence(number: int, folder: Path) -> None:
    _broken(folder)[number]()
    with pytest.raises(EigencleanError):
        RobustClassifier.load(folder)


def test_tensors_of_another_network_get_a_sentence(folder: Path) -> None:
    weights = folder / "model.safetensors"
    tensors = {f"best.7.{name}": value for name, value in load(weights.read_bytes()).items()}
    weights.write_bytes(save(tensors))
    rewrite(folder, weights=hashlib.blake2b(weights.read_bytes(), digest_size=16).hexdigest())
    with pytest.raises(InvalidData, match="is not a saved classifier"):
        RobustClassifier.load(folder)


def test_a_network_of_your_own_is_made_by_your_function(blobs: tuple[Array, Ints], tmp_path: Path) -> None:
    built = SimpleNamespace(count=0)

    class Counted(nn.Module):
        def __init__(self, n_features: int, n_classes: int) -> None:
            super().__init__()
            built.count += 1
            self.head = nn.Linear(n_features, n_classes)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x, self.head(x)

    model = RobustClassifier(QUICK, net=Counted, device="cpu").fit(*blobs)
    model.save(tmp_path)
    with pytest.raises(InvalidOption, match="give the function that makes it"):
        RobustClassifier.load(tmp_path)
    before = built.count
    back = RobustClassifier.load(tmp_path, net=Counted)
    assert built.count == before + 1
    assert np.array_equal(back.predict_proba(blobs[0]), model.predict_proba(blobs[0]))
