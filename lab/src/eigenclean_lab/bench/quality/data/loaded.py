"""The record that every loader of data returns: features, labels, and what else is known of the rows."""

from typing import NamedTuple

import numpy as np

from eigenclean.arrays import Array, encode_labels

FEWEST_ROWS = 8  # of a class; smaller ones are left out: nothing can be learned about them in five folds


class Loaded(NamedTuple):
    """A data set whose labels are taken for right.

    Attributes:
        features: n x d, float32.
        labels: the right labels.
        label_sets: other labels of the same rows, by name, such as those that people gave.
    """

    features: Array
    labels: Array
    label_sets: dict[str, Array]

    def take(self, rows: Array) -> "Loaded":
        """These rows, given by number or as a mask."""
        sets = {name: labels[rows] for name, labels in self.label_sets.items()}
        return Loaded(self.features[rows], self.labels[rows], sets)


def large_classes(labels: Array, fewest: int = FEWEST_ROWS) -> Array:
    """Mask of the rows whose class has at least so many rows.

    >>> large_classes(np.array(["a", "b", "a"]), fewest=2)
    array([ True, False,  True])
    """
    codes = encode_labels(labels)[1]
    return np.asarray((np.bincount(codes) >= fewest)[codes])
