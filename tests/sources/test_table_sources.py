"""Parquet, Arrow and CSV: the choice of columns, and what is refused in one sentence."""

from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenclean.errors import EigencleanError, InvalidData
from eigenclean.sources import open_source

F = {"f0": [1.0, 2.0, 3.0], "f1": [4, 5, 6]}
L = {"label": ["a", "b", "a"]}


def test_columns_of_numbers_without_label_and_id() -> None:
    source = open_source(pa.table({"id": [7, 8, 9], **F, **L, "given_label": [1, 2, 3], "note": ["x", "y", "z"]}))
    assert source.features().tolist() == [[1, 4], [2, 5], [3, 6]]
    assert source.ids.tolist() == [7, 8, 9]
    assert source.features().dtype == np.float64


def test_the_list_column_wins_over_numbers() -> None:
    assert open_source(pa.table({**F, "v": [[1], [2], [3]], **L})).features().tolist() == [[1], [2], [3]]


@pytest.mark.parametrize(
    ("names", "expected"),
    [("f1", [[4], [5], [6]]), (["f1", "f0"], [[4, 1], [5, 2], [6, 3]]), ("f*", [[1, 4], [2, 5], [3, 6]]),
     (["f[1-9]", "v"], [[4, 1, 2], [5, 3, 4], [6, 5, 6]]), (["id"], [[0], [1], [2]])],
)  # fmt: skip
def test_chosen_features(names: Any, expected: list[list[float]]) -> None:
    table = pa.table({"id": [0, 1, 2], **F, "v": [[1, 2], [3, 4], [5, 6]], **L})
    assert open_source(table, feature_columns=names).features().tolist() == expected


def test_y_is_the_label_only_when_nothing_else_is() -> None:
    assert open_source(pa.table({**F, "y": [0, 1, 0]})).features().shape == (3, 2)
    assert open_source(pa.table({**F, "y": [0, 1, 0], **L})).features().shape == (3, 3)


def test_labels_from_elsewhere_leave_the_label_column_out() -> None:
    source = open_source(pa.table({**F, "label": [0, 1, 0]}), labels=["u", "v", "w"])
    assert source.labels.tolist() == ["u", "v", "w"]
    assert source.features().shape == (3, 2)


def test_labels_from_elsewhere_in_every_format(tmp_path: Path) -> None:
    table = pa.table(F)
    pq.write_table(table, tmp_path / "x.parquet")
    with pa.ipc.new_file(str(tmp_path / "x.arrow"), table.schema) as writer:
        writer.write_table(table)
    (tmp_path / "x.csv").write_text("f0,f1\n1,4\n2,5\n3,6\n")
    for name in ("x.parquet", "x.arrow", "x.csv"):
        assert len(open_source(tmp_path / name, labels=[0, 1, 0])) == 3
        with pytest.raises(InvalidData, match="equal length, got 3 rows and 2 labels"):
            open_source(tmp_path / name, labels=[0, 1])


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (pa.array([3, -1, 3], pa.int8()), [3, -1, 3]),
        (pa.array([1.0, 2.0, 1.0]), [1, 2, 1]),
        (pa.array([True, False, True]), [True, False, True]),
        (pa.array(["a", "bb", "a"], pa.large_string()), ["a", "bb", "a"]),
        (pa.array(["a", "bb", "a"], pa.string_view()), ["a", "bb", "a"]),
        (pa.array(["a", "bb", "a"]).dictionary_encode(), ["a", "bb", "a"]),
        (pa.DictionaryArray.from_arrays([1, 0, 1], pa.array([10, 20])), [20, 10, 20]),
        (pa.array([b"a", b"b", b"a"]), ["a", "b", "a"]),
        (pa.array([0, 1, 0], pa.date32()), ["1970-01-01", "1970-01-02", "1970-01-01"]),
    ],
)
def test_kinds_of_labels(labels: Any, expected: list[Any]) -> None:
    assert open_source(pa.table({**F, "label": labels})).labels.tolist() == expected


