"""`eigenclean bench train`: how well the recipes train on wrong labels, on data with known right labels."""
