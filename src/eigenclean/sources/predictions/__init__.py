"""Probabilities that a model of the user predicted: reading them, and matching them to labels."""
