"""Speed as ratios: every figure is measured against a yardstick in the same run, never as bare seconds."""
