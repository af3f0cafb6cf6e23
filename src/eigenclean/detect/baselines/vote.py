"""Vote: several detectors, whose probabilities are combined."""

import warnings
from typing import Any, ClassVar

import numpy as np
from scipy.special import logit

from eigenclean.arrays import Array, Bools, Float64s, Ints
from eigenclean.detect.base import Detector
from eigenclean.detect.cuts import Cut
from eigenclean.errors import EigencleanWarning, InvalidOption

_MIN_P = 1e-6  # probabilities are kept this far from 0 and 1, so that no member overrules all others


class Vote(Detector):
    """The members' probabilities that a label is right, averaged as log-odds.

    Members with different models (a linear boundary, directions of the classes, the neighbourhood) err on different
    samples; averaging log-odds is a product of experts, in which an undecided member leaves the decision to the
    others. A member that keeps a class whole abstains there.

    Args:
        members: names of detectors, as a tuple or as text with commas; each has its default options.
        cut: "posterior": the score is the log-odds of being right already; or another name, or a Cut.
        threshold: labels are kept when P(right) is strictly above it.

    Attributes:
        classes_: sorted labels.
        members_: the fitted detectors.
        cut_: the fitted cut.

    Examples:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> wrong = y.copy()
        >>> wrong[::10] = (wrong[::10] + 1) % 10
        >>> verdict = Vote(members="fine-relative,knn").judge(X, wrong)
        >>> bool(verdict.flagged[::10].mean() > 0.9), bool(verdict.flagged.mean() < 0.2)
        (True, True)
    """

    name: ClassVar[str] = "vote"

    members_: list[Detector]

    def __init__(
        self,
        *,
        members: tuple[str, ...] | str = ("judge", "fine-relative", "knn"),
        cut: str | Cut = "posterior",
        threshold: float = 0.5,
    ) -> None:
        self.members = members
        self.cut = cut
        self.threshold = threshold

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed; `fit` does so too."""
        super().check_options()
        self._new_members()

    def _new_members(self) -> list[Detector]:
        from eigenclean.detect.registry import detector  # the registry imports this module

        names = self.members.split(",") if isinstance(self.members, str) else list(self.members)
        if not any(names):
            raise InvalidOption("Vote: members must name at least one detector, got none")
        return [detector(name.strip()) for name in names]

    def _learn(self, X: Array, codes: Ints, weight: Float64s | None) -> Float64s:
        self.members_ = self._new_members()
        labels = self.classes_[codes]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EigencleanWarning)  # classes kept whole: the vote says which
            for member in self.members_:
                member.fit(X, labels, weight)
        return self._score(X, codes)

    def _score(self, X: Array, codes: Ints) -> Float64s:
        total, voters = np.zeros(len(X)), np.zeros(len(X))
        for member, votes in zip(self.members_, self._has_vote(), strict=True):
            p = np.clip(member.p_clean(X, self.classes_[codes]), _MIN_P, 1 - _MIN_P)
            total += votes[codes] * logit(p)
            voters += votes[codes]
        return np.asarray(total / np.maximum(voters, 1.0))

    def _has_vote(self) -> Bools:
        """Members x K: False where the member keeps the class whole."""
        return np.stack([~member.cut_.whole_ for member in self.members_])

    def _suggest(self, X: Array, codes: Ints, rows: Ints, cut: Cut) -> tuple[Ints, Float64s]:
        """The suggestion of the first member that flags the label; if none does, of the first member."""
        labels = self.classes_[codes[rows]]
        flags = [member.p_clean(X[rows], labels) <= member.threshold for member in self.members_]
        first = np.argmax(flags, axis=0)
        best, share = np.empty(len(rows), dtype=np.intp), np.empty(len(rows))
        for number, member in enumerate(self.members_):
            at = np.flatnonzero(first == number)
            if len(at):
                best[at], share[at] = member._suggest(X, codes, rows[at], member.cut_)
        return best, share

    def _made_by(self, cut: Cut) -> dict[str, Any]:
        record = super()._made_by(cut)
        record["members"] = [member.name for member in self.members_]
        return record
