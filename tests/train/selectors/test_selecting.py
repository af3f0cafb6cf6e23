"""`Selecting` in training loops of other libraries, and networks of the user's own."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from eigenclean import RobustClassifier
from eigenclean.arrays import Array, Ints
from eigenclean.detect import detector
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.train import Recipe, Selecting, Stage

BODY, HEAD = 8, 3


def module() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(BODY, 16), nn.ReLU(), nn.Linear(16, HEAD))


def test_a_plain_loop_of_torch(blobs: tuple[Array, Ints]) -> None:
    X, y = torch.from_numpy(blobs[0]), torch.from_numpy(blobs[1])
    net, ids = module(), torch.arange(len(y))
    optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
    selecting = Selecting("knn", every=4, warm_up=2)
    for _ in range(12):
        for batch in torch.randperm(len(ids)).reshape(3, 40):
            weights = torch.from_numpy(selecting.weights(ids[batch])).float()
            loss = (weights * nn.functional.cross_entropy(net(X[batch]), y[batch], reduction="none")).mean()
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
        with torch.no_grad():
            selecting.update(net[:2](X), y)
    assert selecting.verdict is not None and selecting.n_updates == 12
    wrong = selecting.weights(ids[:9])
    assert wrong.mean() < 0.2 < selecting.weights(ids[9:]).mean()


def test_the_trainer_of_transformers(blobs: tuple[Array, Ints], tmp_path: Any) -> None:
    transformers = pytest.importorskip("transformers")
    X, y = torch.from_numpy(blobs[0]), torch.from_numpy(blobs[1])
    net, selecting = module(), Selecting("knn", every=1)

    class Callback(transformers.TrainerCallback):  # type: ignore[misc, name-defined]
        def on_epoch_end(self, *arguments: Any, **more: Any) -> None:
            with torch.no_grad():
                selecting.update(net[:2](X), y)

    class Trainer(transformers.Trainer):  # type: ignore[misc, name-defined]
        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **more: Any) -> Any:
            weights = torch.from_numpy(selecting.weights(inputs["ids"])).float()
            losses = nn.functional.cross_entropy(model(inputs["x"]), inputs["y"], reduction="none")
            return (weights * losses).mean()

    rows = [{"x": X[row], "y": y[row], "ids": row} for row in range(len(y))]
    options = transformers.TrainingArguments(
        str(tmp_path), num_train_epochs=2, report_to=[], remove_unused_columns=False, use_cpu=True,
        per_device_train_batch_size=40, disable_tqdm=True, save_strategy="no", dataloader_pin_memory=False,
    )  # fmt: skip
    Trainer(net, options, train_dataset=rows, callbacks=[Callback()]).train()
    assert selecting.n_updates == 2 and selecting.verdict is not None


def test_ids_of_any_kind_and_weights_of_both_kinds(blobs: tuple[Array, Ints]) -> None:
    X, y = blobs
    names = np.array([f"photo {number}" for number in range(len(y))])[::-1]
    hard, soft = Selecting(detector("knn"), soft=False), Selecting("knn")
    for each in (hard, soft):
        assert each.update(X, y, names)
    assert set(np.unique(hard.weights(names))) == {0.0, 1.0}
    assert np.array_equal(hard.weights(names) == 0, soft.weights(names) == 0)
    assert hard.verdict is not None
    assert np.array_equal(hard.weights(names[:3]), np.where(hard.verdict.flagged[:3], 0.0, 1.0))
    with pytest.raises(InvalidData, match="'photo 999' is not among the ids of the last update"):
        hard.weights(["photo 999"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"every": 0}, "every must be a number from 1, got 0"),
        ({"warm_up": -1}, "warm_up must be a number from 0"),
        ({"detector": "fin"}, "did you mean 'fine'"),
        ({"detector": 3}, "detector must be a name or a detector, got int"),
    ],
)
def test_wrong_options_are_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidOption, match=sentence):
        Selecting(**options)


SHORT = Recipe("short", (Stage(2),))


def test_a_net_that_returns_logits_is_wrapped_and_saved(blobs: tuple[Array, Ints], tmp_path: Any) -> None:
    def make(shape: Any, n_classes: int) -> nn.Module:
        return nn.Sequential(nn.Linear(shape, 16), nn.ReLU(), nn.Linear(16, n_classes))

    model = RobustClassifier(SHORT, net=make, device="cpu").fit(*blobs)
    features, logits = model.networks_[0](torch.ones(2, 8))
    assert features.shape == (2, 16) and logits.shape == (2, 3)
    model.save(tmp_path)
    back = RobustClassifier.load(tmp_path, net=make)
    assert np.array_equal(back.predict(blobs[0]), model.predict(blobs[0]))


@pytest.mark.parametrize(
    ("net", "sentence"),
    [
        (nn.Linear(8, 3), "got a module: give net=lambda shape, n_classes: Linear"),
        (lambda shape, k: nn.Linear(shape + 1, k), "cannot be called with 2 inputs of shape 8"),
        (lambda shape, k: nn.Linear(shape, k + 1), "with a column for each of the 3 classes"),
        (lambda shape, k: 5, "the function must return a torch module, got int"),
        (lambda shape, k: nn.Sequential(nn.Flatten(), nn.AdaptiveAvgPool1d(k)), "has no linear layer"),
    ],
)
def test_nets_that_cannot_be_trained_are_one_sentence(net: Any, sentence: str, blobs: tuple[Array, Ints]) -> None:
    with pytest.raises((InvalidOption, InvalidData), match=sentence):
        RobustClassifier(SHORT, net=net, device="cpu").fit(*blobs)
