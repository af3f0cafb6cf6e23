"""The evidence: given labels, by one or several annotators, and what detectors and selectors judge them by."""

from eigenclean.evidence.annotations import Annotations
from eigenclean.evidence.record import KINDS, Evidence, EvidenceKind
from eigenclean.evidence.verified import VerifiedLabels

__all__ = ["KINDS", "Annotations", "Evidence", "EvidenceKind", "VerifiedLabels"]
