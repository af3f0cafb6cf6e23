"""Mutated inputs for every reader: exit code 0, or exit code 2 with one sentence and nothing written."""
