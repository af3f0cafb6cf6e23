"""Runs, patches, models and folders of somebody else: nothing in them is executed, no path leads out of them."""
