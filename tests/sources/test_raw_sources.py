"""Texts and images in tables, before anyone has made features of them."""

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from PIL import Image

from eigenclean.errors import InvalidData
from eigenclean.sources import Source, open_source
from eigenclean.sources.images.source import ImageSource
from eigenclean.sources.raw import LabelSource, TextSource

PICTURES = np.random.default_rng(0).integers(0, 256, (4, 6, 5, 3), dtype=np.uint8)
LABELS = ["cat", "dog", "cat", "dog"]
TEXTS = ["my card, please", "it's late", 'say "when"', "über\nalles"]


def png(picture: Any) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG")
    return buffer.getvalue()


def write_files(root: Path) -> list[str]:
    (root / "img").mkdir(parents=True, exist_ok=True)
    for row, picture in enumerate(PICTURES):
        (root / "img" / f"{row}.png").write_bytes(png(picture))
    return [f"img/{row}.png" for row in range(len(PICTURES))]


def assert_pictures(source: Source) -> None:
    assert isinstance(source, ImageSource)
    assert source.labels.tolist() == LABELS
    np.testing.assert_array_equal(np.asarray(source.images), PICTURES)
    assert len(source.data_hash()) == 32


# Texts.


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "frame", "npz", "dict"])
def test_texts_wherever_they_are(kind: str, tmp_path: Path) -> None:
    table, path = pa.table({"words": TEXTS, "topic": LABELS}), tmp_path / f"x.{kind}"
    options: dict[str, Any] = {"text_column": "words", "label_column": "topic"}
    given: Any = path
    if kind == "csv":
        pa.csv.write_csv(table, path)
    elif kind == "parquet":
        pq.write_table(table, path)
    elif kind == "arrow":
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    elif kind == "frame":
        given = table
    elif kind == "npz":
        np.savez(path, texts=TEXTS, labels=LABELS)
    else:
        given = {"texts": TEXTS, "labels": LABELS}
    source = open_source(given, **(options if kind not in ("npz", "dict") else {}))
    assert isinstance(source, TextSource)
    assert (source.texts, source.labels.tolist()) == (TEXTS, LABELS)
    with pytest.raises(InvalidData, match="holds texts, but no features: turn them into features with `eigenclean"):
        source.features()
    assert source.evidence().features is None


def test_hash_of_texts_sees_every_letter() -> None:
    def hashed(texts: list[str], labels: list[str] = LABELS) -> str:
        return open_source({"texts": texts, "labels": labels}).data_hash()

    others = [*TEXTS[:3], TEXTS[3] + "."], [TEXTS[0] + TEXTS[1], "", *TEXTS[2:]]
    assert len({hashed(TEXTS), hashed(others[0]), hashed(others[1]), hashed(TEXTS, LABELS[::-1])}) == 4


COLUMNS: dict[str, Any] = {"label": LABELS, "text": TEXTS}


@pytest.mark.parametrize(
    ("more", "options", "expected"),
    [
        ({}, {}, "texts"),  # by its name
        ({}, {"text_column": "text"}, "texts"),
        ({"stars": [1, 2, 3, 4]}, {"text_column": "text"}, "both"),
        ({"kind": ["u", "v", "u", "v"]}, {"text_column": "text"}, "both"),
        ({"key": ["p", "q", "r", "s"]}, {"text_column": "text"}, "texts"),  # an identifier is left out
        ({f"f{i}": [1.0, 2.0] * 2 for i in range(16)}, {"text_column": "text"}, "features"),  # an embedding
        ({"f0": [1.0, 2.0] * 2, "f1": [2.0] * 4}, {"text_column": "text"}, "both"),
        ({"f0": [1.0] * 4, "f1": [2.0] * 4}, {"text_column": "text"}, "texts"),  # constants are left out
        ({"f0": [1.0] * 4, "f1": [2.0] * 4}, {"text_column": "text", "raw": True}, "texts"),
        ({"v": [[1.0]] * 4}, {"text_column": "text"}, "features"),
        ({"v": [[1.0]] * 4}, {"text_column": "text", "raw": True}, "texts"),
        ({"stars": [1, 2, 3, 4]}, {}, "features"),
        ({"stars": [1, 2, 3, 4]}, {"text_column": "text", "feature_columns": "stars"}, "both"),
        ({"image": ["a", "b", "c", "d"]}, {}, "images"),
        ({"image": ["a", "b", "c", "d"]}, {"text_column": "text"}, "texts"),
        ({"pic": ["a", "b", "c", "d"], "f": [1] * 4, "g": [2] * 4}, {"image_column": "pic"}, "images"),
    ],
)
def test_what_a_table_is_taken_for(more: dict[str, Any], options: dict[str, Any], expected: str) -> None:
    source = open_source(pa.table({**COLUMNS, **more}), **options)
    kind_read = {TextSource: "texts", ImageSource: "images"}.get(type(source), "features")
    assert kind_read == ("features" if expected == "both" else expected)
    assert source.embeds_texts == (expected == "both")


def test_a_table_with_nothing_to_look_at_says_what_to_name() -> None:
    with pytest.raises(InvalidData, match="name texts with --text-column, images with --image-column, or numbers"):
        open_source(pa.table({"label": LABELS, "remark": TEXTS}))


# Images.


def test_paths_in_a_csv_are_relative_to_it(tmp_path: Path) -> None:
    names = write_files(tmp_path)
    lines = ["file,label", *(f"{name},{label}" for name, label in zip(names, LABELS, strict=True))]
    (tmp_path / "x.csv").write_text("\n".join(lines))
    assert_pictures(open_source(tmp_path / "x.csv", image_column="file"))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "y.csv").write_text("\n".join(lines))
    assert_pictures(open_source(tmp_path / "elsewhere" / "y.csv", image_column="file", image_root=tmp_path))


