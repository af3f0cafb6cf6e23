"""Judging again in the background of the review server, one time at a time."""

import logging
import threading
from collections.abc import Callable
from typing import Any

from eigenclean.errors import EigencleanError

logger = logging.getLogger(__name__)


class JudgingAgain:
    """Runs a function in a thread, and tells how it went.

    Args:
        work: what to do; an `EigencleanError` is a sentence for the page.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._is_running, self._problem = False, ""

    def start(self) -> None:
        """Begin, unless it is running already."""
        with self._lock:
            if self._is_running:
                return
            self._is_running, self._problem = True, ""
        threading.Thread(target=self._run, name="eigenclean judges again", daemon=True).start()

    def state(self) -> dict[str, Any]:
        """Whether it is running, and why the last time failed."""
        with self._lock:
            return {"running": self._is_running, "problem": self._problem}

    def _run(self) -> None:
        problem = ""
        try:
            self._work()
        except EigencleanError as error:
            problem = str(error)
        except Exception as error:  # the page must not wait forever
            logger.debug("judging again failed", exc_info=True)
            problem = f"unexpected {type(error).__name__}"
        with self._lock:
            self._is_running, self._problem = False, problem
