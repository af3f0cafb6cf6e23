"""What `eigenclean detect` may be told beside the data: predicted probabilities, several annotators."""
