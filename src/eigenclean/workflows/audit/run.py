"""`audit`: judge labels with the workflow of `eigenclean detect`, from Python."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from eigenclean.detect.decisions import Decision
from eigenclean.errors import InvalidOption
from eigenclean.report import results_folder
from eigenclean.workflows.audit.inputs import AuditInputs, is_column
from eigenclean.workflows.audit.result import Audit
from eigenclean.workflows.detect import (
    DetectRequest,
    EngineOptions,
    MethodOptions,
    OutputOptions,
    SelfTestOptions,
    judging,
    prepare,
)
from eigenclean.workflows.embedding import EmbeddingOptions
from eigenclean.workflows.options import SourceOptions
from eigenclean.workflows.progress.display import showing_progress


def audit(
    data: Any = None,
    *,
    label: Any = None,
    text: Any = None,
    image: Any = None,
    features: Any = None,
    pred_probs: Any = None,
    annotators: Any = None,
    groups: Any = None,
    decisions: str | os.PathLike[str] | None = None,
    ids: Any = None,
    category: str | Sequence[str] | None = None,
    leave_out: str | Sequence[str] | None = None,
    image_root: str | os.PathLike[str] | None = None,
    split: str | None = None,
    method: str | None = None,
    settings: Mapping[str, Any] | None = None,
    threshold: float | None = None,
    max_false_flags: float | None = None,
    budget: int | None = None,
    encoder: str | None = None,
    device: str | None = None,
    self_test: bool = False,
    engine: str | None = None,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Audit:
    """Find labels that are probably wrong; the result shows itself in a notebook and can be saved and reviewed.

    It is `eigenclean detect` as a function: the same choices, the same files.

    Args:
        data: a path or name as for `eigenclean detect`, a data frame of any library, a ``Dataset`` or
            ``DatasetDict`` of Hugging Face, a data set of PyTorch, a pair ``(features, labels)``, a dict of arrays
            or columns, or an array of features; None if the arguments below are arrays.
        label: column of the labels, or the labels themselves; by default the column is found by its name.
        text: column of texts, or texts.
        image: column of images, or an array of images.
        features: columns of features, patterns of them, or an array with one row per label.
        pred_probs: probabilities that a model of yours predicted out of sample: array, frame or file. They count
            beside the features, or alone.
        annotators: columns of labels by one annotator each: a list of names or a pattern such as "rater_*"; the
            name of the column that names the annotator, in a table with one row per label; or a matrix of labels,
            rows x annotators.
        groups: column that says which rows belong together (a scene, a patient, a user), or one value per row:
            they are judged by other groups.
        decisions: folder of a run, or a patch, whose decisions count as known labels; by default those in ``out``.
        ids: column of unique ids, or the ids.
        category: columns whose values are names even if they are numbers, or patterns.
        leave_out: columns that are not to be features, or patterns.
        image_root: folder that paths of images are relative to and stay in.
        split: which split of a data set that has several; by default "train".
        method: name of the detector (`eigenclean list detectors`); by default the judge.
        settings: options of the detector.
        threshold: flag a label when P(right) is at most this.
        max_false_flags: flag as many as possible while at most this share of the flags is expected wrong.
        budget: flag this many.
        encoder: what turns images and texts into features; by default the best that is installed.
        device: where the encoder runs.
        self_test: plant errors in a copy of the labels, and count those found.
        engine: "memory", "stream" or "dask"; by default chosen by the size of the features.
        seed: seed of everything random.
        out: folder for the results; by default a temporary one, which `Audit.save` copies.
        progress: show progress bars; by default in notebooks and terminals.

    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> result = audit(X, label=y, method="fine")
    >>> result.verdict.method, len(result.verdict), len(result.suspects(3))
    ('fine', 178, 3)
    """
    rules = (threshold, max_false_flags, budget)
    decision = None if all(rule is None for rule in rules) else Decision(threshold, max_false_flags, budget)
    names_annotator = isinstance(annotators, str) and not set(annotators) & set("*?[")
    reading = SourceOptions(
        category_columns=_as_list(category),
        leave_out=_as_list(leave_out),
        image_root=None if image_root is None else Path(image_root),
        split=split,
        annotator_columns=_as_list(annotators) if is_column(annotators) and not names_annotator else None,
        annotator_column=annotators if names_annotator else None,
        group_column=groups if isinstance(groups, str) else None,
    )
    if annotators is not None and not is_column(annotators):
        if label is not None:
            raise InvalidOption("audit: annotators are the labels; leave out label")
        label = annotators
    inputs = AuditInputs(data, label, text, image, features, ids, reading)
    folder = Path(mkdtemp(prefix="eigenclean-") if out is None else out)
    try:
        with showing_progress(progress):
            source, options = inputs.resolve()
            request = DetectRequest(
                source,
                folder,
                MethodOptions(method, dict(settings or {}), seed),
                decision,
                options,
                EmbeddingOptions(encoder, device),
                EngineOptions(engine),
                SelfTestOptions(self_test),
                pred_probs=pred_probs,
                groups=None if isinstance(groups, str) else groups,
                decisions=None if decisions is None else Path(decisions),
            )
            return _judge(request, is_temporary=out is None)
    except BaseException:
        if out is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _judge(request: DetectRequest, *, is_temporary: bool) -> Audit:
    notes: list[str] = []
    prepared = prepare(request, notify=notes.append)
    with (
        results_folder(request.folder) as folder,
        judging(prepared, folder, notify=notes.append) as detection,
    ):
        summary = detection.publish(folder, OutputOptions())
        return Audit(
            folder,
            detection.judged.verdict,
            summary,
            source=detection.data,
            notes=notes,
            is_temporary=is_temporary,
        )


def _as_list(value: str | Sequence[str] | None) -> Sequence[str] | None:
    return [value] if isinstance(value, str) else value
