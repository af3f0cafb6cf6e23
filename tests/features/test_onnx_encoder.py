"""Encoders from ONNX files, against the runtime itself."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.features import make_encoder
from eigenclean.features.encoders.preprocess import Preprocess
from tests.features.test_encoders import PICTURES, RNG, TEXTS, features, needs


def onnx_images(path: Path, *, batch: Any = "n", last: bool = False, side: Any = 8, maps: bool = False) -> Path:
    onnx = pytest.importorskip("onnx", reason="needs onnx to write a model, which comes with the dev extra")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    shape = [batch, side, side, 3] if last else [batch, 3, side, side]
    axes = [1, 2] if last else [2, 3]
    mean = helper.make_node("Identity", ["x"], ["y"]) if maps else None
    node = mean or helper.make_node("ReduceMean", ["x", "axes"], ["y"], keepdims=0)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info("y", kind, None)],
        [] if maps else [helper.make_tensor("axes", onnx.TensorProto.INT64, [2], axes)],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


@needs("onnxruntime")
@pytest.mark.parametrize("batch", ["n", 2])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("maps", [False, True])
def test_onnx_of_images(tmp_path: Path, batch: Any, last: bool, maps: bool) -> None:
    path = onnx_images(tmp_path / "x.onnx", batch=batch, last=last, maps=maps)
    encoder: Any = make_encoder(f"{path}?mean=0.5&std=0.25", device="cpu")
    pixels = np.stack([Preprocess(8)(picture) for picture in PICTURES]) / 255
    np.testing.assert_allclose(features(encoder, PICTURES), ((pixels - 0.5) / 0.25).mean(axis=(1, 2)), atol=1e-5)


@needs("onnxruntime")
def test_onnx_of_any_size(tmp_path: Path) -> None:
    path = onnx_images(tmp_path / "x.onnx", side="s")
    assert features(make_encoder(f"onnx:{path}?size=16", device="cpu"), PICTURES).shape == (5, 3)
    fixed = onnx_images(tmp_path / "y.onnx")
    with pytest.raises(InvalidOption, match="was made for 8 pixels, got size 16"):
        make_encoder(f"{fixed}?size=16")


@needs("onnxruntime", "tokenizers")
def test_onnx_of_texts_leaves_the_padding_out(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="needs onnx to write a model, which comes with the dev extra")
    from tokenizers import Tokenizer, models, pre_tokenizers

    helper, kinds = onnx.helper, onnx.TensorProto
    table = RNG.normal(size=(20, 4)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["hidden"])],
        "g",
        [helper.make_tensor_value_info(name, kinds.INT64, ["n", "t"]) for name in ("input_ids", "attention_mask")],
        [helper.make_tensor_value_info("hidden", kinds.FLOAT, ["n", "t", 4])],
        [helper.make_tensor("table", kinds.FLOAT, table.shape, table.ravel())],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "t.onnx"
    )
    with pytest.raises(InvalidData, match=r"is one of texts, but there is no tokenizer .*tokenizer\.json; put it"):
        make_encoder(str(tmp_path / "t.onnx"))
    words = {word: code for code, word in enumerate(["[PAD]", "[UNK]", *sorted({*" ".join(TEXTS).split()})])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    encoder = make_encoder(str(tmp_path / "t.onnx"), device="cpu")
    assert encoder.kind == "text"
    for row, text in zip(features(encoder, TEXTS), TEXTS, strict=True):
        np.testing.assert_allclose(row, table[tokenizer.encode(text).ids].mean(axis=0), atol=1e-5)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(InvalidData, match=r"tokenizer\.json is not a tokenizer"):
        make_encoder(str(tmp_path / "t.onnx"))


@needs("onnxruntime")
def test_other_onnx_files_get_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.onnx").write_text("words")
    with pytest.raises(InvalidData, match=r"x\.onnx is not a readable ONNX file") as caught:
        make_encoder(str(tmp_path / "x.onnx"))
    assert "\n" not in str(caught.value)
    with pytest.raises(InvalidData, match=r"there is no file .*y\.onnx"):
        make_encoder(str(tmp_path / "y.onnx"))
    path = onnx_images(tmp_path / "z.onnx")
    with pytest.raises(InvalidOption, match="output must be one of y, got 'z'"):
        make_encoder(f"{path}?output=z")
