"""What the page can ask the server for beside decisions: a patch in the run, and a new verdict."""
