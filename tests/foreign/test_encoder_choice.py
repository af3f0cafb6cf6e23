"""Opening somebody else's run never chooses code, files, downloads or a place to write to."""

import ast
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import eigenclean
from eigenclean.cli.app import run as command
from eigenclean.errors import InvalidOption
from eigenclean.features import ENCODERS
from eigenclean.features import source as features_source
from eigenclean.features.choose import bundled_encoder, make_encoder
from eigenclean.sources import open_source, source_record
from eigenclean.verdict import Verdict

FOREIGN = (
    "torch:evil.py:make_net",
    "torch:evil:make_net",
    "torch:evil.py:make_net?weights=w.pt",
    "evil.pt",
    "EVIL.PTH",
    "evil.onnx?size=64",
    "onnx:evil.onnx",
    "torchscript:evil.pt",
    "sentence-transformers:evil",
    "transformers:evil",
    "transformers-image:evil",
    "timm:hf-hub:evil/net",
    "timm:resnet18",
    "trained",
    "trained?net=mlp",
    "auto",
    "minilm:evil",
    "wordllama:evil",
    "efficientnet-lite1:evil",
    "efficientnet-lite1?weights=evil.pt",
    "efficientnet-lite1?size=4000",
    "efficientnet-lite1?size=1e9",
    "efficientnet-lite1?size=true",
    "no-such-encoder",
    "",
    "\0",
    "a b ; rm -rf x",
)
RUN_CODE = "torch:run/evil.py:make_net"
EVIL = "from pathlib import Path\nPath(__file__).with_name('executed').write_text('')\n"
NET = "import torch\nmake_net = lambda: torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 64, 5))\n"


@pytest.mark.parametrize("text", FOREIGN)
def test_a_file_may_not_choose_this_encoder(text: str) -> None:
    with pytest.raises(InvalidOption, match=r"is not run because a file says so; if you trust it, add --encoder "):
        bundled_encoder(text, by="summary.json")


def test_a_file_may_choose_what_is_bundled() -> None:
    bundled = [name for name, entry in ENCODERS.items() if entry.bundled]
    assert bundled == [name for name, entry in ENCODERS.items() if entry.argument is None]
    assert all("come in a package" in ENCODERS[name].summary or "comes in a package" in ENCODERS[name].summary
               for name in bundled)  # fmt: skip
    for name in bundled:
        assert bundled_encoder(name, by="x") == name


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run with its data and with code that leaves a trace, as somebody else might hand them over."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EIGENCLEAN_CACHE", str(tmp_path / "cache"))
    for number in range(8):
        path = tmp_path / "data" / "ab"[number % 2] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((8, 8, 3), 30 * number, dtype=np.uint8)).save(path)
    for folder in (tmp_path, tmp_path / "run", tmp_path / "data"):
        folder.mkdir(exist_ok=True)
        (folder / "evil.py").write_text(EVIL + NET)
    data = open_source("data")
    half = np.arange(8) < 4
    Verdict(
        data.ids, data.labels, np.zeros(8), np.where(half, 0.1, 0.9), half, data.labels[::-1], np.full(8, 0.5)
    ).save(tmp_path / "run", data_hash=data.data_hash(), source=source_record("data"))
    return tmp_path


def embed_with(folder: Path, options: Any, key: str = "options") -> None:
    path = folder / "run" / "summary.json"
    (folder / "run" / "manifest.json").unlink(missing_ok=True)  # whoever writes a run writes what fits it
    summary = json.loads(path.read_text())
    path.write_text(json.dumps({**summary, "embedding": {"encoder": "mine", "kind": "image", key: options}}))


def was_executed(folder: Path) -> bool:
    return any(folder.rglob("executed")) or any(folder.rglob("*.pyc"))


