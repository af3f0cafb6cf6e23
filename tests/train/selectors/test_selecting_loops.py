"""`Selecting` in the loops of Lightning and skorch, as the page about training loops shows it."""

import warnings
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from eigenclean.arrays import Array, Ints
from eigenclean.train import Selecting


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))


def data() -> tuple[Any, Any, Array, Ints]:
    """Inputs and given labels as tensors, the right labels, and the wrong rows."""
    rng = np.random.default_rng(0)
    truth = np.arange(90) % 3
    inputs = (3 * np.eye(3, 8)[truth] + rng.normal(size=(90, 8))).astype(np.float32)
    given, wrong = truth.copy(), np.arange(0, 90, 10)
    given[wrong] = (given[wrong] + 1) % 3
    return torch.from_numpy(inputs), torch.from_numpy(given), truth, wrong


def check(selecting: Selecting, wrong: Ints) -> None:
    weights = selecting.weights(np.arange(90))
    assert weights.shape == (90,) and 0 < weights.mean() < 1
    assert weights[wrong].mean() < weights.mean()  # wrong labels count less


def test_lightning(tmp_path: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import lightning
    inputs, given, _, wrong = data()
    selecting = Selecting("knn", every=1, warm_up=1)

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = network()

        def training_step(self, batch: Any, _: int) -> Any:
            rows, x, y = batch
            weights = torch.from_numpy(selecting.weights(rows)).float()
            return (weights * nn.functional.cross_entropy(self.net(x), y, reduction="none")).mean()

        def on_train_epoch_end(self) -> None:
            with torch.no_grad():
                selecting.update(self.net[:2](inputs), given)

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), lr=1e-2)

    loader = DataLoader(TensorDataset(torch.arange(90), inputs, given), batch_size=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = lightning.Trainer(
            max_epochs=3,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=tmp_path,
        )
        trainer.fit(Module(), loader)
    check(selecting, wrong)


def test_skorch() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import skorch  # type: ignore[import-untyped]
        from skorch import callbacks
    inputs, given, truth, wrong = data()
    selecting = Selecting("knn", every=1, warm_up=1)

    class Weighted(skorch.NeuralNetClassifier):  # type: ignore[misc]
        def get_loss(self, y_pred: Any, y_true: Any, X: Any = None, **_: Any) -> Any:
            weights = torch.from_numpy(selecting.weights(X["ids"])).float()
            return (weights * nn.functional.cross_entropy(y_pred, y_true, reduction="none")).mean()

    class Logits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = network()

        def forward(self, x: Any, ids: Any) -> Any:
            return self.net(x)

    class Update(callbacks.Callback):  # type: ignore[misc]
        def on_epoch_end(self, net: Any, **_: Any) -> None:
            with torch.no_grad():
                selecting.update(net.module_.net[:2](inputs), given)

    net = Weighted(Logits, lr=0.1, max_epochs=3, train_split=None, verbose=0, callbacks=[Update()])
    rows = {"x": inputs.numpy(), "ids": np.arange(90)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net.fit(rows, given.numpy())
        predicted = net.predict(rows)
    check(selecting, wrong)
    assert np.mean(predicted == truth) > 0.5
