"""What a command does, as a function: the command line and Python call the same code."""
