"""From pixels and sentences to a verdict: how good it is with the default encoders, and how fast embedding is."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.detect import detector
from eigenclean.extras import require
from eigenclean.features import best_encoder, embed_source, make_encoder
from eigenclean.features.encoders.base import IMAGE, TEXT
from eigenclean.metrics import score_verdict
from eigenclean.progress import track
from eigenclean.sources import Source, open_source
from eigenclean.truth import Truth
from eigenclean_lab.bench.detect import Must, Result, record
from eigenclean_lab.bench.embed_data import banking77, cifar10, digits, write_class_folders
from eigenclean_lab.bench.quality_data import MissingData
from eigenclean_lab.bench.timing import best_in_turns, limited_threads

FILE = "bench_embed.json"
THREADS = 1
_FEW = 8  # batches of a timing


@dataclass(frozen=True)
class Quality:
    """One data set, judged from its raw contents.

    Attributes:
        case: the data and the noise.
        status: "done", or "missing" when the data are not there.
        note: what is missing.
        encoder: what made the features.
        n_samples: rows.
        n_computed: how many of them were embedded in this run; the rest was known.
        noise_rate: share of labels that are wrong.
        auroc: of the default judge's P(right).
        least: what it must be at least; None for information only.
        passed: whether it is.
        embed_seconds: of embedding.
        judge_seconds: of judging.
    """

    case: str
    status: str = "done"
    note: str = ""
    encoder: str | None = None
    n_samples: int | None = None
    n_computed: int | None = None
    noise_rate: float | None = None
    auroc: float | None = None
    least: float | None = None
    passed: bool | None = None
    embed_seconds: float | None = None
    judge_seconds: float | None = None


def run(
    data: Path | None, *, samples: int = 10_000, cache: Path | None = None, quick: bool = False
) -> tuple[list[Quality], list[Result]]:
    """Judge every data set, then time the encoders against bare loops; all on one thread.

    Args:
        data: folder of the data.
        samples: pictures of CIFAR-10.
        cache: where features are kept, so that a run that was stopped goes on; by default nowhere.
        quick: digits only, no promises.
    """
    require("torch", extra="embed", caller="bench embed")
    cases: list[Callable[[Path], Quality]]
    if quick:
        cases = [lambda kept: _images("digits, 20 % symmetric", lambda: digits(120), kept, None)]
    else:
        cases = [
            lambda kept: _images("cifar10, human aggre", lambda: cifar10(data, "aggre", samples), kept, 0.95),
            lambda kept: _images("cifar10, human worst", lambda: cifar10(data, "worst", samples), kept, 0.90),
            *(lambda kept, name=name: _texts(name, data, kept) for name in _text_encoders()),
        ]
    with tempfile.TemporaryDirectory() as passing, limited_threads(THREADS):
        kept = cache or Path(passing)
        found = [case(kept) for case in track(cases, "judging")]
        timed = [(IMAGE, best_encoder(IMAGE)[0]), *(() if quick else ((TEXT, name) for name in _text_encoders()))]
        times = [_speed(kind, name, repeats=1 if quick else 5) for kind, name in track(timed, "timing")]
    return found, times


def facts(found: list[Quality], times: list[Result], busy: float | None) -> dict[str, Any]:
    """Everything that was measured, ready for JSON."""
    import torch

    made = record(times, date=datetime.now(UTC).date().isoformat(), busy=busy)
    machine = {**made["machine"], "threads": THREADS, "torch": torch.__version__}
    return {**made, "machine": machine, "quality": [asdict(one) for one in found]}


def _text_encoders() -> list[str]:
    """What anyone with the extra gets, and the best that is installed."""
    return list(dict.fromkeys(["wordllama", best_encoder(TEXT)[0]]))


def _images(case: str, load: Callable[[], Any], kept: Path, least: float | None) -> Quality:
    name = best_encoder(IMAGE)[0]
    try:
        pictures = load()
    except MissingData as error:
        return Quality(case, "missing", str(error), name, least=least)
    with tempfile.TemporaryDirectory() as place:
        folder = write_class_folders(pictures, Path(place) / "images")
        source = open_source(folder)
        # Files are in the order of their folders; their names say which row they are.
        rows = np.array([int(Path(one).stem) for one in source.ids.tolist()])
        return _judged(case, source, Truth(pictures.truth.labels[rows]), name, kept, least)


def _texts(name: str, data: Path | None, kept: Path) -> Quality:
    case, least = f"banking77 texts, 20 % symmetric, {name}", 0.93
    try:
        sentences = banking77(data)
    except MissingData as error:
        return Quality(case, "missing", str(error), name, least=least)
    source = open_source({"texts": sentences.texts, "labels": sentences.labels})
    return _judged(case, source, sentences.truth, name, kept, least)


def _judged(case: str, source: Source, truth: Truth, name: str, kept: Path, least: float | None) -> Quality:
    made = embed_source(source, make_encoder(name), cache=kept, strict=True)
    started = time.perf_counter()
    verdict = detector().judge(made.features(), made.labels, ids=made.ids)
    seconds = time.perf_counter() - started
    auroc = score_verdict(verdict, truth).as_dict()["auroc"]
    told = made.facts()
    return Quality(
        case=case,
        encoder=name,
        n_samples=len(made),
        n_computed=told["n_computed"],
        noise_rate=truth.noise_rate(made.labels),
        auroc=auroc,
        least=least,
        passed=None if least is None else bool(auroc is not None and auroc >= least),
        embed_seconds=told["seconds"],
        judge_seconds=seconds,
    )


def _speed(kind: str, name: str, repeats: int) -> Result:
    """`embed_source` with threads and files that keep the features, against the model on inputs that lie ready."""
    encoder = make_encoder(name, device="cpu")
    rng = np.random.default_rng(0)
    if kind == IMAGE:
        few = _FEW * encoder.batch
        shapes = rng.integers(0, 256, size=(few, 32, 32, 3), dtype=np.uint8)
        source = open_source({"images": shapes, "labels": np.arange(few) % 2})
        bare = _bare_images(name, shapes, encoder)
    else:
        few = 8192 if name == "wordllama" else 256
        words = np.array(
            ["card", "money", "where", "is", "my", "transfer", "fee", "top", "up", "cash", "not", "the"]
        )
        texts = [" ".join(rng.choice(words, size=rng.integers(5, 25)).tolist()) for _ in range(few)]
        source = open_source({"texts": texts, "labels": np.arange(few) % 2})
        parts = [texts[start : start + encoder.batch] for start in range(0, few, encoder.batch)]
        bare = lambda: [encoder.encode(part) for part in parts]  # noqa: E731
    must = Must("at most", 1.2)

    def ours() -> None:
        embed_source(source, encoder, keep=False)

    case = f"embedding {few} {kind}s with {name}: read, decoded, embedded, kept"
    return Result.timed(case, "a bare loop of the model", best_in_turns(ours, bare, repeats), must)


def _bare_images(name: str, pixels: Any, encoder: Any) -> Callable[[], object]:
    """The network as its package gives it, on inputs that are ready; what anyone would write."""
    import torch
    from torch.nn import functional

    from eigenclean.features.encoders.efficientnet_lite import load_network

    network: Any = load_network(name)
    inputs = torch.from_numpy(pixels).permute(0, 3, 1, 2).float()
    size = encoder.preprocess.size
    ready = (functional.interpolate(inputs, size=(size, size), mode="bicubic").clamp(0, 255) - 127) / 128
    ready = ready.contiguous()

    def loop() -> object:
        with torch.inference_mode():
            return [
                network.extract_features(part).mean((2, 3)).numpy() for part in torch.split(ready, encoder.batch)
            ]

    return loop
