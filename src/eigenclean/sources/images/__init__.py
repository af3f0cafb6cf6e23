"""Readers of labelled images: folders of files, and columns of tables."""
