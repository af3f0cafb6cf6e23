"""The page about an experiment: its table, its picture, and what it shows of what the paper says."""

import base64
from pathlib import Path
from typing import Any

from eigenclean.files import write_text
from eigenclean.report import render_page
from eigenclean.version import __version__
from eigenclean_lab.reproduce.claims import claims
from eigenclean_lab.reproduce.compare import Table
from eigenclean_lab.reproduce.formatting import differences, header, lines
from eigenclean_lab.reproduce.plot import draw
from eigenclean_lab.reproduce.profiles import Profile

_STYLES = ("page.css", "reproduce.css")


def write_page(table: Table, profile: Profile, folder: Path, *, as_released: bool = False) -> Path:
    """Write ``NAME_PROFILE.html`` and the picture beside it as ``.svg``; the page needs nothing else."""
    name = f"{table.experiment.name}_{profile.name}" + ("_as_released" if as_released else "")
    picture = draw(table)
    if picture:
        write_text(folder / f"{name}.svg", picture)
    page = folder / f"{name}.html"
    write_text(page, render(table, profile, picture, as_released=as_released))
    return page


def render(table: Table, profile: Profile, picture: str, *, as_released: bool = False) -> str:
    """The page as HTML."""
    cells = [cell for own in table.cells.values() for cell in own if cell.status == "measured"]
    facts: dict[str, Any] = {
        "experiment": table.experiment,
        "profile": profile,
        "as_released": as_released,
        "header": header(table),
        "lines": list(lines(table)),
        "claims": claims(table),
        "differences": list(differences(table)),
        "missing": table.notes,
        "rows": [row for row in table.experiment.rows if row.note],
        "stand_ins": stand_ins(table, profile),
        "commands": sorted({cell.command for cell in cells}),
        "codes": sorted({f"{cell.version} · {cell.code}" for cell in cells}),
        "picture": base64.b64encode(picture.encode()).decode() if picture else "",
        "version": __version__,
    }
    return render_page("reproduce.html", facts, package="eigenclean_lab.reproduce", styles=_STYLES)


def stand_ins(table: Table, profile: Profile) -> list[tuple[str, str]]:
    """What stands for each data set of the paper here."""
    found: dict[str, str] = {}
    for column in table.experiment.columns:
        for row in table.experiment.rows:
            for part in row.parts:
                if part.kind != "theory":
                    kind = "trainings" if part.kind == "train" else "features"
                    found[f"{column.data}, {kind}"] = profile.data(part.kind, column.data).says
    return list(found.items())
