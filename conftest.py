"""What tests of several folders share."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is not a bug: no test of hypothesis fails because it took long.
settings.register_profile("busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy machine")

# Files with long tests, the longest first: workers that begin with them end at about the same time.
LONG_FILES = (
    "tests/docs/test_docs.py",
    "tests/attacks/test_small_attack.py",
    "tests/contracts/test_detector_contract.py",
    "tests/test_bare_install.py",
    "tests/walk/test_walk.py",
    "tests/scale/test_dask.py",
    "tests/scale/test_stream.py",
    "lab/tests/bench/test_bench_train.py",
    "lab/tests/reproduce/test_reproduce_pages.py",
    "lab/tests/reproduce/test_reproduce_runs.py",
)
BROWSER_FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of `LONG_FILES` first; the order within a file, and that of other files, stays."""
    order = {str(Path(__file__).parent / name): number for number, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: order.get(str(item.path), len(order)))


@pytest.fixture(scope="session", autouse=True)
def feature_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Features that tests compute are kept in a folder of this run, not in the user's."""
    folder = tmp_path_factory.mktemp("features")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EIGENCLEAN_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session", autouse=True)
def single_repeat() -> Iterator[None]:
    """The judge assigns few rows to folds once, not five times: most tests are about something else, and many."""
    from eigenclean.detect.judge import repeats

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeats, "REPEATED_ROWS", 1)
        yield


@pytest.fixture
def repeated_rows(monkeypatch: pytest.MonkeyPatch) -> int:
    """The judge assigns few rows to folds as often as it does for users; the number of rows that are few."""
    from eigenclean.detect.judge import repeats

    monkeypatch.setattr(repeats, "REPEATED_ROWS", 3000)
    return 3000


@pytest.fixture
def timm(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A stand-in for timm with the four calls that we use of it; ``asked`` remembers what was asked for."""
    from torch import Tensor, nn

    class Model(nn.Module):
        """Pools an image and gives it as many features as the real model of that name would."""

        def __init__(self, n_outputs: int, num_classes: int, in_chans: int) -> None:
            super().__init__()
            self.conv = nn.Conv2d(in_chans, n_outputs, 1)
            self.fc = nn.Linear(n_outputs, num_classes)

        def forward_features(self, x: Tensor) -> Any:
            return self.conv(x)

        def forward_head(self, maps: Tensor, pre_logits: bool = False) -> Any:
            pooled = maps.mean(dim=(2, 3))
            return pooled if pre_logits else self.fc(pooled)

        def get_classifier(self) -> nn.Module:
            return self.fc

    module: Any = ModuleType("timm")
    module.asked = []
    widths = {"resnet50": 2048, "inception_resnet_v2": 1536, "tiny": 6}

    def create_model(name: str, pretrained: bool, num_classes: int, in_chans: int) -> Model:
        module.asked.append((name, pretrained))
        if name not in widths:
            raise RuntimeError(f"Unknown model ({name})")
        return Model(widths[name], num_classes, in_chans)

    module.create_model = create_model
    monkeypatch.setitem(sys.modules, "timm", module)
    made: ModuleType = module
    return made


@pytest.fixture
def without_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Convolutions by torch's own kernels: oneDNN's backward pass of narrow ones crashes on some processors."""
    import torch

    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real browser for pages that are files."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=60_000)  # what a page shows is tested, not how fast a busy machine draws it
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        pytest.fail("Pages are tested in a real browser: please install chromium or google-chrome.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=BROWSER_FLAGS)
        yield browser
        browser.close()
