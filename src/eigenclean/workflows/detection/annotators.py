"""Several annotators in `eigenclean detect`: what they exclude, judging, and the files about them."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from eigenclean.detect import Consensus, judge_annotations
from eigenclean.detect.annotators.asking import Questions, choose_questions
from eigenclean.errors import InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.report.run_folder import ANNOTATOR_FILES
from eigenclean.sources import Source
from eigenclean.verdict import write_csv
from eigenclean.workflows.engines import Job, Judged
from eigenclean.workflows.options import refuse_blocks

ANNOTATORS, ANNOTATIONS, ASK = ANNOTATOR_FILES  # a row for each annotator, for each label, for each question
MAX_LISTED = 10  # questions in the summary


def check_options(engine: str | None, ask: int | None, *, named: bool, judges_once: bool) -> None:
    """Raise `InvalidOption` for options that have no meaning with, or without, several annotators."""
    if not named:
        return
    refuse_blocks(engine, by="several annotators need")
    if not judges_once:
        raise InvalidOption(
            "--self-test and --method auto plant errors in one label per row, which several annotators are not: "
            "leave one out"
        )
    if ask is not None and ask < 1:
        raise InvalidOption(f"--ask must be a whole number from 1, got {ask}")


def judge_annotated(job: Job, ask: int | None = None) -> Judged:
    """Judge the labels of several annotators, and choose ``ask`` questions to ask next."""
    started = time.perf_counter()
    data = job.data
    if data.has_features:
        evidence = data.evidence()
    else:
        evidence = Evidence(data.ids, data.labels, annotations=data.annotations)
    evidence = replace(evidence, groups=job.groups)
    consensus = judge_annotations(
        replace(evidence, probabilities=job.probabilities), job.detectors[0], decision=job.decision
    )
    seconds = time.perf_counter() - started
    assert not isinstance(consensus.verdict.made_by, str)
    facts = dict(consensus.verdict.made_by["annotators"])
    files: dict[str, Callable[[Path], None]] = {
        ANNOTATORS: lambda path: pq.write_table(annotator_table(consensus), path),
        ANNOTATIONS: lambda path: pq.write_table(annotation_table(consensus, data), path),
    }
    if ask is not None:
        questions = choose_questions(consensus.model, ask)
        questions_table = question_table(questions, data)
        files[ASK] = lambda path: write_csv(questions_table, path, byte_order_mark=True)
        facts["ask"] = {"n": len(questions), "first": questions_table.slice(0, MAX_LISTED).to_pylist()}
    return Judged(consensus.verdict, seconds, {"annotators": facts}, files=files)


def annotator_table(consensus: Consensus) -> pa.Table:
    """A row for each annotator, in the order in which the data have them."""
    quality = consensus.quality
    given = quality.annotations
    wrong = np.bincount(given.annotators[quality.looks_wrong], minlength=len(given.names))
    return pa.table(
        {
            "annotator": pa.array(given.names.astype(str).tolist(), pa.string()),
            "n_labels": pa.array(given.per_annotator),
            "quality": pa.array(quality.quality),
            "quality_low": pa.array(quality.low),
            "quality_high": pa.array(quality.high),
            "n_wrong_labels": pa.array(wrong),
        }
    )


def annotation_table(consensus: Consensus, data: Source) -> pa.Table:
    """A row for each label: who gave it to which row, and the probability that it is right."""
    quality = consensus.quality
    given = quality.annotations
    return pa.table(
        {
            "id": pa.array(data.ids[given.rows]),
            "annotator": pa.array(given.names[given.annotators].astype(str).tolist(), pa.string()),
            "label": pa.array(given.classes[given.codes]),
            "p_right": pa.array(quality.p_right),
            "is_label_issue": pa.array(quality.looks_wrong),
        }
    )


def question_table(questions: Questions, data: Source) -> pa.Table:
    """What to label again, most informative first; an empty annotator is somebody new."""
    return pa.table(
        {
            "id": pa.array(data.ids[questions.rows]),
            "annotator": pa.array(questions.annotators.tolist(), pa.string()),
            "expected_information": pa.array(questions.gain.round(4)),
        }
    )
