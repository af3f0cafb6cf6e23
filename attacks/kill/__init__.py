"""Kill -9 in the middle of the work, right after each rename: what is there afterwards is the old or the new."""
