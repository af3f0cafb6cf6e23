"""Data larger than memory: passes over a source, sums of what they see, and a verdict written as it goes."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenclean.arrays import Array, encode_labels, locate_labels
from eigenclean.detect import Detector, detector
from eigenclean.detect.decisions import Decision
from eigenclean.detect.judge.candidates import FEW, MANY
from eigenclean.errors import InvalidData
from eigenclean.scale.reading import Passes
from eigenclean.scale.resources import free_memory
from eigenclean.sources import Source
from eigenclean.verdict import RowGroups, Verdict, ranks


@dataclass(frozen=True)
class Streamed:
    """A verdict, and how it came about.

    Attributes:
        verdict: the verdict.
        judge: the fitted detector.
        engine: plain facts for the summary.
        data_hash: fingerprint of the data.
    """

    verdict: Verdict
    judge: Detector
    engine: dict[str, Any]
    data_hash: str


def judge_stream(
    source: Source,
    judge: Detector | None = None,
    *,
    decision: Decision | None = None,
    write: Path | None = None,
    memory: int | None = None,
) -> Streamed:
    """Judge the rows of a source that does not fit into memory; the verdict is that of the detector in memory.

    Args:
        source: the rows, as `eigenclean.open_source` opens them.
        judge: the detector; one that is fitted judges by what it knows, others learn from these very rows. None
            takes the default judge.
        decision: which labels to flag; None takes the detector's own threshold.
        write: a new file for the rows of the verdict, written in groups while later ones are still being judged.
        memory: bytes that may be used; by default half of what is free.

    >>> from eigenclean import open_source
    >>> judge_stream(open_source("digits")).verdict
    Verdict by judge: 8 of 1797 labels look wrong, estimated noise rate 0.5 %
    """
    judge = detector() if judge is None else judge
    fitted = judge.__sklearn_is_fitted__()
    judge = judge if fitted else clone(judge)
    judge.check_in_blocks()
    memory = free_memory() // 2 if memory is None else memory
    classes, codes = _classes(source, judge if fitted else None)
    n, k = len(codes), len(classes)
    table = n * (6 * FEW if k > MANY else 4 * k)  # what the judge keeps of every row
    passes = Passes(source, budget=memory // 2, spill=table > memory // 2)
    _check_width(passes, judge if fitted else None, source)
    own = passes.split_rows(codes)
    learned = judge.judge_blocks(passes.blocks, own) if fitted else judge.learn_blocks(passes.blocks, own, classes)
    scores = np.concatenate(list(learned.scores))
    if not fitted:
        judge.fit_scores(scores, codes)
    weighed = judge.weigh(scores, codes, decision)
    rank = ranks(weighed.p_clean, scores)
    suggested, confidence = codes.astype(np.int32), weighed.p_clean.copy()
    rows = passes.split_rows(weighed.flagged).map(np.flatnonzero)
    with _writing(write, weighed.made_by) as group:
        for part, (best, share) in zip(passes.parts, learned.suggest(rows, weighed.cut), strict=True):
            flagged = part.start + np.flatnonzero(weighed.flagged[part])
            suggested[flagged] = best
            confidence[flagged] = (1.0 - weighed.p_clean[flagged]) * share
            group(
                ids=source.ids[part],
                labels=classes[codes[part]],
                score=scores[part],
                p_clean=weighed.p_clean[part],
                flagged=weighed.flagged[part],
                suggested=classes[suggested[part]],
                suggested_confidence=confidence[part],
                rank=rank[part],
            )
    passes.check_unchanged()
    verdict = Verdict(
        ids=source.ids,
        labels=classes[codes],
        score=scores,
        p_clean=weighed.p_clean,
        flagged=weighed.flagged,
        suggested=classes[suggested],
        suggested_confidence=confidence,
        made_by=weighed.made_by,
    )
    engine = {"name": "stream", "passes": passes.n_passes, "blocks": len(passes.parts), "memory": memory}
    if "vectors" in weighed.made_by:
        engine["vectors"] = weighed.made_by["vectors"]
    return Streamed(verdict, judge, engine, passes.data_hash())


def _classes(source: Source, fitted: Detector | None) -> tuple[Array, Array]:
    if fitted is None:
        return encode_labels(source.labels)
    return fitted.classes_, locate_labels(source.labels, fitted.classes_, by=source.name)


def _check_width(passes: Passes, fitted: Detector | None, source: Source) -> None:
    width = source.kind()[0]
    if fitted is not None and fitted.n_columns != width:
        raise InvalidData(f"{source.name}: the detector was fitted on {fitted.n_columns} features, got {width}")


@contextmanager
def _writing(path: Path | None, made_by: dict[str, Any]) -> Iterator[Any]:
    """A function that takes groups of rows and writes them in another thread, one at a time."""
    if path is None:
        yield lambda **_: None
        return
    with ThreadPoolExecutor(1, thread_name_prefix="writing") as pool, RowGroups(path, made_by) as groups:
        pending: list[Future[None]] = []

        def write(**fields: Array) -> None:
            while pending:
                pending.pop().result()  # at most one group waits
            pending.append(pool.submit(groups.write, **fields))

        yield write
        for last in pending:
            last.result()
