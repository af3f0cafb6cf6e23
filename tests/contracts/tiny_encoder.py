"""A small convolutional encoder, for tests of the network that fine-tunes encoders."""

from torch import nn


def make_net() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU())