def test_texts_and_ids() -> None:
    table = pa.table({**F, **L, "text": ["x", None, "z"], "key": ["k1", "k2", "k3"]})
    source = open_source(table, text_column="text", id_column="key")
    assert source.texts == ["x", "", "z"]
    assert source.ids.tolist() == ["k1", "k2", "k3"]


def test_nested_lists_tensors_and_decimals() -> None:
    nested = pa.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[0, 0], [0, 1]]])
    assert open_source(pa.table({"v": nested, **L})).features().tolist()[0] == [1, 2, 3, 4]
    tensor: Any = pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(12.0).reshape(3, 2, 2))
    assert open_source(pa.table({"v": tensor, **L})).features().tolist()[2] == [8, 9, 10, 11]
    decimals = pa.array([Decimal("0.5"), Decimal("1.5"), Decimal("2.5")])
    assert open_source(pa.table({"v": decimals, **L})).features().tolist() == [[0.5], [1.5], [2.5]]


BAD: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (F, {}, "has no column named 'label'; its columns are 'f0', 'f1'; choose the labels with --label-column"),
    (
        {**F, **L},
        {"label_column": "lable"},
        "has no column 'lable' .did you mean 'label'.*its columns are 'f0', 'f1'",
    ),
    ({**F, **L}, {"feature_columns": ["g0"]}, "has no column 'g0'"),
    ({**F, **L}, {"feature_columns": "lab*"}, "has no column 'lab"),
    ({**F, **L}, {"feature_columns": []}, "--feature-columns is empty"),
    ({**F, **L}, {"feature_columns": "label"}, "cannot be a feature and label"),
    ({**F, **L}, {"id_column": "uid"}, "has no column 'uid'"),
    ({**F, **L}, {"text_column": "words"}, "has no column 'words'"),
    ({**F, **L, "t": [b"x", b"y", b"z"]}, {"feature_columns": ["t"]}, "'t' cannot be a feature .cells of type bin"),
    ({**F, **L}, {"leave_out": ["g*"]}, "has no column 'g.'"),
    ({**F, **L}, {"leave_out": ["f0"], "feature_columns": "f0"}, "'f0' cannot be a feature and left out at once"),
    ({**L, "t": ["x", "y", "z"]}, {}, "no column of numbers or categories for the features.*t .identifier"),
    ({**L, "v": pa.nulls(3)}, {}, "no column of numbers or categories for the features.*v .empty"),
    ({**L, "u": [[1], [2], [3]], "v": [[1], [2], [3]]}, {}, "2 columns with lists of numbers: 'u', 'v'; choose"),
    ({**F, **L, "id": [1, 2, 1]}, {}, "ids must be unique, but 1 repeat, for example 1"),
    ({**F, **L, "id": [1, None, 1]}, {}, "ids must be complete"),
    ({**F, **L, "id": [0.5, 1.5, 2.5]}, {}, "ids must be integers or strings"),
    ({**F, "label": ["a", None, "b"]}, {}, "1 of 3 labels are missing, the first in row 1"),
    ({**F, "label": [1, 2, None]}, {}, "1 of 3 labels are missing, the first in row 2"),
    ({**F, "label": pa.array(["a", None, "b"]).dictionary_encode()}, {}, "1 of 3 labels are missing"),
    ({**F, "label": pa.nulls(3)}, {}, "3 of 3 labels are missing"),
    ({**F, "label": [[1], [2], [3]]}, {}, "labels must be one value per row, but the column holds list"),
    ({**F, "label": [b"\xff", b"a", b"b"]}, {}, "labels must be integers or strings, but the column holds binary"),
    ({**F, "label": [0.5, 1.0, 1.0]}, {}, "labels must be classes"),
    ({name: [] for name in ("f", "label")}, {}, "has no rows"),
]


