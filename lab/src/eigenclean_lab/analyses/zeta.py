"""What the threshold ζ on P(right) does (table 7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Float64s
from eigenclean.errors import InvalidOption
from eigenclean.metrics import Record, detection_quality
from eigenclean_lab.plot_style import INK, LINE, RIGHT, WRONG

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ZETAS = (0.4, 0.45, 0.5, 0.55, 0.6)


@dataclass(frozen=True, eq=False)
class ZetaCurve(Record):
    """Figures of keeping what is strictly above each ζ; right labels are positive, ``kept`` is the share kept."""

    zetas: Float64s
    precision: Float64s
    recall: Float64s
    f: Float64s
    kept: Float64s

    @property
    def f_range(self) -> float:
        """How much F changes over these ζ."""
        return float(np.ptp(self.f))


def zeta_sensitivity(p_clean: ArrayLike, is_clean: ArrayLike, *, zetas: Sequence[float] = ZETAS) -> ZetaCurve:
    """Measure every threshold on the same probabilities.

    >>> zeta_sensitivity([0.9, 0.45, 0.1], [True, True, False], zetas=[0.4, 0.5]).recall
    array([1. , 0.5])
    """
    if not zetas or not all(0 <= zeta <= 1 for zeta in zetas):
        raise InvalidOption(f"zeta_sensitivity: zetas must be between 0 and 1, got {list(zetas)}")
    p = np.asarray(p_clean, dtype=np.float64)
    found = [detection_quality(p <= zeta, p, is_clean) for zeta in zetas]
    figures = {name: np.array([getattr(one, name) for one in found]) for name in ("precision", "recall", "f")}
    kept = np.array([1 - one.flagged_share for one in found])
    return ZetaCurve(np.array(zetas, dtype=np.float64), kept=kept, **figures)


def plot_zeta_sensitivity(found: ZetaCurve, axes: "Axes") -> "Axes":
    """F, precision, recall and the kept share over ζ."""
    for name, ink, style in (
        ("f", LINE, "o-"),
        ("precision", RIGHT, "--"),
        ("recall", WRONG, "--"),
        ("kept", INK, ":"),
    ):
        axes.plot(found.zetas, getattr(found, name), style, color=ink, label="F" if name == "f" else name)
    axes.set(xlabel="ζ", ylim=(0, 1.02))
    axes.set_xticks(found.zetas, [f"{zeta:g}" for zeta in found.zetas])
    axes.legend()
    return axes
