"""The version, in the one place from which everything reads it."""

__version__ = "0.2.0"
