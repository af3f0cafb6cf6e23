"""The judge, the default detector: discriminants out of sample, and EM for a model of the label noise."""

from eigenclean.detect.judge.judge import Judge

__all__ = ["Judge"]
