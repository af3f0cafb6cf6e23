"""Networks of the timm library, if it is installed: ResNet-50, Inception-ResNet-v2, or any other by its name."""

from collections.abc import Sequence
from typing import Any, ClassVar

from torch import Tensor

from eigenclean.errors import InvalidOption
from eigenclean.extras import require
from eigenclean.nets.base import Net
from eigenclean.nets.shapes import Shape, image_shape


class TimmNet(Net):
    """Any image model of timm; the input of its classifier is the feature.

    Args:
        n_features: channels, height and width of an image.
        n_classes: number of logits; the classifier is always new.
        model: timm's name of the model, such as "resnet18".
        pretrained: start from timm's weights, which it may have to download.
    """

    options: ClassVar[Sequence[str]] = ("model", "pretrained")
    takes_images: ClassVar[bool] = True
    default_model: ClassVar[str] = ""

    def __init__(
        self, n_features: Shape, n_classes: int, model: str | None = None, pretrained: bool = False
    ) -> None:
        super().__init__(n_features, n_classes)
        name = model or self.default_model
        if not name:
            raise InvalidOption("net timm: which model? Give its name in timm, such as model=resnet18")
        by = f"net {name}"
        channels, _, _ = image_shape(n_features, by=by)
        timm = require("timm", extra=None, caller=by)
        try:
            self.model = timm.create_model(name, pretrained=pretrained, num_classes=n_classes, in_chans=channels)
        except Exception as error:  # an unknown model, weights that cannot be downloaded, …
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise InvalidOption(f"{by}: timm cannot make it: {reason}; see timm.list_models()") from error
        self.n_outputs = int(self.head.in_features)

    @property
    def head(self) -> Any:  # a property, not a submodule: its weights would be saved twice
        """The classifier of the model."""
        return self.model.get_classifier()

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Input of the classifier, and the logits."""
        features = self.model.forward_head(self.model.forward_features(inputs), pre_logits=True)
        return features, self.head(features)


class ResNet50(TimmNet):
    """ResNet-50 with 2048 features: Clothing1M, usually pretrained on ImageNet."""

    options: ClassVar[Sequence[str]] = ("pretrained",)
    default_model: ClassVar[str] = "resnet50"

    def __init__(self, n_features: Shape, n_classes: int, pretrained: bool = False) -> None:
        super().__init__(n_features, n_classes, pretrained=pretrained)


class InceptionResNetV2(TimmNet):
    """Inception-ResNet-v2 with 1536 features: WebVision, from scratch."""

    options: ClassVar[Sequence[str]] = ("pretrained",)
    default_model: ClassVar[str] = "inception_resnet_v2"

    def __init__(self, n_features: Shape, n_classes: int, pretrained: bool = False) -> None:
        super().__init__(n_features, n_classes, pretrained=pretrained)
