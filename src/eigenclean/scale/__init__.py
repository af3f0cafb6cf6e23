"""Data of any size: larger than memory on one machine, or on a cluster; the mathematics is that of `detect`."""
