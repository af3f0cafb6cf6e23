"""The training loop below the engine: one epoch, the state of each network, evaluation, several processes."""
