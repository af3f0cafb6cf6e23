"""Label files with one label per line."""

import re
from pathlib import Path

from eigenclean.errors import InvalidData
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.relabel.change import Change
from eigenclean.sources.relabel.undo import Undo


def relabel_lines(path: Path, out: Path, change: Change, undo: Undo) -> None:
    """Write a copy of the text file ``path`` to ``out`` with other labels; spaces and line ends stay."""
    with explain_read_errors(str(path), "text file"):
        lines = path.read_bytes().decode("utf-8").splitlines(keepends=True)
        triples = zip(
            change.rows.tolist(), change.ids.tolist(), change.before.tolist(), change.after.tolist(), strict=True
        )
        for row, id, before, after in triples:
            found = re.fullmatch(r"(\ufeff?\s*)(.*?)(\s*)", lines[row], re.DOTALL)
            assert found is not None
            if found[2] != str(before):
                undo.keep_spelling(id, before, found[2])
            text = undo.spelling(id, after) or str(after)
            if text.splitlines() != [text.strip()]:
                raise InvalidData(f"{path} has one label per line, so it cannot hold the label {text!r}")
            lines[row] = f"{found[1]}{text}{found[3]}"
        out.write_bytes("".join(lines).encode("utf-8"))
