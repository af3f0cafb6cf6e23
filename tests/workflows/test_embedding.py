"""Features for images and texts: when they are needed, how they are recorded, and what the user is told."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean.errors import InvalidOption
from eigenclean.features import EmbeddedSource
from eigenclean.features.embedding import Skipped
from eigenclean.sources import MemorySource
from eigenclean.sources.images.source import ImageSource
from eigenclean.workflows import EmbeddingOptions, embedding
from eigenclean.workflows.embedding import embed, encoder_names

IMAGES = ImageSource("photos", np.zeros((20, 4, 4), dtype=np.uint8), np.arange(20) % 2)


def embedded(n_skipped: int, **facts: Any) -> EmbeddedSource:
    """What an encoder gives for the images when the last ones cannot be read."""
    rows = np.arange(20 - n_skipped)
    skipped = [Skipped(row, f"photo {row} is broken") for row in range(20 - n_skipped, 20)]
    return EmbeddedSource(
        IMAGES, rows, np.ones((len(rows), 3)), facts={"encoder": "mine", "kind": "image", **facts}, skipped=skipped
    )


def test_features_are_needed_for_raw_data_or_when_an_encoder_is_named() -> None:
    table = MemorySource("table", np.eye(4), np.arange(4) % 2)
    assert EmbeddingOptions().needed_for(IMAGES) and not EmbeddingOptions().needed_for(table)
    assert EmbeddingOptions("minilm").needed_for(table)


@pytest.mark.parametrize(
    ("named", "used", "recorded"),
    [(None, "minilm", "minilm"), ("auto", "minilm", "minilm"), ("timm:x", "timm", "timm:x"), ("trained", "", None)],
)
def test_the_record_names_the_encoder_that_was_used(named: str | None, used: str, recorded: str | None) -> None:
    record = EmbeddingOptions(named, half=True).record(embedded(0, encoder=used))
    assert record == (None if recorded is None else {"encoder": recorded, "half": True, "cache": None})


def test_a_cache_folder_is_recorded_as_an_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    record = EmbeddingOptions("minilm", cache=Path("kept")).record(embedded(0))
    assert record is not None and record["cache"] == str(tmp_path / "kept")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (EmbeddingOptions("minlim"), "did you mean 'minilm'"),
        (EmbeddingOptions(cache=Path("x"), use_cache=False), "--cache and --no-cache exclude each other"),
        (EmbeddingOptions("trained:resnet"), "takes no model"),
    ],
)
def test_mistakes_are_found_before_anything_is_computed(options: EmbeddingOptions, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        embed(IMAGES, options)
    assert "trained" in encoder_names()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Embeds the images with a given result; returns the messages."""

    def call(result: EmbeddedSource | BaseException, **options: Any) -> list[str]:
        def compute(*args: object, **kwargs: object) -> EmbeddedSource:
            if isinstance(result, BaseException):
                raise result
            return result

        monkeypatch.setattr(embedding, "best_encoder", lambda kind: ("mine", f"the best for {kind}s"))
        monkeypatch.setattr(embedding, "make_encoder", lambda *args, **kwargs: None)
        monkeypatch.setattr(embedding, "embed_source", compute)
        messages: list[str] = []
        try:
            assert embed(IMAGES, EmbeddingOptions(**options), notify=messages.append) is result
        except KeyboardInterrupt:
            messages.append("interrupted")
        return messages

    return call


def test_the_user_is_told_which_encoder_and_how_much_was_new(told: Any) -> None:
    assert told(embedded(0, n_computed=5, seconds=2.5)) == [
        "encoder mine: the best for images",
        "embedded 5 images with mine in 2.5 s (2 a second); 15 were known from before",
    ]
    assert told(embedded(0, n_computed=0, seconds=0.0))[-1] == (
        "embedded 0 images with mine; 20 were known from before"
    )


@pytest.mark.parametrize("n_skipped", [1, 5, 8])
def test_a_few_unreadable_rows_are_named_and_the_others_counted(told: Any, n_skipped: int) -> None:
    _, first, *reasons = told(embedded(n_skipped))
    assert first == f"{n_skipped} of 20 rows are left out, because they cannot be read:"
    named = min(n_skipped, 5)
    assert reasons[:named] == [f"  photo {row} is broken" for row in range(20 - n_skipped, 20 - n_skipped + named)]
    assert reasons[named:] == ([f"  … and {n_skipped - 5} more, all named in the summary"] if n_skipped > 5 else [])


@pytest.mark.parametrize("use_cache", [True, False])
def test_after_an_interrupt_only_a_cache_is_worth_a_word(told: Any, use_cache: bool) -> None:
    kept = ["what was embedded is kept: run the same command again to go on"]
    messages = told(KeyboardInterrupt(), use_cache=use_cache)
    assert messages[1:] == [*(kept if use_cache else []), "interrupted"]
