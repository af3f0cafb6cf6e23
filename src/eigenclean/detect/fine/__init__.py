"""FINE and what belongs to it."""
