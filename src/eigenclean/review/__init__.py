"""A local page on which people decide about suspected labels; decisions in SQLite, and as a patch."""

from eigenclean.review.order import ORDERS, ordered_rows
from eigenclean.review.run import Review

__all__ = ["ORDERS", "Review", "ordered_rows"]
