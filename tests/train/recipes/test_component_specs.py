"""Losses and steps as values: a name and JSON options."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenclean.errors import InvalidOption
from eigenclean.train import ComponentSpec
from eigenclean.train.component import check_fields

TEXT = st.text('abä. "', max_size=5)
SCALARS = (
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OPTIONS = st.dictionaries(TEXT, VALUES, max_size=4)


@settings(max_examples=40)
@given(name=TEXT, options=OPTIONS)
def test_a_component_survives_json(name: str, options: dict[str, Any]) -> None:
    spec = ComponentSpec(name, options)
    back = ComponentSpec.from_dict(json.loads(json.dumps(spec.to_dict())))
    assert back == spec
    assert hash(back) == hash(spec)
    assert repr(back) == repr(spec)


def test_tuples_are_lists_so_that_files_compare_equal() -> None:
    assert ComponentSpec("forward", {"transition": ((1, 0), (0, 1))}) == ComponentSpec(
        "forward", {"transition": [[1, 0], [0, 1]]}
    )


def test_later_changes_of_the_given_options_do_not_reach_the_component() -> None:
    options: dict[str, Any] = {"transition": [[1.0, 0.0], [0.0, 1.0]]}
    spec = ComponentSpec("forward", options)
    options["transition"][0][0] = 0.5
    options["discard"] = 0.1
    assert spec.options == {"transition": [[1.0, 0.0], [0.0, 1.0]]}


def test_other_options_are_another_component() -> None:
    specs = [ComponentSpec("gce"), ComponentSpec("gce", {"q": 0.7}), ComponentSpec("gce", {"q": 0.5})]
    assert len(set(specs)) == 3
    assert ComponentSpec("sce") != ComponentSpec("gce")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}, b"bytes"])
def test_options_that_json_cannot_hold_are_refused_with_the_name(value: Any) -> None:
    with pytest.raises(InvalidOption, match="gce: options must be numbers, texts, lists and tables"):
        ComponentSpec("gce", {"q": value})


def test_unknown_fields_and_other_types_are_refused() -> None:
    with pytest.raises(InvalidOption, match="did you mean 'options'"):
        ComponentSpec.from_dict({"name": "gce", "option": {}})
    with pytest.raises(InvalidOption, match="component: must be a table of name, options, got 'gce'"):
        ComponentSpec.from_dict("gce")  # type: ignore[arg-type]


def test_checked_fields_are_a_copy() -> None:
    record = {"epochs": 3}
    checked = check_fields(record, ("epochs", "refresh"), by="stage")
    checked["epochs"] = 4
    assert record == {"epochs": 3}
