"""eigenclean finds wrong labels in a data set and trains well in spite of them."""

__version__ = "0.1.0"
