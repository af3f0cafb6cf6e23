"""P(y | x) of a fitted judge: what the views say about the right class, without the given label of the row."""

import numpy as np

from eigenclean.arrays import Array, Float64s, row_chunks
from eigenclean.detect.blocks import block_rows
from eigenclean.detect.judge.judge import Judge


def class_probabilities(judge: Judge, X: Array, y: Array) -> Float64s:
    """P(y | x), n x K with the columns of ``judge.classes_``.

    Rows that the judge was fitted on are judged out of sample. The given labels ``y`` are not used, except where
    there are too many classes for each to be a candidate.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> P = class_probabilities(Judge().fit(X, y), X, y)
    >>> P.shape, bool((P.argmax(axis=1) == y).mean() > 0.9)
    ((150, 3), True)
    """
    features, codes = judge._check_known(X, y)
    probabilities = np.zeros((len(features), len(judge.classes_)))
    for chunk in row_chunks(len(features), 1, block_rows(features)):
        for candidates, averaged in zip(
            judge._candidates(features[chunk], codes[chunk]), judge._models, strict=True
        ):
            total = np.zeros(candidates.classes.shape)
            for weight, model in zip(averaged.weights, averaged.models, strict=True):
                total += weight * model.prior(candidates)
            columns = candidates.classes.T.astype(np.intp)
            block = probabilities[chunk]
            known = np.take_along_axis(block, columns, axis=1)
            np.put_along_axis(block, columns, known + total.T / len(judge._models), axis=1)
    return probabilities
