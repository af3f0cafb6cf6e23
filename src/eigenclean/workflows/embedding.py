"""Features for a source of images or texts: choose an encoder, embed, and tell what was done."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eigenclean.errors import InvalidOption
from eigenclean.features import ENCODERS, EmbeddedSource, best_encoder, embed_source, make_encoder
from eigenclean.features.choose import AUTO, parse
from eigenclean.features.contents import contents_of
from eigenclean.names import check_name
from eigenclean.sources import RawSource, Source
from eigenclean.workflows.options import Notify, ignore

TRAINED = (
    "trained"  # features of a network trained on these labels; `features` is below `train` and cannot offer it
)
_MAX_NAMED = 5  # unreadable rows that are named; all are in the summary


@dataclass(frozen=True)
class EmbeddingOptions:
    """How images and texts become features.

    Attributes:
        encoder: name, with model and options; None for the best that is installed.
        device: where it runs; None for the best there is.
        half: compute and store 16-bit features.
        batch_size: images or texts at a time; None for the encoder's own.
        cache: folder of features computed before; None for the default.
        use_cache: whether features are looked up and kept.
        strict: stop at the first image or text that cannot be read.
    """

    encoder: str | None = None
    device: str | None = None
    half: bool = False
    batch_size: int | None = None
    cache: Path | None = None
    use_cache: bool = True
    strict: bool = False

    def needed_for(self, source: Source) -> bool:
        """Whether the source has no features or texts to embed beside them, or an encoder was named."""
        return self.encoder is not None or isinstance(source, RawSource) or source.embeds_texts

    @property
    def trains(self) -> bool:
        """Whether the features are those of a network that is trained on the labels to be judged."""
        return self.encoder is not None and parse(self.encoder)[0] == TRAINED

    @property
    def saw_labels(self) -> bool:
        """Whether that network has seen the label of the very row that it describes: not with folds."""
        return self.trains and "folds" not in parse(self.encoder or "")[2]

    def record(self, embedded: EmbeddedSource) -> dict[str, Any] | None:
        """How to compute the same features again, for ``summary.json``; None for features of a trained network."""
        encoder = embedded.facts()["encoder"] if self.encoder in (None, AUTO) else self.encoder
        assert encoder is not None
        if encoder.partition("?")[0] == TRAINED:
            return None
        return {
            "encoder": encoder,
            "half": self.half,
            "cache": None if self.cache is None else str(self.cache.resolve()),
        }


def encoder_names() -> list[str]:
    """All names that ``--encoder`` takes."""
    return [*ENCODERS, TRAINED]


def embed(source: Source, options: EmbeddingOptions, *, notify: Notify = ignore) -> EmbeddedSource:
    """The source with features, by the encoder that was named or the best one installed."""
    if options.cache is not None and not options.use_cache:
        raise InvalidOption("--cache and --no-cache exclude each other: give one of them")
    name = options.encoder
    if name is not None:
        check_name(parse(name)[0], [AUTO, *encoder_names()], by="eigenclean", what="encoder")
    if name is not None and options.trains:
        embedded = _embed_by_training(source, name, options)
    else:
        if name in (None, AUTO):
            name, reason = best_encoder(contents_of(source).kind)
            notify(f"encoder {name}: {reason}")
        encoder = make_encoder(name, device=options.device, half=options.half, batch=options.batch_size)
        try:
            embedded = embed_source(
                source, encoder, cache=options.cache, use_cache=options.use_cache, strict=options.strict
            )
        except KeyboardInterrupt:
            if options.use_cache:
                notify("what was embedded is kept: run the same command again to go on")
            raise
    _describe(embedded, notify)
    return embedded


def _embed_by_training(source: Source, encoder: str, options: EmbeddingOptions) -> EmbeddedSource:
    from eigenclean.train import embed_by_training

    _, model, settings = parse(encoder)
    if model is not None:
        raise InvalidOption(f"encoder trained takes no model, got {model!r}; choose with trained?net=NAME")
    return embed_by_training(source, settings, device=options.device, strict=options.strict)


def _describe(embedded: EmbeddedSource, notify: Notify) -> None:
    facts = embedded.facts()
    n_computed, kind = facts.get("n_computed"), facts["kind"]
    if n_computed is not None:
        n_known = facts["n_embedded"] - n_computed
        seconds = facts["seconds"]
        rate = f" in {seconds:.1f} s ({n_computed / max(seconds, 1e-9):.0f} a second)" if n_computed else ""
        notify(f"embedded {n_computed} {kind}s with {facts['encoder']}{rate}; {n_known} were known from before")
    if embedded.skipped:
        notify(f"{len(embedded.skipped)} of {len(embedded.raw)} rows are left out, because they cannot be read:")
        for content in embedded.skipped[:_MAX_NAMED]:
            notify(f"  {content.reason}")
        if len(embedded.skipped) > _MAX_NAMED:
            notify(f"  … and {len(embedded.skipped) - _MAX_NAMED} more, all named in the summary")
