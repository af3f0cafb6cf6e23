import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean import Verdict, __version__
from eigenclean.arrays import Array
from eigenclean.cli.app import app
from eigenclean.cli.plugins import LAB
from eigenclean.detect import DETECTORS
from eigenclean.losses import LOSSES
from eigenclean.metrics import reliability_curve
from eigenclean.noise import NOISES
from eigenclean.sources.layouts.registry import LAYOUTS
from eigenclean.train.augment import AUGMENTS

Cli = Callable[..., Any]
MEASURES = (  # the rows of the table that `score` prints
    "flagged_share", "noise_rate", "estimated_noise_rate", "precision", "recall", "f", "noisy_precision",
    "noisy_recall", "noisy_f", "suggestion_accuracy", "auroc", "average_precision", "ece",
)  # fmt: skip


def printed_measures(out: str) -> list[str]:
    """The numbers in the last column of the table of measures."""
    table = out[out.index("measured ") :].splitlines()[1 : 1 + len(MEASURES)]
    return [line.split()[-1] for line in table]


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("detectors", DETECTORS),
        ("noises", NOISES),
        ("losses", LOSSES),
        ("augments", AUGMENTS),
        ("layouts", LAYOUTS),
    ],
)
def test_list_prints_a_json_array_of_names(cli: Cli, kind: str, names: dict[str, object]) -> None:
    assert json.loads(cli("list", kind, "--json").out) == list(names)
    assert [line.split()[0] for line in cli("list", kind).out.splitlines()] == list(names)


def test_noise_then_detect_then_score(cli: Cli, tmp_path: Path) -> None:
    noisy = tmp_path / "noisy.npz"
    noise_facts = json.loads(cli("noise", "digits", "--rate", "0.2", "--seed", "1", "--out", noisy, "--json").out)
    truth = np.load(noise_facts["truth"])
    with np.load(noisy) as arrays:
        assert np.mean(arrays["labels"] != truth) == pytest.approx(noise_facts["true_rate"])
        assert set(arrays) == {"features", "labels", "ids", "images"}  # the truth is not among them
    assert cli("detect", noisy, "--out", tmp_path / "run", "--method", "fine").code == 0
    ran = cli("score", tmp_path / "run", "--truth", noise_facts["truth"], "--json")
    quality = json.loads(ran.out)
    verdict = Verdict.load(tmp_path / "run")
    kept, clean = ~verdict.flagged, verdict.labels == truth
    assert quality["precision"] == pytest.approx(np.mean(clean[kept]))
    assert quality["recall"] == pytest.approx(np.mean(kept[clean]))
    assert quality["noise_rate"] == pytest.approx(noise_facts["true_rate"])
    assert quality["auroc"] > 0.8
    printed = printed_measures(cli("score", tmp_path / "run", "--truth", noise_facts["truth"]).out)
    assert printed == [f"{quality[key]:.3f}" for key in MEASURES]


@pytest.fixture
def scored(cli: Cli, npz: Path, tmp_path: Path, digits: tuple[Array, Array, Array]) -> tuple[Path, Path]:
    """The folder of a run, and the truth of its labels."""
    np.save(tmp_path / "truth.npy", digits[2])
    assert cli("detect", npz, "--out", tmp_path / "run", "--method", "fine").code == 0
    return tmp_path / "run", tmp_path / "truth.npy"


