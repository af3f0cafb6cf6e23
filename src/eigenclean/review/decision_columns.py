"""The decisions about the suspects as arrays, kept up to date from the history: what a page is opened with."""

import json
import threading
from typing import Any

import numpy as np

from eigenclean.review.store import OPEN, STATES, Store
from eigenclean.review.suspects import Suspects
from eigenclean.review.typed_labels import TypedLabels

_STATE_CODES = {state: code for code, state in enumerate(STATES)}


class DecisionColumns:
    """For each suspect the state, the label and the number of the last entry about it.

    The history is read once, and then only what is new: with a few hundred thousand decisions, opening the page
    costs no more than with none. Threads may share it.
    """

    def __init__(self, suspects: Suspects, store: Store, labels: TypedLabels) -> None:
        self._store = store
        self._labels = labels
        # The store keeps ids as JSON; looking the texts up is much cheaper than decoding them.
        self._position = {json.dumps(id): position for position, id in enumerate(suspects.ids)}
        self._state = np.zeros(len(suspects), dtype=np.uint8)
        self._label = np.full(len(suspects), -1, dtype=np.int64)
        self._entry = np.zeros(len(suspects), dtype=np.int64)
        self._decided: set[str] = set()  # all ids that are decided, also those of other rows than the suspects
        self._seq = 0
        self._lock = threading.Lock()

    def n_decided(self) -> int:
        """How many suspects are decided."""
        with self._lock:
            self._update()
            return int(np.count_nonzero(self._state))

    def n_decided_in_all(self) -> int:
        """How many samples are decided, suspects or not."""
        with self._lock:
            self._update()
            return len(self._decided)

    def read(self, rows: slice) -> dict[str, list[Any]]:
        """The columns of these suspects as lists: codes of `STATES`, class codes (or -1), numbers of entries."""
        with self._lock:
            self._update()
            return {
                "state": self._state[rows].tolist(),
                "label": self._label[rows].tolist(),
                "base": self._entry[rows].tolist(),
            }

    def labels(self) -> TypedLabels:
        """The labels of the verdict and those that are in the history by now."""
        with self._lock:
            self._update()
            return self._labels

    def _update(self) -> None:
        position = self._position
        for entries in self._store.states_since(self._seq):
            for seq, id, state, label in entries:
                (self._decided.discard if state == OPEN else self._decided.add)(id)
                at, code = position.get(id), self._labels.code(label)
                # Entries about other samples, and with labels of another type, are left out.
                if at is not None and code is not None and state in _STATE_CODES:
                    self._state[at], self._label[at], self._entry[at] = _STATE_CODES[state], code, seq
            self._seq = entries[-1][0]
