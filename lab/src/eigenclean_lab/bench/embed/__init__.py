"""`eigenclean bench embed`: from images and texts to a verdict with the default encoders."""
