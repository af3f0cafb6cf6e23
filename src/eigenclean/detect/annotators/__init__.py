"""Several annotators: one transition matrix for each, the consensus of all, and whom to ask next."""
