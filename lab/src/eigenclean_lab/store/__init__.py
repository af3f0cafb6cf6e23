"""One store for everything the laboratory measures: cells, the files they are kept in, and their fingerprints."""

from eigenclean_lab.store.cell import Cell, Measured, Restamp, Status, measured_cells
from eigenclean_lab.store.fingerprints import code_key, registered, short_hash
from eigenclean_lab.store.measuring import MissingData, Save, measure_cell, run_cells, select_settings, today
from eigenclean_lab.store.restamp import CellComparison, GroupReport, Suite, measure_reference, restamp
from eigenclean_lab.store.store import Store

__all__ = [
    "Cell",
    "CellComparison",
    "GroupReport",
    "Measured",
    "MissingData",
    "Restamp",
    "Save",
    "Status",
    "Store",
    "Suite",
    "code_key",
    "measure_cell",
    "measure_reference",
    "measured_cells",
    "registered",
    "restamp",
    "run_cells",
    "select_settings",
    "short_hash",
    "today",
]
