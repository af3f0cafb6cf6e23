"""Labels on the page: those of the verdict by their class codes, then labels that people typed."""

import json
import re
from typing import Any

from eigenclean.errors import InvalidData
from eigenclean.review.suspects import Suspects
from eigenclean.sources.relabel.folder import check_folder_name

MAX_LABEL = 200  # characters
TEXT, INTEGER = "text", "integer"
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]")
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,19}")


class TypedLabels:
    """Codes of labels, with which the page and the server speak about them.

    The labels of the verdict come first. A label that was typed gets the next code when it is first seen in the
    history, which is read in order: so all servers of a run, and one that is started again, give it the same code.

    Attributes:
        names: the labels by code.
        kind: which labels can be typed, `TEXT` or `INTEGER`; None where there can be no further ones.
    """

    def __init__(self, suspects: Suspects, *, are_folders: bool = False) -> None:
        self.names: list[Any] = list(suspects.labels)
        self.kind = {"U": TEXT, "S": TEXT, "O": TEXT, "i": INTEGER, "u": INTEGER}.get(suspects.classes.dtype.kind)
        self._n_classes = len(self.names)
        self._are_folders = are_folders
        # The store keeps labels as JSON; looking the texts up is much cheaper than decoding them.
        self._codes: dict[str | None, int] = {json.dumps(label): code for code, label in enumerate(self.names)}
        self._codes[None] = -1

    @property
    def typed(self) -> list[str]:
        """The labels that people typed, as text."""
        return [str(label) for label in self.names[self._n_classes :]]

    def is_typed(self, code: int) -> bool:
        """Whether the verdict does not have the label with this code."""
        return code >= self._n_classes

    def code(self, encoded: str | None) -> int | None:
        """The code of a label in JSON, -1 for none; None where no such label can be typed."""
        code = self._codes.get(encoded)
        if code is None and encoded is not None:
            try:
                label = json.loads(encoded)
            except (ValueError, RecursionError):
                return None
            if not isinstance(label, str if self.kind == TEXT else int) or isinstance(label, bool):
                return None
            if self.kind is None or json.dumps(label) != encoded:
                return None
            code = self._codes[encoded] = len(self.names)
            self.names.append(label)
        return code

    def parse(self, text: str) -> Any:
        """The label that somebody typed; `InvalidData` says why it cannot be one."""
        text = text.strip()
        if self.kind is None:
            raise InvalidData("these data have a fixed set of labels; choose one of them")
        if not 0 < len(text) <= MAX_LABEL or _CONTROL.search(text):
            raise InvalidData(f"a label must be one line of 1 to {MAX_LABEL} characters")
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise InvalidData("a label must be text that can be stored as UTF-8") from None
        if self.kind == INTEGER:
            if not _WHOLE_NUMBER.fullmatch(text) or not -(1 << 63) <= int(text) < 1 << 63:
                raise InvalidData(f"the labels of these data are whole numbers, which {text[:60]!r} is not")
            return int(text)
        if self._are_folders:
            check_folder_name(text)
        return text
