"""The map: all samples in two dimensions, for the report and the review page.

``page/`` holds what draws it in the browser; both pages, and the single file, use the same modules.
"""

from eigenclean.sample_map.points import MAX_POINTS, MAX_STREAMED, choose_rows, encode, place_rows

__all__ = ["MAX_POINTS", "MAX_STREAMED", "choose_rows", "encode", "place_rows"]
