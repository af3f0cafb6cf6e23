"""Commands of the laboratory, loaded by `eigenclean` through entry points."""