@pytest.mark.parametrize("as_json", [False, True])
def test_score_shows_the_result_in_the_report(cli: Cli, scored: tuple[Path, Path], as_json: bool) -> None:
    run, truth = scored
    page, others = (
        run / "report.html",
        {name: (run / name).read_bytes() for name in ("summary.json", "verdict.parquet", "report.json")},
    )
    assert "nobody has checked them" in page.read_text()
    ran = cli("score", run, "--truth", truth, *(["--json"] if as_json else []))
    assert ran.code == 0, ran.err
    assert ran.err.splitlines()[0] == f"added to {page}, with a reliability plot"
    assert "Measured against the known truth" in page.read_text()
    verdict = Verdict.load(run)
    curve = reliability_curve(verdict.p_clean, verdict.labels == np.load(truth))
    assert f"Calibration error (ECE) {curve.expected_error:.3f}" in page.read_text()
    assert "nobody has checked them" not in page.read_text()
    first = page.read_bytes()
    assert cli("score", run, "--truth", truth).code == 0
    assert page.read_bytes() == first
    assert {name: (run / name).read_bytes() for name in others} == others
    assert {path.name for path in run.iterdir()} == {*others, "report.html", "manifest.json"}


def test_score_leaves_the_report_alone_when_told_or_when_it_is_of_another_run(
    cli: Cli, npz: Path, scored: tuple[Path, Path]
) -> None:
    run, truth = scored
    before = (run / "report.html").read_bytes()
    ran = cli("score", run, "--truth", truth, "--no-report")
    assert (ran.code, ran.err) == (0, f"Next: eigenclean review {run}\n")
    assert cli("detect", npz, "--out", run, "--method", "fine", "--budget", 5, "--no-report").code == 0
    assert not (run / "report.html").exists()  # it was about another verdict
    (run / "report.html").write_bytes(before)
    ran = cli("score", run, "--truth", truth)
    assert ran.code == 0
    assert len(printed_measures(ran.out)) == len(MEASURES)
    assert ran.err.startswith(
        f"note: {run}/report.html cannot be updated: report.json beside it is not the data of"
    )
    assert (run / "report.html").read_bytes() == before
    (run / "report.html").unlink()
    ran = cli("score", run, "--truth", truth)
    assert (ran.code, ran.err) == (0, f"Next: eigenclean review {run}\n")
    assert not (run / "report.html").exists()


def test_noise_is_the_same_for_the_same_seed(cli: Cli, tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        cli("noise", "wine", "--kind", "pair", "--rate", "0.3", "--seed", seed, "--out", tmp_path / f"{name}.npz")
    a, b, c = (np.load(tmp_path / f"{name}.npz")["labels"] for name in "abc")
    assert (a == b).all()
    assert (a != c).any()


def test_demo_prints_the_table_and_writes_a_report(cli: Cli, tmp_path: Path) -> None:
    ran = cli("demo", "--out", tmp_path / "demo")
    assert ran.code == 0, ran.err
    summary = json.loads((tmp_path / "demo" / "summary.json").read_text())
    assert f"{summary['n_flagged']} of 1797 labels look wrong" in ran.out
    assert ran.err.splitlines()[-1] == f"Next: eigenclean review {tmp_path / 'demo'}"
    page = (tmp_path / "demo" / "report.html").read_text()
    assert "Measured against the known truth" in page
    assert 'class="figure reliability"' in page
    of_fine = dict(zip(MEASURES, map(float, printed_measures(ran.out)), strict=True))
    assert of_fine["f"] > 0.9
    assert of_fine["auroc"] > 0.93


def test_version_and_help(cli: Cli) -> None:
    assert cli("--version").out == f"eigenclean {__version__}\n"
    ran = cli("--help")
    assert ran.code == 0
    names = [command.name for command in app.registered_commands] + [group.name for group in app.registered_groups]
    listed = ran.out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert {line.split()[0] for line in listed if re.match(r"  \w", line)} == set(names)
    for name in set(names) - set(LAB):
        ran = cli(name, "--help")
        assert ran.code == 0 and f"eigenclean {name}" in ran.out


def test_help_is_quick_because_nothing_heavy_is_imported() -> None:
    heavy = {"numpy", "sklearn", "pyarrow", "matplotlib", "torch", "jinja2"}
    code = f"import sys; import eigenclean.cli.app; print({heavy!r} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m eigenclean list noises | true"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True)
    assert done.stderr == ""
