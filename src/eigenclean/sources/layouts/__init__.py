"""Public data sets in the layout of their authors."""
