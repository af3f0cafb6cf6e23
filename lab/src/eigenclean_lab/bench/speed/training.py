"""How fast training is, as ratios: the engine against plain loops, a selection by FINE against an epoch."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Ints
from eigenclean.evidence import Evidence
from eigenclean.noise import add_noise
from eigenclean.progress import track
from eigenclean.train import Callback, InputSpec, Optimiser, recipe
from eigenclean_lab.bench.speed.ratios import THREADS, Ratio, RatioTarget, record
from eigenclean_lab.bench.speed.synthetic import noisy_features
from eigenclean_lab.bench.speed.timing import best_in_turns, limited_threads, peak_bytes, seconds
from eigenclean_lab.store import today

FILE = "bench_train_speed.json"
_CLASSES = 10
_EPOCHS = 2
_CPU = "cpu"  # elsewhere a clock would have to wait for the device


@dataclass(frozen=True)
class TrainingSizes:
    """How much data the cases run on, and how often each side is timed.

    Attributes:
        images: that the loops learn.
        fashion: rows of a round of FINE beside an epoch of the small network.
        cifar: rows of a round of FINE beside an epoch of ResNet-34; the epoch is timed on one batch.
        batch: of ResNet-34.
        repeats: of each timing.
    """

    images: int = 2_048
    fashion: int = 10_000
    cifar: int = 50_000
    batch: int = 128
    repeats: int = 5

    @classmethod
    def quick(cls) -> "TrainingSizes":
        """Little data: shows that everything runs, proves nothing about speed."""
        return cls(images=192, fashion=300, cifar=600, batch=2, repeats=1)


def run(sizes: TrainingSizes) -> list[Ratio]:
    """Time all cases."""
    cases: list[Callable[[TrainingSizes], list[Ratio]]] = [
        _standard,
        _vectors,
        _small_round,
        _cifar_round,
        _dividemix,
    ]
    with limited_threads(threads()), _forked_randomness():
        return [result for case in track(cases, "timing") for result in case(sizes)]


def facts(ratios: list[Ratio], load: float | None = None) -> dict[str, Any]:
    """The ratios and the facts about this machine, ready for JSON; ``load`` is the result of `busy_processors`."""
    import torch

    facts = record(ratios, today(), load)
    return {**facts, "machine": {**facts["machine"], "threads": threads(), "torch": torch.__version__}}


def threads() -> int:
    """As many as everywhere, unless torch has been told to use fewer."""
    import torch

    return min(THREADS, torch.get_num_threads())


# The engine against a bare loop.


def _standard(sizes: TrainingSizes) -> list[Ratio]:
    pool, net = _images(sizes.images, (1, 28, 28)), "small-cnn"
    return [_engine_result("engine, standard, small CNN", pool, net, sizes.repeats, RatioTarget("at most", 1.05))]


def _vectors(sizes: TrainingSizes) -> list[Ratio]:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((4 * sizes.images, 1280), dtype=np.float32)
    pool = _pool(features, rng.integers(_CLASSES, size=len(features)))
    return [_engine_result("engine, standard, head on 1280 features", pool, "mlp", sizes.repeats, None)]


def _engine_result(case: str, pool: Any, net: str, repeats: int, target: RatioTarget | None) -> Ratio:
    from eigenclean.train import Engine
    from eigenclean_lab.bench.speed.bare_loops import bare_loop

    chosen = recipe("standard").with_epochs(_EPOCHS)
    make = _maker(net, pool)

    def ours() -> None:
        Engine(chosen, make, pool, device=_CPU).fit()

    def bare() -> None:
        bare_loop(make(), pool, chosen.optimiser, _EPOCHS)

    return Ratio.timed(case, "a bare loop doing the same", best_in_turns(ours, bare, repeats), target)


# A round of FINE against an epoch.


def _small_round(sizes: TrainingSizes) -> list[Ratio]:
    from eigenclean_lab.bench.speed.bare_loops import bare_loop

    pool, net = _images(sizes.fashion, (1, 28, 28)), "small-cnn"
    round_, _ = fine_round(sizes.fashion, 128)

    def epoch() -> None:
        bare_loop(_maker(net, pool)(), pool, recipe("standard").optimiser, 1)

    times = best_in_turns(round_, epoch, max(1, sizes.repeats // 2))
    case = f"FINE round, {sizes.fashion} x 128"
    return [Ratio.timed(case, "an epoch of the small CNN", times, RatioTarget("at most", 0.1))]


def _cifar_round(sizes: TrainingSizes) -> list[Ratio]:
    from eigenclean_lab.bench.speed.bare_loops import bare_loop

    pool, net = _images(sizes.batch, (3, 32, 32)), "resnet34"
    round_, features = fine_round(sizes.cifar, 512)
    model, settings = _maker(net, pool)(), recipe("standard", preset="cifar10").optimiser

    def batch() -> None:
        bare_loop(model, pool, replace(settings, batch_size=sizes.batch), 1)

    ours, batch_seconds = best_in_turns(round_, batch, max(1, sizes.repeats // 2))
    case, batches = f"FINE round, {sizes.cifar} x 512", sizes.cifar / sizes.batch
    timed = Ratio.timed(
        case, "an epoch of ResNet-34", (ours, batch_seconds * batches), RatioTarget("at most", 0.02)
    )
    note = f"{batch_seconds:.3g} s a batch of {sizes.batch}, {batches:.0f} batches an epoch; {ours:.3g} s a round"
    copy = sizes.cifar * 3 * 32 * 32  # bytes of the images
    beyond = f"beyond the {features.nbytes / 1e6:.0f} MB of features"
    ratio = peak_bytes(round_) / copy
    memory = Ratio.measured(f"{case}: memory", "a copy of the images", ratio, RatioTarget("at most", 1), beyond)
    return [replace(timed, note=note), memory]


def fine_round(rows: int, columns: int) -> tuple[Callable[[], None], Array]:
    """A selection of the recipe "fine" on features that a network has given already, and those features."""
    import torch

    features, labels = noisy_features(rows, columns, _CLASSES)
    outputs, ids = torch.from_numpy(features), np.arange(rows)
    selector = recipe("fine").stages[-1].select

    def work() -> None:
        evidence = Evidence(ids=ids, labels=labels, features=np.asarray(outputs.float().cpu().numpy()))
        selector.select(evidence, 1, None, {})

    return work, features


# DivideMix against the passes that it is made of.


def _dividemix(sizes: TrainingSizes) -> list[Ratio]:
    from eigenclean.train import Engine

    pool, net = _images(sizes.images, (1, 28, 28)), "small-cnn"
    make, chosen = _maker(net, pool), recipe("dividemix", warm_up=1, epochs=3)
    settings = chosen.stages[-1].optimiser or chosen.optimiser
    nets = [make(), make()]
    pairs = []
    for _ in range(sizes.repeats + 1):  # the first one warms up
        watch = EpochClock()
        Engine(chosen, make, pool, device=_CPU, callbacks=[watch]).fit()
        pairs.append((sum(watch.seconds), sum(_passes_seconds(nets, pool, kept, settings) for kept in watch.kept)))
    ours, bare = min(first for first, _ in pairs[1:]), min(second for _, second in pairs[1:])
    case = "DivideMix, two epochs, small CNN"
    return [Ratio.timed(case, "a bare loop of the same passes", (ours, bare), RatioTarget("at most", 1.1))]


class EpochClock(Callback):
    """Seconds of each epoch after the first, with its selection, and how many samples each network was given."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.kept: list[list[int]] = []
        self._before: float | None = None

    def on_epoch_end(self, engine: Any, record: dict[str, Any]) -> None:
        """Stop the clock and start it again."""
        now = time.perf_counter()
        if self._before is not None:
            self.seconds.append(now - self._before)
            self.kept.append([int(state.selection.keep.sum()) for state in engine.network_states])
        self._before = time.perf_counter()


