"""FINE, class against class: a label is doubted when another class's eigenvector fits better than its own."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from eigenclean.arrays import Array, Bools, Float64s, Ints, row_chunks, working_dtype
from eigenclean.detect.cuts import Cut, FixedCut
from eigenclean.detect.fine.alternatives import N_ALTERNATIVES
from eigenclean.detect.fine.fine import FINE, Score
from eigenclean.progress import track


class FINERelative(FINE):
    """FINE's alignment with the own class, minus the alignment with the best other class.

    FINE asks how well a feature fits its own class, and splits every class in two to find out how well is well
    enough. Here the other eigenvectors give the answer: above 0 none of them fits better than the own one. That is
    no mixture and no noise rate, and a sample that is merely unusual is left alone. Eigenvectors, presets and
    pieces (`partial_fit`, `merge`) are those of `FINE` (Kim et al., NeurIPS 2021); the comparison is our own.

    Args:
        preset: "official" compares |cos∠(u, z)|, "paper" ⟨u, z⟩².
        score: overrides the preset: "abs_cos", "sq_cos", "abs_raw" or "sq_raw".
        vector: "eigen", or "mean" for the direction of the class mean.
        component: which eigenvector, 1 for the first.
        subset: share of each class that the eigenvector is computed from; all are scored.
        cut: "fixed" cuts at 0, where another class begins to fit better; or another name, or a Cut.
        threshold: labels are kept when P(right) is strictly above it.
        keep_moments: keep the d x d sums of each class, so that `merge` works after `fit`.
        random_state: seed of the subset.

    Attributes:
        classes_: sorted labels.
        eigenvectors_: K x d, the unit vector of each class.
        eigenvalues_: K, the eigenvalue of each.
        n_samples_per_class_: K.
        cut_: the fitted cut.

    Examples:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> wrong = y.copy()
        >>> wrong[::10] = (wrong[::10] + 1) % 10
        >>> verdict = FINERelative().judge(X, wrong)
        >>> bool(verdict.flagged[::10].mean() > 0.9), bool(verdict.flagged.mean() < 0.2)
        (True, True)
    """

    name: ClassVar[str] = "fine-relative"
    training_options: ClassVar[Mapping[str, Any]] = {}
    semi_supervised_options: ClassVar[Mapping[str, Any]] = {}

    def __init__(
        self,
        *,
        preset: Literal["official", "paper"] = "official",
        score: Score | None = None,
        vector: Literal["eigen", "mean"] = "eigen",
        component: int = 1,
        subset: float | None = None,
        cut: str | Cut = "fixed",
        threshold: float = 0.5,
        keep_moments: bool | None = None,
        random_state: int | None = 0,
    ) -> None:
        super().__init__(
            preset=preset,
            score=score,
            vector=vector,
            component=component,
            subset=subset,
            cut=cut,
            threshold=threshold,
            keep_moments=keep_moments,
            random_state=random_state,
        )

    def _score(self, X: Array, codes: Ints) -> Float64s:
        dtype = working_dtype(X.dtype)
        vectors = self.eigenvectors_.T.astype(dtype)
        scores = np.empty(len(X))
        chunks = list(row_chunks(len(X), X.shape[1] * dtype.itemsize + len(self.classes_) * 16, 1 << 22))
        for chunk in track(chunks, "alignments", [chunk.stop - chunk.start for chunk in chunks]):
            block = X[chunk].astype(dtype, copy=False)
            fit = self._alignment(block @ vectors, block)
            at = np.arange(len(block)), codes[chunk]
            given_fit = fit[at]
            fit[at] = -np.inf
            scores[chunk] = given_fit - fit.max(axis=1)
        return scores

    def _alternatives(self, block: Array, codes: Ints) -> tuple[Ints, Float64s]:
        """The best aligned other classes, best first, and the lead that the sample would have in each."""
        vectors = self.eigenvectors_
        fit = self._alignment(block @ vectors.T.astype(block.dtype), block)
        order = np.argsort(-fit, axis=1, kind="stable")
        first, second = (np.take_along_axis(fit, order[:, at : at + 1], axis=1) for at in (0, 1))
        others = order[order != codes[:, None]].reshape(len(order), len(vectors) - 1)[:, :N_ALTERNATIVES]
        lead = np.take_along_axis(fit, others, axis=1)
        return others, lead - np.where(others == order[:, :1], second, first)

    _min_class_size: ClassVar[int] = 10  # as by the mixture cuts

    def _method_cut(self) -> Cut | None:
        return FixedCut(at=0.0) if self.cut == "fixed" else None

    def _undecidable(self, cut: Cut) -> Bools:
        return cut.constant_classes()

    @property
    def _ceiling(self) -> float | None:
        return None  # differences have no natural end at which they pile up