@pytest.mark.parametrize(("columns", "options", "sentence"), BAD)
def test_bad_tables(columns: dict[str, Any], options: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "x.parquet")
    with pa.ipc.new_file(str(tmp_path / "x.arrow"), table.schema) as writer:
        writer.write_table(table)
    for source in (table, tmp_path / "x.parquet", tmp_path / "x.arrow"):
        with pytest.raises(InvalidData, match=sentence) as caught:
            open_source(source, **options)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ([[1.0], None, [2.0]], "1 of 3 rows have missing values, the first is row 1"),
        ([[1.0, 2.0], [1.0, 3.0], [None, 2.0]], "1 of 3 rows have missing values, the first is row 2"),
        ([[[1, 2]], [[3, None]], [[5, 6]]], "1 of 3 rows have missing values, the first is row 1"),
        (pa.array([[1.0], None, [None]], pa.list_(pa.float32(), 1)), "2 of 3 rows have missing values, .* row 1"),
        ([[1, 2], [3], [4, 5]], "the lists of the column 'v' must have equal length, but row 1 has 1 values where"),
        ([[[1, 2], [3, 4]], [[1, 2], [3]], [[1, 2], [3, 4]]], "must have equal length, but row 1 has 1 values"),
        (pa.array([[], [], []], pa.list_(pa.float32())), "the lists of the column 'v' are empty"),
    ],
)
@pytest.mark.parametrize("rows", [1, 1000])
def test_bad_features_are_found_when_read(column: Any, sentence: str, rows: int, tmp_path: Path) -> None:
    table = pa.table({"v": column, **L})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=2)
    with pa.ipc.new_stream(str(tmp_path / "x.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    for path in (tmp_path / "x.parquet", tmp_path / "x.arrow"):
        source = open_source(path)
        for read in (source.features, lambda source=source: list(source.batches(rows)), source.data_hash):
            with pytest.raises(InvalidData, match=sentence):
                read()


def test_lists_that_differ_between_batches(tmp_path: Path) -> None:
    pq.write_table(pa.table({"v": [[1, 2], [3, 4], [5]], **L}), tmp_path / "x.parquet", row_group_size=2)
    with pytest.raises(InvalidData, match="row 2 has 1 values where the rows before have 2"):
        list(open_source(tmp_path / "x.parquet").batches(2))


@pytest.mark.parametrize("n_rows", [2, 5])
def test_a_file_that_changes_after_it_was_opened(n_rows: int, tmp_path: Path) -> None:
    pq.write_table(pa.table({**F, **L}), tmp_path / "x.parquet")
    source = open_source(tmp_path / "x.parquet")
    (tmp_path / "x.parquet").unlink()
    changed = pa.table({"f0": [0.0] * n_rows, "f1": [0] * n_rows, "label": ["a"] * n_rows})
    pq.write_table(changed, tmp_path / "x.parquet", row_group_size=3)
    for read in (source.features, source.data_hash, lambda: list(source.batches(2))):
        with pytest.raises(InvalidData, match=f"has {n_rows} rows of features for 3 labels"):
            read()
    (tmp_path / "x.parquet").unlink()
    with pytest.raises(InvalidData, match="not a readable Parquet file: No such file"):
        source.features()


def test_two_columns_of_one_name() -> None:
    table = pa.table([[1, 2, 3], [4, 5, 6], ["a", "b", "a"]], names=["f", "f", "label"])
    with pytest.raises(InvalidData, match="more than one column named 'f'"):
        open_source(table)


def test_several_columns_without_a_name_are_not_used(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(",,f,label\n0,7,1.5,a\n1,7,2.5,b\n")
    assert open_source(tmp_path / "x.csv").features().tolist() == [[1.5], [2.5]]


def test_names_with_dots(tmp_path: Path) -> None:
    pq.write_table(pa.table({"f.1": [1, 2, 3], "f": [4, 5, 6], **L}), tmp_path / "x.parquet")
    assert open_source(tmp_path / "x.parquet", feature_columns="f").features().tolist() == [[4], [5], [6]]
    assert open_source(tmp_path / "x.parquet", feature_columns="f.1").features().tolist() == [[1], [2], [3]]


def test_the_index_of_pandas_is_no_feature(tmp_path: Path) -> None:
    pandas: Any = import_module("pandas")
    frame = pandas.DataFrame({**F, **L}, index=pandas.Index([10, 20, 30], name="row"))
    frame.to_parquet(tmp_path / "x.parquet")
    assert open_source(tmp_path / "x.parquet").features().shape == (3, 2)
    assert open_source(frame).features().shape == (3, 2)


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "x.ipc"])
def test_truncated_files(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    table = pa.table({"v": np.arange(300.0), "label": np.arange(300) % 2})
    if name == "x.parquet":
        pq.write_table(table, path)
    else:
        with (pa.ipc.new_file if name == "x.arrow" else pa.ipc.new_stream)(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=50)
    whole = path.read_bytes()
    for length in [*range(0, len(whole), 61), len(whole) - 8, len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(InvalidData, match=rf"{name} (is not a readable|ends without)") as caught:
            open_source(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "x.feather", "x.csv"])
@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 64, b"PAR1" * 8, b"ARROW1" * 9, b"\xff" * 99, b"label,f\n1,2,3\n"]
)
def test_foreign_content(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidData, match=rf"{name} (is not a readable|has no|ends without)") as caught:
        open_source(tmp_path / name)
    assert "\n" not in str(caught.value)


