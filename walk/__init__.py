"""The whole walk as a person takes it: detect, review in a browser, patch, detect again, train, predict.

``python -m walk`` takes it for six kinds of data, once with the commands and once in a Jupyter kernel, and writes
how long every step took. A step that fails, or a "Next:" line that leads nowhere, ends it with exit code 1.
"""
