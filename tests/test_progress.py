"""Progress: the library tells a listener, and nobody else."""

import threading

import numpy as np
import pytest

from eigenclean import FINE
from eigenclean.progress import listening, track


class Notebook:
    """Writes down everything it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, float]] = []
        self.open: dict[int, float] = {}

    def begin(self, what: str, total: float) -> int:
        self.heard.append((what, total))
        self.open[len(self.heard)] = 0.0
        return len(self.heard)

    def advance(self, handle: int, amount: float) -> None:
        self.open[handle] += amount

    def end(self, handle: int) -> None:
        self.heard.append(("end", self.open.pop(handle)))


def test_silence_without_a_listener(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track("abc", "letters")) == ["a", "b", "c"]
    assert list(track("abc", "letters", sizes=[1])) == ["a", "b", "c"]  # nobody listens, nobody counts
    assert capsys.readouterr() == ("", "")


def test_hears_the_whole_work() -> None:
    book = Notebook()
    with listening(book):
        assert list(track("abc", "letters")) == ["a", "b", "c"]
        assert list(track([1, 2], "numbers", sizes=np.array([30, 12]))) == [1, 2]
    list(track("abc", "afterwards"))
    assert book.heard == [("letters", 3.0), ("end", 3.0), ("numbers", 42.0), ("end", 42.0)]


def test_work_that_fails_ends_too() -> None:
    book = Notebook()

    def fail() -> None:
        for item in track([1, 2, 3], "work"):
            if item == 2:
                raise KeyboardInterrupt

    with listening(book), pytest.raises(KeyboardInterrupt):
        fail()
    assert book.heard == [("work", 3.0), ("end", 1.0)]
    assert not book.open


def test_listeners_nest_and_stay_in_their_thread() -> None:
    outer, inner = Notebook(), Notebook()
    with listening(outer):
        with listening(inner):
            list(track("a", "inner"))
        list(track("a", "outer"))
        thread = threading.Thread(target=lambda: list(track("a", "elsewhere")))
        thread.start()
        thread.join()
    assert [what for what, _ in inner.heard] == ["inner", "end"]
    assert [what for what, _ in outer.heard] == ["outer", "end"]


def test_fine_reports_every_sample() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((200, 4)), np.arange(200) % 3
    book = Notebook()
    with listening(book):
        FINE().fit(X, y).judge(X, y)
    passes = ["class vectors", "alignments"]  # the judge takes the alignments that the fit has computed
    assert book.heard == [event for what in passes for event in [(what, 200.0), ("end", 200.0)]]
