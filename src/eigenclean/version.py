"""The version, in the one place that everyone may read."""

__version__ = "0.2.0"
