"""How fast training is, as ratios: the engine against bare loops, a round of FINE against an epoch."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Ints
from eigenclean.evidence import Evidence
from eigenclean.noise import add_noise
from eigenclean.progress import track
from eigenclean.train import recipe
from eigenclean.train.callbacks import Callback
from eigenclean.train.data.inputs import InputSpec
from eigenclean.train.optimiser import Optimiser
from eigenclean_lab.bench.detect import THREADS, Must, Result, noisy_features, record
from eigenclean_lab.bench.timing import best_in_turns, limited_threads, peak_bytes, seconds

FILE = "bench_train_speed.json"
_CLASSES = 10
_EPOCHS = 2
_CPU = "cpu"  # elsewhere a clock would have to wait for the device


@dataclass(frozen=True)
class Sizes:
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
    def quick(cls) -> "Sizes":
        """Little data: shows that everything runs, proves nothing about speed."""
        return cls(images=192, fashion=300, cifar=600, batch=2, repeats=1)


def run(sizes: Sizes) -> list[Result]:
    """Time all cases."""
    cases: list[Callable[[Sizes], list[Result]]] = [_standard, _vectors, _small_round, _cifar_round, _dividemix]
    with limited_threads(threads()), _own_randomness():
        return [result for case in track(cases, "timing") for result in case(sizes)]


def facts(results: list[Result], busy: float | None = None) -> dict[str, Any]:
    """The results and the facts about this machine, ready for JSON; ``busy`` is what `busy_processors` said."""
    import torch

    made = record(results, date=datetime.now(UTC).date().isoformat(), busy=busy)
    return {**made, "machine": {**made["machine"], "threads": threads(), "torch": torch.__version__}}


def threads() -> int:
    """As many as everywhere, unless torch has been told to use fewer."""
    import torch

    return min(THREADS, torch.get_num_threads())


# The engine against a bare loop.


def _standard(sizes: Sizes) -> list[Result]:
    pool, net = _images(sizes.images, (1, 28, 28)), "small-cnn"
    return [_engine_result("engine, standard, small CNN", pool, net, sizes.repeats, Must("at most", 1.05))]


def _vectors(sizes: Sizes) -> list[Result]:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((4 * sizes.images, 1280), dtype=np.float32)
    pool = _pool(features, rng.integers(_CLASSES, size=len(features)))
    return [_engine_result("engine, standard, head on 1280 features", pool, "mlp", sizes.repeats, None)]


def _engine_result(case: str, pool: Any, net: str, repeats: int, must: Must | None) -> Result:
    from eigenclean.train.engine import Engine
    from eigenclean_lab.bench.train_bare import bare_loop

    chosen = recipe("standard").with_epochs(_EPOCHS)
    make = _maker(net, pool)

    def ours() -> None:
        Engine(chosen, make, pool, device=_CPU).fit()

    def bare() -> None:
        bare_loop(make(), pool, chosen.optimiser, _EPOCHS)

    return Result.timed(case, "a bare loop doing the same", best_in_turns(ours, bare, repeats), must)


# A round of FINE against an epoch.


def _small_round(sizes: Sizes) -> list[Result]:
    from eigenclean_lab.bench.train_bare import bare_loop

    pool, net = _images(sizes.fashion, (1, 28, 28)), "small-cnn"
    round_, _ = fine_round(sizes.fashion, 128)

    def epoch() -> None:
        bare_loop(_maker(net, pool)(), pool, recipe("standard").optimiser, 1)

    times = best_in_turns(round_, epoch, max(1, sizes.repeats // 2))
    case = f"FINE round, {sizes.fashion} x 128"
    return [Result.timed(case, "an epoch of the small CNN", times, Must("at most", 0.1))]


def _cifar_round(sizes: Sizes) -> list[Result]:
    from eigenclean_lab.bench.train_bare import bare_loop

    pool, net = _images(sizes.batch, (3, 32, 32)), "resnet34"
    round_, features = fine_round(sizes.cifar, 512)
    model, settings = _maker(net, pool)(), recipe("standard", preset="cifar10").optimiser

    def batch() -> None:
        bare_loop(model, pool, replace(settings, batch_size=sizes.batch), 1)

    ours, one = best_in_turns(round_, batch, max(1, sizes.repeats // 2))
    case, batches = f"FINE round, {sizes.cifar} x 512", sizes.cifar / sizes.batch
    timed = Result.timed(case, "an epoch of ResNet-34", (ours, one * batches), Must("at most", 0.02))
    note = f"{one:.3g} s a batch of {sizes.batch}, {batches:.0f} batches an epoch; {ours:.3g} s a round"
    copy = sizes.cifar * 3 * 32 * 32  # bytes of the images
    beyond = f"beyond the {features.nbytes / 1e6:.0f} MB of features"
    ratio = peak_bytes(round_) / copy
    memory = Result.measured(f"{case}: memory", "a copy of the images", ratio, Must("at most", 1), beyond)
    return [replace(timed, note=note), memory]


def fine_round(rows: int, columns: int) -> tuple[Callable[[], None], Array]:
    """A selection of the recipe "fine" on features that a network has given already, and those features."""
    import torch

    features, labels = noisy_features(rows, columns, _CLASSES)
    given, ids = torch.from_numpy(features), np.arange(rows)
    selector = recipe("fine").stages[-1].select

    def work() -> None:
        seen = Evidence(ids=ids, labels=labels, features=np.asarray(given.float().cpu().numpy()))
        selector.select(seen, 1, None, {})

    return work, features


# DivideMix against the passes that it is made of.


def _dividemix(sizes: Sizes) -> list[Result]:
    from eigenclean.train.engine import Engine

    pool, net = _images(sizes.images, (1, 28, 28)), "small-cnn"
    make, chosen = _maker(net, pool), recipe("dividemix", warm_up=1, epochs=3)
    settings = chosen.stages[-1].optimiser or chosen.optimiser
    nets = [make(), make()]
    pairs = []
    for _ in range(sizes.repeats + 1):  # the first one warms up
        watch = EpochClock()
        Engine(chosen, make, pool, device=_CPU, callbacks=[watch]).fit()
        pairs.append((sum(watch.seconds), sum(_passes_seconds(nets, pool, kept, settings) for kept in watch.kept)))
    ours, bare = min(own for own, _ in pairs[1:]), min(other for _, other in pairs[1:])
    case = "DivideMix, two epochs, small CNN"
    return [Result.timed(case, "a bare loop of the same passes", (ours, bare), Must("at most", 1.1))]


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
    from eigenclean_lab.bench.train_bare import dividemix_passes

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
def _own_randomness() -> Iterator[None]:
    """The bare loops draw from torch's global state, which is as it was when they are over."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield
