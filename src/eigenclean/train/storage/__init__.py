"""Files of a training run."""
