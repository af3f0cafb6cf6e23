"""A griffe extension: doctests outside an ``Examples:`` section are shown as code, not as Markdown quotes."""

import re
from typing import Any

from griffe import Extension, Object

_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\n).+)*", flags=re.MULTILINE)


class FencedDoctests(Extension):
    """Puts fences around the doctests of every docstring."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        """Called for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = fence(obj.docstring.value)


def fence(docstring: str) -> str:
    """The docstring with fences around paragraphs that begin with a prompt and are not indented.

    >>> fence("Adds.\\n\\n>>> 1 + 1\\n2")
    'Adds.\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```'
    """
    return _EXAMPLE.sub(lambda match: f"```pycon\n{match[0]}\n```", docstring)
