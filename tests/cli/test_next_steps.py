"""Every command ends with the exact command that usually follows, and that command works."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from PIL import Image

from eigenclean.cli.hints.completion import KINDS
from eigenclean.noise import add_noise
from eigenclean.patch import Patch
from eigenclean.review import Review
from eigenclean.review.store import KEEP, RELABEL, Change
from eigenclean.sources import open_source

Cli = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table with a name that a shell would split, and wrong labels in it."""
    monkeypatch.chdir(tmp_path)
    right = np.arange(240) % 3
    columns = np.random.default_rng(0).normal(size=(240, 3)) + 6 * np.eye(3)[right]
    names = np.array(["ant", "bee", "cat"])
    frame = pd.DataFrame(columns, columns=["width", "height", "mass"]).assign(
        kind=names[add_noise(right, rate=0.1)]
    )
    frame.to_csv("my data.csv", index=False)
    frame.assign(kind=names[right]).to_csv("right.csv", index=False)
    return tmp_path


def next_words(err: str) -> list[str]:
    """The command in the last line."""
    last = err.splitlines()[-1]
    assert last.startswith("Next: eigenclean ")
    return shlex.split(last)[2:]


def test_the_walk_follows_its_own_advice(cli: Cli, folder: Path) -> None:
    ran = cli("detect", "my data.csv", "--label-column", "kind", "--method", "knn", "--out", "a run")
    assert next_words(ran.err) == ["review", "a run"]
    review = Review.open("a run")
    first, second = review.suspects.ids[:2]
    labels = dict(zip(review.suspects.verdict.ids.tolist(), review.suspects.verdict.labels.tolist(), strict=True))
    other = {"ant": "bee", "bee": "cat", "cat": "ant"}
    changes = [Change(first, labels[first], KEEP), Change(second, labels[second], RELABEL, other[labels[second]])]
    review.store.record(changes, reviewer="Ada", action="1")
    review.close()
    ran = cli("review", "a run", "--patch", "patch.jsonl")
    diff = next_words(ran.err)
    assert diff == ["patch", "diff", "my data.csv", "--label-column", "kind", "patch.jsonl"]
    ran = cli(*diff)
    apply = next_words(ran.err)
    assert apply[:2] == ["patch", "apply"] and apply[-2:] == ["--out", "my data-fixed.csv"]
    ran = cli(*apply)
    assert ran.code == 0
    again = next_words(ran.err)
    assert again == ["detect", "my data-fixed.csv", "--label-column", "kind", "--out", "run-fixed"]
    assert cli(*again, "--method", "knn").code == 0
    assert next_words(cli(*diff).err)[:2] == ["patch", "apply"]  # the original is as it was
    assert next_words(cli("patch", "show", "patch.jsonl").err) == ["patch", "diff", "SOURCE", "patch.jsonl"]
    assert len(Patch.load("patch.jsonl")) == 2


