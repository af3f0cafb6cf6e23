"""The files that the page is made of."""

from importlib.resources import files


def page_files() -> dict[str, str]:
    """The files of the page by name: read once, so that no name in a request ever reaches the file system."""
    folder = files("eigenclean.review") / "page"
    return {entry.name: entry.read_text(encoding="utf-8") for entry in folder.iterdir() if "." in entry.name}
