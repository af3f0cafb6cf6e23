"""Diagnostics of the eigenvectors that FINE judges by: numbers only, one measurement per file."""

from eigenclean.metrics.class_eigenvectors.alignment import AlignmentHeatmap, alignment_heatmap
from eigenclean.metrics.class_eigenvectors.eigenpairs import largest_eigenpairs, leading_eigenpairs, perturbation
from eigenclean.metrics.class_eigenvectors.fraction import FractionCurve, fraction_curve
from eigenclean.metrics.class_eigenvectors.shift import EigenvectorShift, eigenvector_shift
from eigenclean.metrics.class_eigenvectors.spectrum import Spectrum, eigenvalue_spectrum

__all__ = [
    "AlignmentHeatmap",
    "EigenvectorShift",
    "FractionCurve",
    "Spectrum",
    "alignment_heatmap",
    "eigenvalue_spectrum",
    "eigenvector_shift",
    "fraction_curve",
    "largest_eigenpairs",
    "leading_eigenpairs",
    "perturbation",
]
