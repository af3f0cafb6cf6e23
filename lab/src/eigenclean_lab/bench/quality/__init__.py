"""`eigenclean bench quality`: how good the detectors are on real data whose right labels are known."""
