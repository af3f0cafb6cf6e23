"""How the progress of long work is shown: bars in a terminal or a notebook, lines in a log."""
