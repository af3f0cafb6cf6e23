"""The judge, the default detector."""
