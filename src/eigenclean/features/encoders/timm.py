"""Any image model of timm, with its pretrained weights and its own preprocessing."""

from typing import Any

from eigenclean.extras import require
from eigenclean.features.encoders.loading import explain_load_errors
from eigenclean.features.encoders.torch_module import TorchEncoder


class Timm(TorchEncoder):
    """A model of timm as an encoder of images: the activations before its classifier.

    Args:
        argument: name of a model, such as "resnet18.a1_in1k", or "local-dir:FOLDER".
        name: the name that it was chosen by.
        size: pixels of each side, by default those of the model.
        device: where to run; None for the fastest available.
        half: compute with 16 bits and keep the features as float16.
        batch: images per batch.
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
        with explain_load_errors(name):
            module = timm.create_model(argument, pretrained=True, num_classes=0)
        config: dict[str, Any] = timm.data.resolve_model_data_config(module)
        resampling = config.get("interpolation", "bicubic")
        super().__init__(
            module,
            name=name,
            size=size or int(config["input_size"][-1]),
            mean=tuple(config["mean"]),
            std=tuple(config["std"]),
            resampling=resampling if resampling in ("nearest", "bilinear", "bicubic", "lanczos") else "bicubic",
            device=device,
            half=half,
            batch=batch,
        )
