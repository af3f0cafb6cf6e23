"""The speed of trainings against bare loops."""

import json

import pytest
import torch

from eigenclean.train import recipe
from eigenclean.train.engine import Engine
from eigenclean_lab.bench.speed import training as speed
from eigenclean_lab.bench.speed.bare_loops import bare_loop, dividemix_passes


@pytest.mark.slow
def test_every_ratio_with_a_target_is_measured() -> None:
    state = torch.get_rng_state()
    results = speed.run(speed.TrainingSizes.quick())
    assert torch.equal(torch.get_rng_state(), state)
    targets = [result.target for result in results if result.target]
    assert targets == ["<= 1.05x", "<= 0.1x", "<= 0.02x", "<= 1x", "<= 1.1x"]
    assert all(result.ratio > 0 for result in results)
    facts = speed.facts(results, load=0.5)
    assert json.loads(json.dumps(facts))["machine"]["threads"] >= 1


@pytest.mark.slow
def test_the_bare_loop_does_what_the_engine_does() -> None:
    """From other weights and in another order, so that only how well they learn can be compared."""
    pool = speed._images(512, (1, 28, 28))
    make, chosen = speed._maker("small-cnn", pool), recipe("standard").with_epochs(4)
    engine = Engine(chosen, make, pool, device="cpu").fit()
    with speed._forked_randomness():
        loss, accuracy = bare_loop(make(), pool, chosen.optimiser, 4)
    last = engine.history[-1]
    assert accuracy == pytest.approx(last["train_accuracy"], abs=0.15) and accuracy > 0.2
    assert loss == pytest.approx(last["loss"], abs=0.4)


@pytest.mark.slow
def test_the_bare_passes_are_as_many_steps_as_an_epoch_of_dividemix() -> None:
    pool = speed._images(300, (1, 28, 28))
    make, chosen = speed._maker("small-cnn", pool), recipe("dividemix", warm_up=1, epochs=2)
    watch = speed.EpochClock()
    engine = Engine(chosen, make, pool, device="cpu", callbacks=[watch]).fit()
    assert len(watch.seconds) == len(watch.kept) == 1 and watch.seconds[0] > 0
    settings = chosen.plan()[-1].optimiser
    assert settings.batch_size == 64
    with speed._forked_randomness():
        steps = dividemix_passes(engine.networks, pool, watch.kept[0], settings)
    assert steps == sum(-(-kept // 64) for kept in watch.kept[0])
