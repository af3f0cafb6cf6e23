"""The executable paper: every table, figure and theorem of FINE (NeurIPS 2021) as a command."""
