"""The HTML page of an experiment: its table, its figure, and the paper's claims."""

import base64
from pathlib import Path
from typing import Any

from eigenclean import __version__
from eigenclean.files import write_text
from eigenclean.report import render_page
from eigenclean_lab.reproduce.claims import claims
from eigenclean_lab.reproduce.compare import Table
from eigenclean_lab.reproduce.pages.formatting import differences, header, lines
from eigenclean_lab.reproduce.pages.plot import draw
from eigenclean_lab.reproduce.profile import Profile

_STYLES = ("page.css", "reproduce.css")


def write_page(table: Table, profile: Profile, folder: Path, *, as_released: bool = False) -> Path:
    """Write ``NAME_PROFILE.html`` and the figure beside it as ``.svg``; the page is self-contained."""
    name = f"{table.experiment.name}_{profile.name}" + ("_as_released" if as_released else "")
    figure = draw(table)
    if figure:
        write_text(folder / f"{name}.svg", figure)
    page = folder / f"{name}.html"
    write_text(page, render(table, profile, figure, as_released=as_released))
    return page


def render(table: Table, profile: Profile, figure: str, *, as_released: bool = False) -> str:
    """The page as HTML."""
    cells = [cell for cells in table.cells.values() for cell in cells if cell.is_measured]
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
        "data_descriptions": data_descriptions(table, profile),
        "commands": sorted({cell.command for cell in cells}),
        "codes": sorted({f"{cell.version} · {cell.code}" for cell in cells}),
        "figure": base64.b64encode(figure.encode()).decode() if figure else "",
        "version": __version__,
    }
    return render_page("reproduce.html", facts, package="eigenclean_lab.reproduce", styles=_STYLES)


def data_descriptions(table: Table, profile: Profile) -> list[tuple[str, str]]:
    """What the profile has of each data set, and the network that is trained on it."""
    names: dict[str, str] = {}
    for column in table.experiment.columns:
        for row in table.experiment.rows:
            for spec in row.specs:
                if spec.kind != "theory":
                    kind = "trainings" if spec.kind == "train" else "features"
                    names[f"{column.data}, {kind}"] = profile.data(spec.kind, column.data).description
    return list(names.items())
