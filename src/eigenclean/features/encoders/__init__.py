"""Encoders for images and texts."""
