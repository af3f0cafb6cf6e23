"""Labels written back to where they came from: one file per format, and nothing but labels changes."""

from eigenclean.deprecation import renamed_names
from eigenclean.sources.relabel.apply import apply_patch
from eigenclean.sources.relabel.matching import PatchMatch, ReviewedLabels, match_patch, reviewed_labels
from eigenclean.sources.relabel.removal import put_rows_back

__all__ = ["PatchMatch", "ReviewedLabels", "apply_patch", "match_patch", "put_rows_back", "reviewed_labels"]

__getattr__ = renamed_names(
    __name__,
    {"Decided": "ReviewedLabels", "Fit": "PatchMatch", "decided": "reviewed_labels", "fit_patch": "match_patch"},
)
