"""What the tests of the page in a browser share."""

from collections.abc import Callable
from typing import Any

import pytest

from eigenclean.review import Review


@pytest.fixture
def served(opened: Review, serving: Callable[[Review], Any]) -> Any:
    """A server of one's own, because here people decide."""
    return serving(opened)
