"""Inputs and targets of a training run."""