def test_absolute_paths_are_fine_below_the_root(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in write_files(tmp_path)]
    table = pa.table({"file": names, "label": LABELS})
    assert_pictures(open_source(table, image_column="file", image_root=tmp_path))


@pytest.mark.parametrize("name", ["../secret.png", "img/../../secret.png", "..\\secret.png", "/etc/passwd", "a\0b"])
def test_paths_stay_inside_the_root(name: str, tmp_path: Path) -> None:
    names = [*write_files(tmp_path / "root")[:3], name]
    with pytest.raises(InvalidData, match=r"row 3: (paths must stay inside|images must lie below)"):
        open_source(pa.table({"file": names, "label": LABELS}), image_column="file", image_root=tmp_path / "root")


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_bytes_in_parquet(kind: Any, tmp_path: Path) -> None:
    cells = pa.array([png(picture) for picture in PICTURES], kind)
    pq.write_table(pa.table({"photo": cells, "label": LABELS}), tmp_path / "x.parquet", row_group_size=3)
    source = open_source(tmp_path / "x.parquet", image_column="photo")
    assert_pictures(source)
    pq.write_table(
        pa.table({"photo": pa.array([None, b"", None, None], kind), "label": LABELS}), tmp_path / "y.parquet"
    )
    gone: Any = open_source(tmp_path / "y.parquet", image_column="photo").images
    with pytest.raises(InvalidData, match=r"y\.parquet, row 0 is empty"):
        gone[0]


def test_other_columns_are_no_images() -> None:
    with pytest.raises(InvalidData, match=r"images must be paths, encoded bytes or a struct .* holds int64"):
        open_source(pa.table({"photo": [1, 2, 3, 4], "label": LABELS}), image_column="photo")


@pytest.mark.parametrize("inside", [(0, 1, 2, 3), (), (1, 3)])
def test_a_saved_hugging_face_data_set_of_images(inside: tuple[int, ...], tmp_path: Path) -> None:
    names = write_files(tmp_path)
    cells = [
        {"bytes": png(PICTURES[row]) if row in inside else None, "path": None if len(inside) == 4 else name}
        for row, name in enumerate(names)
    ]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    table = pa.table({"pic": pa.array(cells, kind), "label": pa.array([0, 1, 0, 1])})
    with pa.ipc.new_stream(str(tmp_path / "data-00000-of-00001.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=3)
    features = {"pic": {"_type": "Image"}, "label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}
    (tmp_path / "dataset_info.json").write_text(json.dumps({"features": features}))
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}))
    assert_pictures(open_source(tmp_path))


@pytest.mark.skipif(os.name == "nt", reason="there file names are text")
def test_names_that_are_no_text_are_spelled_out(tmp_path: Path) -> None:
    (tmp_path / "cat").mkdir()
    for name in (b"caf\xe9.png", "grüße.png".encode()):
        with open(os.fsencode(tmp_path / "cat") + b"/" + name, "wb") as file:
            file.write(png(PICTURES[0]))
    source = open_source(tmp_path)
    assert sorted(source.ids.tolist()) == [r"cat/caf\xe9.png", "cat/grüße.png"]
    np.testing.assert_array_equal(np.asarray(source.images), PICTURES[[0, 0]])


def test_hash_of_files_sees_every_byte_and_no_name(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        for label, row in zip(LABELS, range(4), strict=True):
            (tmp_path / folder / label).mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / label / f"{folder}-{row}.png").write_bytes(png(PICTURES[row]))
    first, two = (open_source(tmp_path / folder) for folder in ("one", "two"))
    assert first.data_hash() == two.data_hash()
    path = tmp_path / "two" / "cat" / "two-2.png"
    content = bytearray(path.read_bytes())
    content[-20] ^= 1  # the size stays
    path.write_bytes(content)
    assert open_source(tmp_path / "two").data_hash() != first.data_hash()


class TestLabelsAlone:
    def test_only_on_request(self, tmp_path: Path) -> None:
        labels = np.array(["a", "b", "a"])
        np.save(tmp_path / "y.npy", labels)
        np.savez(tmp_path / "y.npz", labels=labels, ids=[7, 8, 9])
        (tmp_path / "y.csv").write_text("id,label\n7,a\n8,b\n9,a\n")
        for name in ("y.npy", "y.npz", "y.csv"):
            with pytest.raises(InvalidData):
                open_source(tmp_path / name)
            source = open_source(tmp_path / name, need_features=False)
            assert isinstance(source, LabelSource) and not source.has_features
            np.testing.assert_array_equal(source.labels, labels)
            np.testing.assert_array_equal(source.ids, np.arange(3) if name == "y.npy" else [7, 8, 9])
            assert source.data_hash() == LabelSource("mine", labels).data_hash()
            assert len(source.evidence()) == 3
            with pytest.raises(InvalidData, match="holds labels, but no features"):
                source.features()
        assert isinstance(open_source({"labels": labels}, need_features=False), LabelSource)

    def test_features_are_taken_where_they_are(self, tmp_path: Path) -> None:
        (tmp_path / "x.csv").write_text("label,f0\na,1\nb,2\n")
        assert open_source(tmp_path / "x.csv", need_features=False).features().shape == (2, 1)
        np.save(tmp_path / "x.npy", np.eye(2))
        with pytest.raises(InvalidData, match="holds features only; give their labels with --labels"):
            open_source(tmp_path / "x.npy", need_features=False)
