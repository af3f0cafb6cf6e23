"""Labels by several annotators in `eigenclean train`: the consensus is learned, after decisions of people."""

from dataclasses import replace

import numpy as np

from eigenclean.arrays import Array
from eigenclean.detect import judge_annotations
from eigenclean.sources import Source
from eigenclean.sources.relabel import ReviewedLabels
from eigenclean.workflows.options import Notify, ignore


def labels_to_learn(data: Source, decisions: ReviewedLabels | None = None, *, notify: Notify = ignore) -> Array:
    """The labels of the source, corrected by people; of several annotators the most probable label of each row.

    Args:
        data: the data; with annotators, its labels are those of the majority.
        decisions: labels that people reviewed, which count more than any annotator.
        notify: told how many labels the consensus changes.
    """
    labels = data.labels if decisions is None else decisions.labels
    if data.annotations is None:
        return labels
    # Groups and probabilities are not known here; features alone say what a row looks like.
    evidence = replace(data.evidence(), annotations=data.annotations)
    consensus = judge_annotations(evidence).verdict.consensus_label
    assert consensus is not None
    verified = np.zeros(len(data), dtype=bool) if decisions is None else decisions.verified
    n_changed = int((consensus != data.labels)[~verified].sum())
    notify(
        f"{len(data.annotations.names)} annotators: the consensus is learned; it differs from the majority in "
        f"{n_changed} row{'s' * (n_changed != 1)}"
    )
    return np.where(verified, labels, consensus)
