"""The verdict: what a detector says about every label, and its files."""

from eigenclean.verdict.decided import decided_rows
from eigenclean.verdict.files import CSV, FILE, SUMMARY, RowGroups, write_csv, write_table, write_verdict
from eigenclean.verdict.record import Verdict, join, ranks

__all__ = [
    "CSV",
    "FILE",
    "SUMMARY",
    "RowGroups",
    "Verdict",
    "decided_rows",
    "join",
    "ranks",
    "write_csv",
    "write_table",
    "write_verdict",
]
