"""Metrics: how good a verdict is when the truth is known, and how many labels are wrong when it is not."""

from eigenclean.metrics.calibration import Reliability, check_mask, expected_calibration_error, reliability_curve
from eigenclean.metrics.certainty import CERTAINTY_BANDS, CertaintyBand, count_by_certainty
from eigenclean.metrics.class_eigenvectors import (
    AlignmentHeatmap,
    EigenvectorShift,
    FractionCurve,
    Spectrum,
    alignment_heatmap,
    eigenvalue_spectrum,
    eigenvector_shift,
    fraction_curve,
    perturbation,
)
from eigenclean.metrics.detection import DetectionQuality, detection_quality
from eigenclean.metrics.noise_rate import noise_rate_interval, verdict_interval
from eigenclean.metrics.record import Record
from eigenclean.metrics.true_accuracy import AccuracyEstimate, true_accuracy
from eigenclean.metrics.truth_files import read_truth, score_verdict

__all__ = [
    "CERTAINTY_BANDS",
    "AccuracyEstimate",
    "AlignmentHeatmap",
    "CertaintyBand",
    "DetectionQuality",
    "EigenvectorShift",
    "FractionCurve",
    "Record",
    "Reliability",
    "Spectrum",
    "alignment_heatmap",
    "check_mask",
    "count_by_certainty",
    "detection_quality",
    "eigenvalue_spectrum",
    "eigenvector_shift",
    "expected_calibration_error",
    "fraction_curve",
    "noise_rate_interval",
    "perturbation",
    "read_truth",
    "reliability_curve",
    "score_verdict",
    "true_accuracy",
    "verdict_interval",
]
