"""Arrays in memory and in NumPy files."""
