import pytest


@pytest.fixture(autouse=True)
def narrow_networks(without_onednn: None) -> None:
    """The networks here have two to eight channels."""
