"""Sentences about what labels alone cannot tell; they come with the verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from eigenclean.arrays import Array, Float64s, Ints, preview
from eigenclean.detect.judge.views.probabilities import Agreement
from eigenclean.evidence import EvidenceKind

MANY_WRONG = 0.4  # noise rate above which the classes may be confused with each other
FEW_ROWS = 10  # of a class
IN_SAMPLE_ROWS, IN_SAMPLE_SHARE = 50, 0.005  # fewer disagreements than this share of so many rows are suspicious
IN_SAMPLE = (
    "the features are those of a network that was trained on these labels and may know wrong ones by heart: "
    "look at some of the suspects before you believe the numbers"
)
DISAGREEMENT = 0.08  # between the noise rates of views that explain the labels about equally well
OPEN_RANGE = 0.1  # share of the labels about which nothing can be said without a sentence


@dataclass(frozen=True, eq=False)
class FitFacts:
    """What a fit of the judge found, from which cautions follow.

    Attributes:
        classes: the labels.
        counts: number of rows of each class.
        wrong: expected number of wrong labels of each class.
        noise_rate_range: rates that the labels leave possible.
        predicts: whether the views predict the labels better than the sizes of the classes do.
        views_left_out: names of views that need all rows in memory, where they are not.
        agreement: of predicted probabilities with the given labels; None if there are none.
        evidence: what was judged by.
        view_rates: noise rates by single views that explain the labels about equally well.
    """

    classes: Array
    counts: Ints
    wrong: Float64s
    noise_rate_range: tuple[float, float]
    predicts: bool = True
    views_left_out: Sequence[str] = ()
    agreement: Agreement | None = None
    evidence: EvidenceKind = "features"
    view_rates: Mapping[str, float] = field(default_factory=dict)


def cautions(facts: FitFacts) -> list[str]:
    """One sentence for each reason not to believe the numbers.

    >>> facts = FitFacts(np.array(["a", "b"]), np.array([50, 50]), np.array([30.0, 1.0]), (0.3, 0.32))
    >>> cautions(facts)
    ["more than half of the labels of class 'a' look wrong: look at some of them before you believe it"]
    """
    n, counts = int(facts.counts.sum()), np.maximum(facts.counts, 1)
    rate = float(facts.wrong.sum()) / max(n, 1)
    sentences = []
    if not facts.predicts:
        sentences.append(f"the {facts.evidence} do not predict the labels better than the sizes of the classes do")
    if facts.agreement is not None and seem_in_sample(facts.agreement):
        share = 100 * (1 - facts.agreement.disagreeing / facts.agreement.n)
        sentences.append(
            f"the most probable class is the given one in {share:.1f} % of the rows: if the model was trained on "
            "these labels, its probabilities repeat their errors; take those of cross-validation"
        )
    if rate > MANY_WRONG:
        sentences.append(
            f"{100 * rate:.0f} % of the labels look wrong: above {100 * MANY_WRONG:.0f} % it is not certain "
            "which class is which"
        )
    mostly_wrong = facts.wrong / counts > 0.5
    if mostly_wrong.any():
        name = preview(facts.classes[mostly_wrong], 4)
        word = "class" if np.count_nonzero(mostly_wrong) == 1 else "classes"
        sentences.append(
            f"more than half of the labels of {word} {name} look wrong: look at some of them before you believe it"
        )
    small = facts.counts < FEW_ROWS
    if small.any():
        number = int(np.count_nonzero(small))
        sentences.append(
            f"{number} of {len(small)} classes {'has' if number == 1 else 'have'} fewer than {FEW_ROWS} rows: "
            "little can be said about their labels"
        )
    open_labels = facts.noise_rate_range[1] - rate
    if open_labels > OPEN_RANGE:
        sentences.append(
            f"up to {100 * open_labels:.0f} % more of the labels are open: whether these are wrong, or the classes "
            "overlap, labels alone cannot tell"
        )
    if views_disagree(facts.view_rates):
        rates = facts.view_rates
        low, high = min(rates, key=lambda name: rates[name]), max(rates, key=lambda name: rates[name])
        sentences.append(
            f"views of the features disagree: by {low} alone {100 * rates[low]:.0f} % of the labels are wrong, by "
            f"{high} alone {100 * rates[high]:.0f} %"
        )
    if facts.views_left_out:
        sentences.append(
            f"rows are not in memory, so {' and '.join(facts.views_left_out)} were not consulted: "
            "with --engine memory the judge sees more"
        )
    return sentences


def views_disagree(rates: Mapping[str, float]) -> bool:
    """Whether noise rates by single views are too different to believe any of them.

    >>> views_disagree({"linear": 0.29, "trees": 0.2}), views_disagree({"linear": 0.22, "trees": 0.2})
    (True, False)
    """
    return len(rates) > 1 and max(rates.values()) - min(rates.values()) > DISAGREEMENT


def seem_in_sample(agreement: Agreement) -> bool:
    """Whether probabilities agree with the given labels more than those of an unseen row would.

    A good model disagrees with few labels too, but about as often as its own probabilities say, or more often. One
    that has seen the labels disagrees less often than that.

    >>> seem_in_sample(Agreement(1000, 3, 4.0)), seem_in_sample(Agreement(1000, 1, 40.0))
    (False, True)
    """
    few = agreement.disagreeing <= IN_SAMPLE_SHARE * agreement.n
    return agreement.n >= IN_SAMPLE_ROWS and few and 2 * agreement.disagreeing <= agreement.expected
