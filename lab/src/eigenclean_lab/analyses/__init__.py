"""The paper's analyses: numbers from arrays, and a plot of each on matplotlib axes."""

from eigenclean.metrics import (
    AlignmentHeatmap,
    EigenvectorShift,
    FractionCurve,
    Spectrum,
    alignment_heatmap,
    eigenvalue_spectrum,
    eigenvector_shift,
    fraction_curve,
)
from eigenclean_lab.analyses.comparison import (
    DetectorComparison,
    compare_detectors,
    compare_verdicts,
    compare_with_mcd,
    mean_against_eigenvector,
    plot_comparison,
)
from eigenclean_lab.analyses.dynamics import FDynamics, f_dynamics, plot_f_dynamics
from eigenclean_lab.analyses.eigenvector_plots import (
    plot_alignment_heatmap,
    plot_eigenvector_shift,
    plot_fraction_curve,
    plot_shift_by_rate,
    plot_spectrum,
)
from eigenclean_lab.analyses.scores import (
    ScoreHistogram,
    ZetaCurve,
    clean_noisy_histogram,
    plot_score_histogram,
    plot_zeta_sensitivity,
    zeta_sensitivity,
)

__all__ = [
    "AlignmentHeatmap",
    "DetectorComparison",
    "EigenvectorShift",
    "FDynamics",
    "FractionCurve",
    "ScoreHistogram",
    "Spectrum",
    "ZetaCurve",
    "alignment_heatmap",
    "clean_noisy_histogram",
    "compare_detectors",
    "compare_verdicts",
    "compare_with_mcd",
    "eigenvalue_spectrum",
    "eigenvector_shift",
    "f_dynamics",
    "fraction_curve",
    "mean_against_eigenvector",
    "plot_alignment_heatmap",
    "plot_comparison",
    "plot_eigenvector_shift",
    "plot_f_dynamics",
    "plot_fraction_curve",
    "plot_score_histogram",
    "plot_shift_by_rate",
    "plot_spectrum",
    "plot_zeta_sensitivity",
    "zeta_sensitivity",
]