def test_a_folder_of_images_is_corrected_as_a_list_that_can_be_opened(cli: Cli, folder: Path) -> None:
    for name in ("cat/1.png", "cat/2.png", "dog/1.png"):
        Path("my pets", name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(Path("my pets", name))
    record = {"id": "cat/1.png", "decision": "relabel", "old": "cat", "new": "dog"}
    Patch.from_records([{**record, "data_hash": open_source("my pets").data_hash()}]).save("patch.jsonl")
    apply = next_words(cli("patch", "diff", "my pets", "patch.jsonl").err)
    assert apply == ["patch", "apply", "my pets", "patch.jsonl", "--out", "my pets-fixed.csv"]
    detect = next_words(cli(*apply).err)
    options = dict(zip(detect[2::2], detect[3::2], strict=True))
    assert (detect[1], options.pop("--out")) == ("my pets-fixed.csv", "run-fixed")
    named: dict[str, Any] = {name[2:].replace("-", "_"): value for name, value in options.items()}
    opened = open_source(detect[1], **named)
    assert opened.labels.tolist() == ["dog", "cat", "dog"] and opened.images is not None
    assert len(opened.images) == 3 and opened.images[0].shape[:2] == (8, 8)


def test_a_gate_that_failed_and_one_that_passed(cli: Cli, folder: Path) -> None:
    column = ["--label-column", "kind", "--method", "knn"]
    ran = cli("check", "my data.csv", *column, "--max-noise", "0.01")
    assert ran.code == 1
    assert next_words(ran.err) == ["detect", "my data.csv", "--label-column", "kind", "--out", "run"]
    ran = cli("check", "my data.csv", *column, "--max-noise", "0.9")
    assert next_words(ran.err) == ["train", "my data.csv", "--label-column", "kind", "--out", "model"]


@pytest.mark.parametrize("name", ["run", "run/verdict.parquet", "run/summary.json", "run/report.html"])
def test_a_finished_run_is_not_judged_again(
    cli: Cli, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("detect", "my data.csv", "--label-column", "kind", "--method", "knn", "--out", "run").code == 0
    monkeypatch.setattr("eigenclean.workflows.check.check_source", None)
    ran = cli("check", name, "--max-noise", "0.01")
    assert ran.code == 1
    assert next_words(ran.err) == ["review", "run"]
    ran = cli("check", name, "--max-noise", "0.9")
    assert ran.code == 0
    assert next_words(ran.err) == ["train", "my data.csv", "--label-column", "kind", "--out", "model"]


def test_where_nothing_is_flagged_the_run_is_checked(cli: Cli, folder: Path) -> None:
    ran = cli("detect", "right.csv", "--method", "knn", "--threshold", "0", "--out", "run")
    assert next_words(ran.err) == ["check", "run"]


def test_the_only_label_column_is_found_and_named(cli: Cli, folder: Path) -> None:
    ran = cli("detect", "my data.csv", "--method", "knn", "--out", "run")
    assert ran.code == 0
    assert (
        "labels: the column 'kind', the only one that can hold labels; choose another with --label-column"
        in ran.err
    )
    ran = cli("check", "run")
    assert "--label-column kind" in ran.err or next_words(ran.err) == ["review", "run"]


def test_noise_and_json(cli: Cli, folder: Path) -> None:
    ran = cli("noise", "wine", "--out", "noisy.npz")
    assert next_words(ran.err) == ["detect", "noisy.npz", "--out", "run"]
    assert "Next:" not in cli("noise", "wine", "--out", "noisy.npz", "--json").err


@pytest.mark.parametrize("kind", KINDS)
def test_lists_explain_their_entries_and_say_which_command_takes_them(cli: Cli, kind: str) -> None:
    ran = cli("list", kind)
    command, *words = next_words(ran.err)
    known = cli(command, "--help").out
    assert all(word in known for word in words if word.startswith("--"))
    lines = ran.out.splitlines()
    assert all(len(line.split(maxsplit=1)[1]) > 15 for line in lines)
    assert not any("`" in line or line.endswith((".", " et al")) for line in lines)


def test_what_can_be_listed_is_listed(cli: Cli) -> None:
    ran = cli("list")
    assert ran.code == 0 and [line.split()[0] for line in ran.out.splitlines()] == list(KINDS)
    assert next_words(ran.err) == ["list", "detectors"]
    assert json.loads(cli("list", "--json").out) == list(KINDS)


def test_lists_of_what_torch_runs_do_not_import_it(folder: Path) -> None:
    code = "import sys; from eigenclean.cli.hints.explanations import explanation as e; "
    code += "print(e('nets', 'linear'), e('losses', 'gce'), e('augments', 'flip'), 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Logistic regression") and done.stdout.endswith("(pad=0) False\n")


def test_the_bare_command_is_help_that_can_be_read(cli: Cli) -> None:
    for arguments in ([], ["patch"]):
        ran = cli(*arguments)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith("Usage: eigenclean") and ran.out.count("\n") > 8
    assert "..." not in cli().out.partition("Commands:")[2]


def test_cleanlab_is_called_confident(cli: Cli, folder: Path) -> None:
    ran = cli("detect", "wine", "--method", "cleanlab", "--out", "run")
    assert ran.code == 2
    assert ran.err == "eigenclean: detector: the method of cleanlab is called 'confident' here: take that name\n"


@pytest.mark.parametrize(
    ("words", "number", "completed"),
    [
        ("eigenclean de", 1, ["demo", "detect"]),
        ("eigenclean detect x --method fine", 4, ["fine", "fine-relative"]),
        ("eigenclean list enc", 2, ["encoders"]),
        ("eigenclean detect x --encoder word", 4, ["wordllama"]),
        ("eigenclean train x --recipe f-d", 4, ["f-dividemix"]),
        ("eigenclean train x --net small", 4, ["small-cnn"]),
        ("eigenclean noise x --kind sym", 4, ["symmetric"]),
        ("eigenclean export x --to f", 4, ["fiftyone"]),
    ],
)
def test_the_shell_completes(
    cli: Cli,
    words: str,
    number: int,
    completed: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("_EIGENCLEAN_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(number))
    with pytest.raises(SystemExit):
        cli()
    assert capfd.readouterr().out.split() == completed


def test_nothing_is_replaced_silently_and_nothing_that_is_read(cli: Cli, folder: Path) -> None:
    detect = ["detect", "my data.csv", "--label-column", "kind", "--method", "knn", "--no-report", "--out", "run"]
    assert "replaced" not in cli(*detect).err
    verdict = Path("run/verdict.parquet").read_bytes()
    for name in ("verdict.parquet", "summary.json"):  # as DVC does before it runs a stage
        Path("run", name).unlink()
    assert "replaced" not in cli(*detect).err and Path("run/verdict.parquet").read_bytes() == verdict
    ran = cli("export", "run", "--to", "csv", "--out", "my data.csv")
    assert (ran.code, ran.err) == (
        2,
        "eigenclean: --out would replace my data.csv, which is read; name another file\n",
    )
    record = {"id": 0, "decision": "keep", "old": pd.read_csv("my data.csv").kind[0], "data_hash": "0a"}
    Patch.from_records([record]).save("patch.jsonl")
    apply = ["patch", "apply", "my data.csv", "patch.jsonl", "--label-column", "kind", "--by-id", "--out"]
    before = Path("my data.csv").read_bytes()
    for target in ("my data.csv", "patch.jsonl"):
        assert f"--out would replace {target}" in cli(*apply, target).err
    assert "replaced" not in cli(*apply, "fixed.csv").err
    assert "note: fixed.csv is there already and is replaced\n" in cli(*apply, "fixed.csv").err
    assert Path("my data.csv").read_bytes() == before
    cli("noise", "wine", "--out", "wine.npz")
    assert cli("noise", "wine.npz", "--out", "wine.npz").code == 2
    ran = cli("detect", "right.csv", "--label-column", "kind", "--method", "knn", "--no-report", "--out", "run")
    assert "note: run has results about my data.csv, which are replaced\n" in ran.err
    for name in ("x" * 5000, "\0"):  # in the folder of somebody else
        Path("run/summary.json").write_text(json.dumps({"source": {"name": name, "folder": "/"}}))
        assert cli(*detect).code == 0
