"""What the tests of FINE share."""

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Thousands of tiny matrices: threads would only wait for each other."""
    with threadpool_limits(1):
        yield
