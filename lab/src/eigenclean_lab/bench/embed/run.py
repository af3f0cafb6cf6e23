"""From pixels and sentences to a verdict: how good it is with the default encoders, and how fast embedding is."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.detect import detector
from eigenclean.extras import require
from eigenclean.features import IMAGE, TEXT, best_encoder, embed_source, make_encoder
from eigenclean.metrics import score_verdict
from eigenclean.progress import track
from eigenclean.sources import Source, open_source
from eigenclean.truth import Truth
from eigenclean_lab.bench.embed.data import banking77, cifar10, digits, write_class_folders
from eigenclean_lab.bench.speed.ratios import Ratio, RatioTarget, record
from eigenclean_lab.bench.speed.timing import best_in_turns, limited_threads
from eigenclean_lab.store import MissingData, today

FILE = "bench_embed.json"
THREADS = 1
_BATCHES = 8  # of a timing


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
        target: least AUROC; None for information only.
        passed: whether the target is met.
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
    target: float | None = None
    passed: bool | None = None
    embed_seconds: float | None = None
    judge_seconds: float | None = None


def run(
    data: Path | None, *, samples: int = 10_000, cache: Path | None = None, quick: bool = False
) -> tuple[list[Quality], list[Ratio]]:
    """Judge every data set, then time the encoders against bare loops; all on one thread.

    Args:
        data: folder of the data.
        samples: images of CIFAR-10.
        cache: where features are kept, so that a run that was stopped goes on; by default nowhere.
        quick: digits only, no targets.
    """
    require("torch", extra="embed", caller="bench embed")
    cases: list[Callable[[Path], Quality]]
    if quick:
        cases = [lambda cache: _images("digits, 20 % symmetric", lambda: digits(120), cache, None)]
    else:
        cases = [
            lambda cache: _images("cifar10, human aggre", lambda: cifar10(data, "aggre", samples), cache, 0.95),
            lambda cache: _images("cifar10, human worst", lambda: cifar10(data, "worst", samples), cache, 0.90),
            *(lambda cache, name=name: _texts(name, data, cache) for name in _text_encoders()),
        ]
    with tempfile.TemporaryDirectory() as passing, limited_threads(THREADS):
        features = cache or Path(passing)
        qualities = [case(features) for case in track(cases, "judging")]
        timed = [(IMAGE, best_encoder(IMAGE)[0]), *(() if quick else ((TEXT, name) for name in _text_encoders()))]
        times = [_speed(kind, name, repeats=1 if quick else 5) for kind, name in track(timed, "timing")]
    return qualities, times


def facts(qualities: list[Quality], times: list[Ratio], load: float | None) -> dict[str, Any]:
    """Everything that was measured, ready for JSON."""
    import torch

    facts = record(times, today(), load)
    machine = {**facts["machine"], "threads": THREADS, "torch": torch.__version__}
    return {**facts, "machine": machine, "quality": [asdict(quality) for quality in qualities]}


def _text_encoders() -> list[str]:
    """The encoder of the extra ``embed``, and the best that is installed."""
    return list(dict.fromkeys(["wordllama", best_encoder(TEXT)[0]]))


def _images(case: str, load: Callable[[], Any], cache: Path, target: float | None) -> Quality:
    name = best_encoder(IMAGE)[0]
    try:
        images = load()
    except MissingData as error:
        return Quality(case, "missing", str(error), name, target=target)
    with tempfile.TemporaryDirectory() as place:
        folder = write_class_folders(images, Path(place) / "images")
        source = open_source(folder)
        # Files are in the order of their folders; their names say which row they are.
        rows = np.array([int(Path(name).stem) for name in source.ids.tolist()])
        return _judged(case, source, Truth(images.truth.labels[rows]), name, cache, target)


def _texts(name: str, data: Path | None, cache: Path) -> Quality:
    case, target = f"banking77 texts, 20 % symmetric, {name}", 0.93
    try:
        sentences = banking77(data)
    except MissingData as error:
        return Quality(case, "missing", str(error), name, target=target)
    source = open_source({"texts": sentences.texts, "labels": sentences.labels})
    return _judged(case, source, sentences.truth, name, cache, target)


def _judged(case: str, source: Source, truth: Truth, name: str, cache: Path, target: float | None) -> Quality:
    embedded = embed_source(source, make_encoder(name), cache=cache, strict=True)
    started = time.perf_counter()
    verdict = detector().judge(embedded.features(), embedded.labels, ids=embedded.ids)
    seconds = time.perf_counter() - started
    auroc = score_verdict(verdict, truth).as_dict()["auroc"]
    embedding = embedded.facts()
    return Quality(
        case=case,
        encoder=name,
        n_samples=len(embedded),
        n_computed=embedding["n_computed"],
        noise_rate=truth.noise_rate(embedded.labels),
        auroc=auroc,
        target=target,
        passed=None if target is None else bool(auroc is not None and auroc >= target),
        embed_seconds=embedding["seconds"],
        judge_seconds=seconds,
    )


def _speed(kind: str, name: str, repeats: int) -> Ratio:
    """`embed_source` with its threads and its cache on disk, against the model alone on preprocessed inputs."""
    encoder = make_encoder(name, device="cpu")
    rng = np.random.default_rng(0)
    if kind == IMAGE:
        n_items = _BATCHES * encoder.batch
        shapes = rng.integers(0, 256, size=(n_items, 32, 32, 3), dtype=np.uint8)
        source = open_source({"images": shapes, "labels": np.arange(n_items) % 2})
        bare = _bare_images(name, shapes, encoder)
    else:
        n_items = 8192 if name == "wordllama" else 256
        vocabulary = np.array(
            ["card", "money", "where", "is", "my", "transfer", "fee", "top", "up", "cash", "not", "the"]
        )
        texts = [" ".join(rng.choice(vocabulary, size=rng.integers(5, 25)).tolist()) for _ in range(n_items)]
        source = open_source({"texts": texts, "labels": np.arange(n_items) % 2})
        batches = [texts[start : start + encoder.batch] for start in range(0, n_items, encoder.batch)]
        bare = lambda: [encoder.encode(batch) for batch in batches]  # noqa: E731
    target = RatioTarget("at most", 1.2)

    def ours() -> None:
        embed_source(source, encoder, use_cache=False)

    case = f"embedding {n_items} {kind}s with {name}: read, decoded, embedded, kept"
    return Ratio.timed(case, "a bare loop of the model", best_in_turns(ours, bare, repeats), target)


def _bare_images(name: str, pixels: Any, encoder: Any) -> Callable[[], object]:
    """The network as its package provides it, on preprocessed inputs: the plainest possible loop."""
    import torch
    from torch.nn import functional

    from eigenclean.features.encoders.efficientnet_lite import load_network

    network: Any = load_network(name)
    inputs = torch.from_numpy(pixels).permute(0, 3, 1, 2).float()
    size = encoder.preprocess.size
    scaled = (functional.interpolate(inputs, size=(size, size), mode="bicubic").clamp(0, 255) - 127) / 128
    scaled = scaled.contiguous()

    def loop() -> object:
        with torch.inference_mode():
            return [
                network.extract_features(batch).mean((2, 3)).numpy() for batch in torch.split(scaled, encoder.batch)
            ]

    return loop
