"""Evidence: what is known about the samples, and a clear word when it is not enough."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from eigenclean.errors import InvalidData, MissingEvidence
from eigenclean.evidence import KINDS, Evidence

LABELS = np.array([0, 1, 1])


@pytest.mark.parametrize("kind", KINDS)
def test_gives_what_is_there_and_asks_for_what_is_not(kind: str) -> None:
    values = np.zeros((3, 2))
    given: dict[str, Any] = {kind: values}
    evidence = Evidence(np.arange(3), LABELS, **given)
    assert evidence.need(kind, by="X") is values
    for other in set(KINDS) - {kind}:
        with pytest.raises(MissingEvidence, match=f"^X needs {other}, but only {kind} were given$"):
            evidence.need(other, by="X")


def test_names_all_that_there_is() -> None:
    evidence = Evidence(np.arange(3), LABELS, features=np.zeros((3, 1)), losses=np.zeros(3))
    with pytest.raises(MissingEvidence, match="only features and losses were given"):
        evidence.need("logits", by="X")


@pytest.mark.parametrize("name", ["ids", *KINDS])
def test_lengths_must_agree(name: str) -> None:
    fields: dict[str, Any] = {"ids": np.arange(3), name: np.zeros(2)}
    with pytest.raises(InvalidData, match=f"{name} must have one row per label, got 2 rows and 3 labels"):
        Evidence(labels=LABELS, **fields)


def test_is_a_frozen_record() -> None:
    evidence = Evidence(np.arange(3), LABELS)
    assert len(evidence) == 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        evidence.labels = LABELS  # type: ignore[misc]
