"""Data sets in the layout that their authors hand them out in, opened by name: ``cifar10:PATH``."""

import json
import re
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.names import check_name
from eigenclean.sources.images.folder import open_image_folder
from eigenclean.sources.images.sampling import refuse_whole_disk
from eigenclean.sources.images.source import ImageSource
from eigenclean.sources.layouts.cifar import open_cifar10, open_cifar100
from eigenclean.sources.layouts.clothing1m import open_clothing1m
from eigenclean.sources.layouts.idx import open_mnist
from eigenclean.sources.layouts.webvision import open_mini_webvision, open_webvision

LAYOUTS: dict[str, Callable[..., ImageSource]] = {
    "cifar10": open_cifar10,
    "cifar100": open_cifar100,
    "mnist": open_mnist,
    "fashion-mnist": open_mnist,
    "clothing1m": open_clothing1m,
    "webvision": open_webvision,
    "mini-webvision": open_mini_webvision,
    "folder": open_image_folder,
}
_NAMED = re.compile(r"(?P<layout>[a-z][a-z0-9-]+):(?P<path>[^?]+)(\?(?P<options>.*))?", re.DOTALL)
# Arguments of readers that cannot be set after the question mark.
_NO_OPTIONS = ("path", "name", "split", "labels", "follow_links")


def is_layout(name: str) -> bool:
    """Whether the text is ``LAYOUT:PATH`` with a known layout.

    >>> is_layout("cifar10:/data/cifar"), is_layout("https://example.org"), is_layout("x.npz")
    (True, False, False)
    """
    match = _NAMED.fullmatch(name)
    return match is not None and match["layout"] in LAYOUTS


def open_layout(name: str, *, split: str | None = None, follow_links: bool = False) -> ImageSource:
    """Open ``LAYOUT:PATH``, or with options ``LAYOUT:PATH?split=test&resize=64``."""
    match = _NAMED.fullmatch(name)
    assert match is not None  # by is_layout
    layout, path = match["layout"], Path(match["path"]).expanduser()
    read = LAYOUTS[layout]
    options = _options(match["options"] or "", read, by=name)
    if "split" in options and split is not None and options["split"] != split:
        raise InvalidOption(
            f"{name} names the split {options['split']!r}, but {split!r} is wanted; give one of them"
        )
    if not path.is_dir():
        raise InvalidData(f"there is no folder {path}; check the path after {layout}:")
    refuse_whole_disk(path, name=name)
    options.setdefault("split", split)
    if "follow_links" in signature(read).parameters:  # not for layouts of a few files with fixed names
        options["follow_links"] = follow_links
    return read(path, name=name, **options)


def _options(text: str, read: Callable[..., Any], *, by: str) -> dict[str, Any]:
    allowed = ["split", *(name for name in signature(read).parameters if name not in _NO_OPTIONS)]
    options: dict[str, Any] = {}
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True) if text else []
    except ValueError:
        raise InvalidOption(f"{by}: options must look like ?split=test&resize=64, got ?{text}") from None
    for option, value in pairs:
        check_name(option, allowed, by=by, what="option")
        try:
            options[option] = json.loads(value)
        except ValueError:
            options[option] = value
    return options
