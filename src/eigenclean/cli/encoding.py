"""From a source without features to one with: what `detect` and `embed` share."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenclean.cli.console import mention
from eigenclean.errors import InvalidOption
from eigenclean.names import check_name

if TYPE_CHECKING:
    from eigenclean.features import EmbeddedSource
    from eigenclean.sources import Source

TRAINED = "trained"  # a network trained on these very labels: lives in train, which features may not know
_NAMED = 5  # bad files that are named on the console; all are in the summary


@dataclass(frozen=True)
class Embed:
    """How to embed, as the command line says."""

    encoder: str | None = None
    device: str | None = None
    half: bool = False
    batch: int | None = None
    cache: Path | None = None
    keep: bool = True
    strict: bool = False

    def wanted_for(self, source: "Source") -> bool:
        """Whether the source has no features, or others are asked for."""
        from eigenclean.sources.raw import RawSource

        return self.encoder is not None or isinstance(source, RawSource)

    def again(self, made: "EmbeddedSource") -> dict[str, Any] | None:
        """How to get the same features once more, for the record; None when nobody could."""
        encoder = self.encoder if self.encoder not in (None, "auto") else made.facts()["encoder"]
        if encoder.partition("?")[0] == TRAINED:
            return None
        folder = None if self.cache is None else str(self.cache.resolve())
        return {"encoder": encoder, "half": self.half, "cache": folder}


def embed(source: "Source", how: Embed) -> "EmbeddedSource":
    """The source with features, by the encoder that was asked for or the best there is; says what it does."""
    from eigenclean.features import best_encoder, embed_source, make_encoder
    from eigenclean.features.choose import AUTO, parse
    from eigenclean.features.contents import contents_of

    if how.cache is not None and not how.keep:
        raise InvalidOption("--cache and --no-cache exclude each other: give one of them")
    name = how.encoder
    if name is not None:
        check_name(parse(name)[0], [AUTO, *encoder_names()], by="eigenclean", what="encoder")
    if name is not None and parse(name)[0] == TRAINED:
        made = _by_training(source, name, how)
    else:
        if name in (None, AUTO):
            name, why = best_encoder(contents_of(source).kind)
            mention(f"encoder {name}: {why}")
        encoder = make_encoder(name, device=how.device, half=how.half, batch=how.batch)
        try:
            made = embed_source(source, encoder, cache=how.cache, keep=how.keep, strict=how.strict)
        except KeyboardInterrupt:
            if how.keep:
                mention("what was embedded is kept: run the same command again to go on")
            raise
    _report(made)
    return made


def encoder_names() -> list[str]:
    """All that --encoder takes."""
    from eigenclean.features import ENCODERS

    return [*ENCODERS, TRAINED]


def _by_training(source: "Source", text: str, how: Embed) -> "EmbeddedSource":
    from eigenclean.features.choose import parse
    from eigenclean.train.encoder import embed_by_training

    _, model, options = parse(text)
    if model is not None:
        raise InvalidOption(f"encoder trained takes no model, got {model!r}; choose with trained?net=NAME")
    return embed_by_training(source, options, device=how.device, strict=how.strict)


def _report(made: "EmbeddedSource") -> None:
    facts = made.facts()
    new, kind = facts.get("n_computed"), facts["kind"]
    if new is not None:
        known = facts["n_embedded"] - new
        rate = f" in {facts['seconds']:.1f} s ({new / max(facts['seconds'], 1e-9):.0f} a second)" if new else ""
        mention(f"embedded {new} {kind}s with {facts['encoder']}{rate}; {known} were known from before")
    if made.bad:
        mention(f"{len(made.bad)} of {len(made.raw)} rows are left out, because they cannot be read:")
        for bad in made.bad[:_NAMED]:
            mention(f"  {bad.reason}")
        if len(made.bad) > _NAMED:
            mention(f"  … and {len(made.bad) - _NAMED} more, all named in the summary")