@settings(max_examples=150)
@given(data=st.data(), kind=st.sampled_from(["x.parquet", "x.arrow", "x.ipc", "x.csv"]))
def test_damaged_files_are_ordinary_errors(
    data: st.DataObject, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("damaged") / kind
    table = pa.table({"v": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], **L, "f": [1, 2, 3]})
    if kind == "x.parquet":
        pq.write_table(table, path)
    elif kind == "x.csv":
        path.write_text("label,f,g\na,1,2.5\nb,3,4\na,5,6\n")
    else:
        with (pa.ipc.new_file if kind == "x.arrow" else pa.ipc.new_stream)(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    start = data.draw(st.integers(0, len(content)))
    del content[start : start + data.draw(st.integers(0, 20))]
    path.write_bytes(content)
    try:
        source = open_source(path, label_column="label", text_column="f")
        list(source.batches(2))
    except EigencleanError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("label,f\n", "has no rows"),
        ("label,f\na,1\nb\n", "x.csv is not a readable CSV file: .*columns"),
        ("kind,f\na,1\n", "has no column named 'label'; its columns are 'kind', 'f'"),
        ("label,f\n,1\nb,2\n", "1 of 2 labels are missing, the first in row 0"),
        ("label,f\nNA,1\n3,2\n", "1 of 2 labels are missing, the first in row 0"),
        ("label,f\na,x\nb,x\n", "no column of numbers or categories .*f .constant"),
    ],
)
def test_bad_csv(content: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(content)
    with pytest.raises(InvalidData, match=sentence):
        open_source(tmp_path / "x.csv").features()


def test_csv_truncated_at_every_byte(tmp_path: Path) -> None:
    whole = b"label,f,g\na,1,2.5\nb,3,4\na,5,6\n"
    for length in range(len(whole)):
        (tmp_path / "x.csv").write_bytes(whole[:length])
        try:
            open_source(tmp_path / "x.csv").features()
        except InvalidData as error:
            assert "x.csv" in str(error) and "\n" not in str(error)


def test_csv_types_may_change_after_the_first_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eigenclean.sources.tabular.delimited._BLOCK_BYTES", 64)
    lines = [f"{i},{i}" for i in range(50)] + ["none,0.5", '"two\nlines",1.5']
    (tmp_path / "x.csv").write_text("label,f\n" + "\n".join(lines) + "\n")
    source = open_source(tmp_path / "x.csv")
    assert source.labels.tolist()[-3:] == ["49", "none", "two\nlines"]
    assert source.features()[-2:, 0].tolist() == [0.5, 1.5]
    (tmp_path / "x.csv").write_text("label,f\n" + "\n".join([*lines, "a,oops"]) + "\n")
    encoding = open_source(tmp_path / "x.csv").encoding
    assert encoding is not None and "'oops' among the numbers of f is read as missing" in encoding.sentence()