def _passes_seconds(nets: Sequence[Any], pool: Any, kept: Sequence[int], settings: Optimiser) -> float:
    from eigenclean_lab.bench.speed.bare_loops import dividemix_passes

    return seconds(lambda: dividemix_passes(nets, pool, kept, settings))


# What the cases share.


def _images(n: int, shape: tuple[int, int, int]) -> Any:
    """Bytes, in classes that can be learned, with half of the labels drawn at random."""
    rng = np.random.default_rng(0)
    right = rng.integers(_CLASSES, size=n)
    places = rng.integers(256, size=(_CLASSES, *shape), dtype=np.int16)
    images = (places[right] + rng.integers(256, size=(n, *shape), dtype=np.int16)) // 2
    return _pool(images.astype(np.uint8), add_noise(right, "symmetric", 0.5))


def _pool(inputs: Array, codes: Ints) -> Any:
    return InputSpec.fit(inputs, "measured").pool(inputs, codes, np.arange(_CLASSES))


def _maker(name: str, pool: Any) -> Callable[[], Any]:
    from eigenclean.nets import make_net

    shape = tuple(pool.inputs.shape[1:])
    return lambda: make_net(name, shape if len(shape) > 1 else shape[0], pool.n_classes)


@contextmanager
def _forked_randomness() -> Iterator[None]:
    """Restore torch's global random state afterwards: the plain loops draw from it."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield
