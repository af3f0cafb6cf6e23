"""Any image model of timm, with its pretrained weights and its own preprocessing."""

from typing import Any

from eigenclean.extras import require
from eigenclean.features.encoders.loading import loading
from eigenclean.features.encoders.torch_module import TorchEncoder


class Timm(TorchEncoder):
    """A model of timm as an encoder of images: what it sees before its classifier.

    Args:
        argument: name of a model, such as "resnet18.a1_in1k", or "local-dir:FOLDER".
        name: what it was chosen by.
        size: pixels of each side, when not the model's own.
        device: where to run; None for the best there is.
        half: compute with 16 bits and keep the features as float16.
        batch: images at a time.
    """

    options = ("size",)

    def __init__(
        self,
        argument: str,
        *,
        name: str | None = None,
        size: int | None = None,
        device: str | None = None,
        half: bool = False,
        batch: int = 64,
    ) -> None:
        name = name or f"timm:{argument}"
        timm = require("timm", extra=None, caller=f"encoder {name}")
        with loading(name):
            module = timm.create_model(argument, pretrained=True, num_classes=0)
        own: dict[str, Any] = timm.data.resolve_model_data_config(module)
        resampling = own.get("interpolation", "bicubic")
        super().__init__(
            module,
            name=name,
            size=size or int(own["input_size"][-1]),
            mean=tuple(own["mean"]),
            std=tuple(own["std"]),
            resampling=resampling if resampling in ("nearest", "bilinear", "bicubic", "lanczos") else "bicubic",
            device=device,
            half=half,
            batch=batch,
        )
