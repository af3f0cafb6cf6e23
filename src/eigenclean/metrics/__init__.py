"""Metrics: how good a verdict is, when the truth is known."""

from eigenclean.metrics.calibration import Reliability, expected_calibration_error, reliability_curve
from eigenclean.metrics.detection import DetectionQuality, detection_quality
from eigenclean.metrics.truth_files import read_truth, score_verdict

__all__ = [
    "DetectionQuality",
    "Reliability",
    "detection_quality",
    "expected_calibration_error",
    "read_truth",
    "reliability_curve",
    "score_verdict",
]
