"""The laboratory: benchmarks, the executable paper, its analyses and its theory."""
