"""What the review page can ask for beside decisions."""