COMMANDS: dict[str, list[str]] = {
    "review --export": ["review", "run", "--export", "page.html"],
    "review --source": ["review", "run", "--export", "page.html", "--source", "data"],
    "check": ["check", "run"],
    "check --patch": ["check", "run", "--patch", "patch.jsonl", "--by-id"],
    "export csv": ["export", "run", "--to", "csv", "--out", "x.csv"],
    "export label-studio": ["export", "run", "--to", "label-studio", "--out", "x.json"],
    "score": ["score", "run", "--truth", "truth.npy"],
}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("torch:run/evil.py:make_net", "options"),
        ("torch:run/evil.py:make_net", "again"),
        ("torch:evil:make_net", "options"),
    ],
)
def test_no_command_runs_an_encoder_that_a_run_names(
    text: str, key: str, foreign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []

    def recording(text: str, **options: Any) -> Any:
        loaded.append(text)
        return make_encoder(text, **options)

    monkeypatch.setattr(features_source, "make_encoder", recording)
    embed_with(foreign, {"encoder": text, "half": False, "cache": str(foreign / "elsewhere")}, key)
    np.save(foreign / "truth.npy", open_source("data").labels)
    record = {"id": "a/0.png", "decision": "keep", "old": "a", "data_hash": "x"}
    (foreign / "patch.jsonl").write_text(json.dumps(record))
    before = {module for module in sys.modules if "evil" in module}
    for name, arguments in COMMANDS.items():
        assert command(arguments) in (0, 1), name
        assert not was_executed(foreign) and not loaded, name
    assert before == {module for module in sys.modules if "evil" in module}
    assert not (foreign / "elsewhere").exists()


@pytest.mark.parametrize("options", [{"encoder": {"a": 1}}, {"encoder": None}, {}, [], "torch:evil.py:make_net", 7])
def test_a_record_of_other_values_is_a_note(options: Any, foreign: Path, capfd: pytest.CaptureFixture[str]) -> None:
    embed_with(foreign, options)
    assert command(["review", "run", "--export", "page.html"]) == 0
    assert "cannot be done again" in capfd.readouterr().err
    assert not was_executed(foreign)


def test_the_sentence_gives_the_option_and_the_option_works(
    foreign: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="an encoder of torch")
    text = "torch:evil.py:make_net?size=8"
    embed_with(foreign, {"encoder": text, "cache": str(foreign / "elsewhere")})
    export = ["review", "run", "--export", "page.html"]
    assert command(export) == 0
    said = " ".join(capfd.readouterr().err.split())
    assert f"if you trust it, add --encoder '{text}'" in said and not was_executed(foreign)
    assert command([*export, "--encoder", text, "--cache", "mine"]) == 0
    assert (foreign / "executed").exists() and not (foreign / "run" / "executed").exists()
    assert (foreign / "mine").is_dir() and not (foreign / "elsewhere").exists()
    assert "another encoder than that of the run" in " ".join(
        capfd.readouterr().err.split()
    )  # it records no weights
    assert command([*export, "--encoder", "torch:no.py:make_net"]) == 2  # the user's own mistake is an error
    assert "there is no file no.py" in capfd.readouterr().err


def test_encoders_are_made_in_three_places_only() -> None:
    """From the user's option, from a file after `bundled_encoder`, and as a network, whose options in a file go
    through `bundled_encoder` in train/storage/model_files.py; a fourth place needs the same thought."""
    functions = ("make_encoder", "bundled_encoder")
    callers = {name: {f for f in functions if f in called} for name, (called, _) in calls(functions).items()}
    assert {path: names for path, names in callers.items() if "make_encoder" in names} == {
        "features/source.py": {"make_encoder", "bundled_encoder"},
        "workflows/embedding.py": {"make_encoder"},
        "features/trainable.py": {"make_encoder"},
    }
    assert callers["train/storage/model_files.py"] == {"bundled_encoder"}


def calls(names: Sequence[str]) -> dict[str, tuple[set[str], set[str]]]:
    """Functions and methods that are called in each module of the package in which one of the names occurs."""
    package = Path(eigenclean.__file__).parent
    by_file = {}
    for path in package.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if any(name in text for name in names):
            called = [node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
            functions = {node.id for node in called if isinstance(node, ast.Name)}
            methods = {node.attr for node in called if isinstance(node, ast.Attribute)}
            by_file[path.relative_to(package).as_posix()] = functions, methods
    return by_file


LOADERS = ("import_module", "exec_module", "spec_from_file_location", "load_module", "run_path", "run_module")


def test_code_is_loaded_by_name_only_from_tables() -> None:
    """Modules that import by a computed name; each takes the name from a table of eigenclean, or from the user."""
    builtins = {"eval", "exec", "__import__"}
    callers = [
        name
        for name, (functions, methods) in calls([*LOADERS, *builtins]).items()
        if (functions | methods) & {*LOADERS} or functions & builtins
    ]
    assert sorted(callers) == [
        "__init__.py",  # lazy public names
        "cli/hints/completion.py",  # tables to complete names from
        "deprecation.py",  # old names of our own modules
        "extras.py",  # optional libraries
        "features/choose.py",  # ENCODERS
        "features/encoders/loading.py",  # progress bars of transformers
        "features/encoders/torch_function.py",  # the user's own --encoder torch:FILE:FUNCTION
        "interface.py",  # public names, for tests and documentation
        "losses/__init__.py",  # LOSSES
        "nets/__init__.py",  # NETS
        "scale/cluster.py",  # distributed, if it is installed
        "train/__init__.py",  # lazy public names
        "train/augment/__init__.py",  # AUGMENTS
        "train/steps/__init__.py",  # STEPS
        "workflows/progress/display.py",  # the display of the notebook that is running
    ]
