"""Kills of `embed`: the file or folder of features is the old one, the new one or not there."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attacks import seeds
from attacks.kill.scenario import Scenario, run_again
from eigenclean.cli.app import run
from eigenclean.errors import EigencleanError

_OLD_ENCODER = """
from torch import nn

def make_net():
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
"""


class Embed(Scenario):
    """`embed` to a new .npz file."""

    name = "embed"
    out = "features.npz"

    def build(self, folder: Path) -> None:
        """Images and an encoder."""
        seeds.write_images(folder)

    def command(self, folder: Path) -> list[str]:
        """The command line that is killed."""
        return [
            "embed",
            *seeds.embedding(folder, folder / "images"),
            "--batch",
            "4",
            "--out",
            str(folder / self.out),
        ]

    def work(self, folder: Path) -> None:
        """Embed the images."""
        _deterministic()
        assert run(self.command(folder)) == 0

    def check(self, folder: Path, done: Path) -> Iterable[str]:
        """Features that can be read are whole; a second try gives the same ones."""
        _deterministic()
        new = _features(done / self.out)
        allowed = [None, new, *self.earlier(folder)]
        if _features(folder / self.out) not in allowed:
            yield "features can be read that are neither the old ones nor the new ones"
        yield from run_again(self.command(folder), folder)
        if _features(folder / self.out) != new:
            yield "after a second try the features differ from those of a run that was not killed"

    def earlier(self, folder: Path) -> list[Any]:
        """Features that were there before the work."""
        return []


class EmbedFolder(Embed):
    """`embed` to a folder of shards in which there are others already."""

    name = "embed-folder"
    kills = 20
    out = "features"

    def build(self, folder: Path) -> None:
        """Images, an encoder, and the features of another one."""
        super().build(folder)
        (folder / "nets.py").write_text(_OLD_ENCODER, encoding="utf-8")
        assert run(self.command(folder)) == 0
        assert run([*self.command(folder)[:-1], str(folder / "old.npz")]) == 0
        seeds.write_network(folder)

    def command(self, folder: Path) -> list[str]:
        """Several small shards."""
        command = super().command(folder)
        return [*command[:-2], "--shard-rows", "4", *command[-2:]]

    def earlier(self, folder: Path) -> list[Any]:
        """The features of the other encoder."""
        return [_features(folder / "old.npz")]


def _features(path: Path) -> Any:
    """Features, labels and ids; None if they cannot be read."""
    from eigenclean.sources import open_source

    try:
        source = open_source(str(path))
        return [source.features().tolist(), source.labels.tolist(), source.ids.tolist()]
    except EigencleanError:
        return None


def _deterministic() -> None:
    """The network draws its weights when it is made: always the same ones."""
    import torch

    torch.manual_seed(0)
