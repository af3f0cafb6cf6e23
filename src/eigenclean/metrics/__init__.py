"""Metrics: how good a verdict is when the truth is known, and how many labels are wrong when it is not."""

from eigenclean.metrics.calibration import Reliability, expected_calibration_error, reliability_curve
from eigenclean.metrics.certainty import CERTAINTY_BANDS, CertaintyBand, count_by_certainty
from eigenclean.metrics.detection import DetectionQuality, detection_quality
from eigenclean.metrics.noise_rate import noise_rate_interval
from eigenclean.metrics.truth_files import read_truth, score_verdict

__all__ = [
    "CERTAINTY_BANDS",
    "CertaintyBand",
    "DetectionQuality",
    "Reliability",
    "count_by_certainty",
    "detection_quality",
    "expected_calibration_error",
    "noise_rate_interval",
    "read_truth",
    "reliability_curve",
    "score_verdict",
]
