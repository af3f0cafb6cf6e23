"""Benchmarks: quality of detectors and trainings on real data, and speed as ratios against a baseline."""
