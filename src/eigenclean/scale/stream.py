"""Judge data larger than memory: passes over the blocks of a source, and a verdict written block by block."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenclean.arrays import Array, Float64s, Ints, encode_labels, locate_labels
from eigenclean.detect import Detector, as_block_detector, detector
from eigenclean.detect.block_detector import BlockDetector, BlockScores
from eigenclean.detect.blocks import Blocks
from eigenclean.detect.decisions import Decision
from eigenclean.detect.judge.candidates import bytes_per_row
from eigenclean.detect.judge.verified import block_weights, decide, knowing, learning_judge, with_known_labels
from eigenclean.detect.value_range import OutOfRange
from eigenclean.errors import InvalidData
from eigenclean.evidence import VerifiedLabels
from eigenclean.scale.reading import SourceBlocks
from eigenclean.scale.resources import free_memory
from eigenclean.sources import Source
from eigenclean.verdict import RowGroups, Verdict, ranks


@dataclass(frozen=True)
class Streamed:
    """A verdict on a source that was read in blocks.

    Attributes:
        verdict: the verdict.
        judge: the fitted detector.
        engine: facts about the run for the summary.
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
    verified: VerifiedLabels | None = None,
    write: Path | None = None,
    memory: int | None = None,
) -> Streamed:
    """Judge the rows of a source that does not fit into memory; the verdict is that of the detector in memory.

    Args:
        source: the rows, as `eigenclean.open_source` opens them.
        judge: the detector; one that is fitted judges by what it knows, others are fitted on these rows. None
            takes the default judge.
        decision: which labels to flag; None takes the detector's own threshold.
        verified: what people decided about the rows, from which the default judge learns.
        write: a new file for the rows of the verdict, written in groups while later ones are still being judged.
        memory: bytes that may be used; by default half of what is free.

    >>> from eigenclean import open_source
    >>> judge_stream(open_source("digits")).verdict
    Verdict by judge: 1 of 1797 labels look wrong, estimated noise rate 0.2 %
    """
    judge = detector() if judge is None else judge
    fitted = judge.__sklearn_is_fitted__()
    judge = as_block_detector(judge if fitted else clone(judge))
    memory = free_memory() // 2 if memory is None else memory
    classes, codes = _classes(source, judge if fitted else None)
    n, k = len(codes), len(classes)
    table = n * bytes_per_row(k)
    passes = SourceBlocks(
        source,
        budget=memory // 2,
        spill=table > memory // 2,
        exponent=judge.feature_exponent_ if fitted else None,
    )
    _check_width(judge if fitted else None, source)
    code_blocks = passes.split_rows(codes)
    if fitted:
        block_scores = judge.score_blocks(passes.blocks, code_blocks)
    else:
        weight = None if verified is None else block_weights(verified, classes, codes)
        with knowing(judge, verified):
            block_scores = _fit(judge, passes, code_blocks, classes, source.kind()[0], weight)
    scores = np.concatenate(list(block_scores.scores))
    if not fitted:
        judge.fit_cut_to_scores(scores, codes)
    if verified is None:
        result = judge.apply_decision(scores, codes, decision)
    else:
        scores, result = decide(learning_judge(judge), scores, codes, verified, decision)
    rank = ranks(result.p_clean, scores)
    flagged_rows = passes.split_rows(result.flagged).map(np.flatnonzero)
    suggested_codes: list[Ints] = []
    given_wrong: list[Float64s] = []

    def assemble(rows: slice, suggestions: tuple[Ints, Float64s]) -> Verdict:
        verdict = Verdict.assemble(
            ids=source.ids[rows],
            classes=classes,
            codes=codes[rows],
            score=scores[rows],
            p_clean=result.p_clean[rows],
            flagged=result.flagged[rows],
            suggestions=suggestions,
            made_by=result.made_by,
        )
        return verdict if verified is None else with_known_labels(verdict, verified.take(rows))

    with _writing(write) as write_rows:
        for rows, suggestions in zip(
            passes.row_ranges, block_scores.suggest(flagged_rows, result.cut), strict=True
        ):
            suggested_codes.append(suggestions[0])
            given_wrong.append(suggestions[1])
            write_rows(assemble(rows, suggestions), rank[rows])
    passes.check_unchanged()
    verdict = assemble(slice(None), (np.concatenate(suggested_codes), np.concatenate(given_wrong)))
    engine = {"name": "stream", "passes": passes.n_passes, "blocks": len(passes.row_ranges), "memory": memory}
    if "vectors" in result.made_by:
        engine["vectors"] = result.made_by["vectors"]
    return Streamed(verdict, judge, engine, passes.data_hash())


def _fit(
    judge: BlockDetector,
    passes: SourceBlocks,
    codes: Blocks[Ints],
    classes: Array,
    n_features: int,
    weight: Float64s | None,
) -> BlockScores:
    weights = None if weight is None else passes.split_rows(weight)
    try:
        return judge.fit_blocks(passes.blocks, codes, classes, n_features, weights=weights)
    except OutOfRange:  # rare, and not known before the first pass: begin again with scaled features
        passes.rescale()
        return judge.fit_blocks(passes.blocks, codes, classes, n_features, passes.exponent, weights)


def _classes(source: Source, fitted: Detector | None) -> tuple[Array, Array]:
    if fitted is None:
        return encode_labels(source.labels)
    return fitted.classes_, locate_labels(source.labels, fitted.classes_, by=source.name)


def _check_width(fitted: Detector | None, source: Source) -> None:
    width = source.kind()[0]
    if fitted is not None and fitted.n_features_in_ != width:
        raise InvalidData(
            f"{source.name}: the detector was fitted on {fitted.n_features_in_} features, got {width}"
        )


@contextmanager
def _writing(path: Path | None) -> Iterator[Callable[[Verdict, Ints], None]]:
    """A function that writes groups of rows in another thread, one at a time; without a path it does nothing."""
    if path is None:
        yield lambda rows, rank: None
        return
    with ThreadPoolExecutor(1, thread_name_prefix="writing") as pool, RowGroups(path) as groups:
        pending: list[Future[None]] = []

        def write(rows: Verdict, rank: Ints) -> None:
            while pending:
                pending.pop().result()  # at most one group waits
            pending.append(pool.submit(groups.write, rows, rank))

        yield write
        for last in pending:
            last.result()
