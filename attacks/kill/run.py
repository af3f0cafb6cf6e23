"""Cases of the killer: for each scenario, kills aimed at its operations and at random times."""

from pathlib import Path

from attacks.kill import review
from attacks.kill.embedding import Embed, EmbedFolder
from attacks.kill.patches import (
    PatchArray,
    PatchCompressed,
    PatchFile,
    PatchImages,
    PatchJsonLines,
    PatchParquet,
    PatchWorkbook,
    RevertFile,
    RevertImages,
)
from attacks.kill.runs import Dask, Detect, FirstDetect, Stream
from attacks.kill.scenario import KillCase, Scenario, prepare
from attacks.kill.training import Retrain, Train
from attacks.record import Case

SCENARIOS: tuple[Scenario, ...] = (
    Detect(),
    FirstDetect(),
    Stream(),
    Dask(),
    Train(),
    Retrain(),
    Embed(),
    EmbedFolder(),
    PatchFile(),
    RevertFile(),
    PatchParquet(),
    PatchArray(),
    PatchJsonLines(),
    PatchCompressed(),
    PatchWorkbook(),
    PatchImages(),
    RevertImages(),
)


def prepare_scenarios(root: Path, names: set[str]) -> None:
    """Write the states before and after the work of these scenarios."""
    for scenario in SCENARIOS:
        if scenario.name in names:
            prepare(scenario, root)
    if "review" in names:
        review.prepare(root / "review")


def cases(root: Path, scale: float, seed: int = 0) -> list[Case]:
    """``scale`` times the kills of each scenario; some of the aimed ones when there are fewer."""
    kills = [
        Case(f"kill/{scenario.name}/{number}", KillCase(scenario, root / scenario.name, number, seed))
        for scenario in SCENARIOS
        for number in _spread(scenario.kills, scale)
    ]
    servers = [
        Case(f"kill/review/{number}", review.ReviewKill(root / "review", number, seed))
        for number in _spread(review.KILLS, scale)
    ]
    return kills + servers


def _spread(n: int, scale: float) -> list[int]:
    """Numbers below ``n``, evenly spread."""
    n_wanted = max(1, round(n * scale))
    return list(range(n_wanted)) if n_wanted >= n else [i * n // n_wanted for i in range(n_wanted)]
