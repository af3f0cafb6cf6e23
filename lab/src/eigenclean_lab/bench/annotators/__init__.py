"""How right the consensus of several annotators is, against the majority, Dawid and Skene, and CROWDLAB."""
