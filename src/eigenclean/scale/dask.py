"""Judge rows on a Dask cluster: the detector's maps and sums over blocks become Dask tasks."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenclean.arrays import Array, Bools, Float64s, Ints
from eigenclean.detect import Detector, as_block_detector, detector
from eigenclean.detect.decisions import Decision
from eigenclean.detect.judge.verified import block_weights, decide, knowing, learning_judge, with_known_labels
from eigenclean.detect.value_range import scale
from eigenclean.evidence import VerifiedLabels
from eigenclean.files import make_folder
from eigenclean.scale.cluster import cluster, without_graph_warning, worker_memory
from eigenclean.scale.dask_blocks import DaskBlocks, DaskFeatures, encode_label_blocks, feature_exponent, slices
from eigenclean.scale.resources import free_memory
from eigenclean.sources import Source
from eigenclean.verdict import Verdict, join, ranks, write_table

__all__ = ["DaskBlocks", "DaskVerdict", "cluster", "judge_dask"]

_FEATURE_SHARE = 0.3  # of the workers' memory that features may take; detectors keep tables on the workers too


@dataclass(frozen=True)
class DaskVerdict:
    """A verdict whose rows are still with the workers.

    Attributes:
        frames: an Arrow table for each block, as Dask objects.
        judge: the fitted detector.
        made_by: how the verdict came about.
        engine: facts about the run for the summary.
        n_flagged: how many labels look wrong.
    """

    frames: DaskBlocks[Any]
    judge: Detector
    made_by: Mapping[str, Any]
    engine: Mapping[str, Any]
    n_flagged: int

    def compute(self) -> Verdict:
        """Bring all rows into the memory of this process."""
        return join(list(self.frames))

    def to_parquet(self, folder: Path) -> Path:
        """Let the workers write a new folder of Parquet files, one per block; they must see the folder too."""
        make_folder(folder)
        paths = [folder / f"part-{number:05d}.parquet" for number in range(len(self.frames))]
        self.frames.total(_write_frame, self.frames.from_items(paths))
        return folder


def judge_dask(
    features: Any,
    labels: Any = None,
    *,
    ids: Any = None,
    judge: Detector | None = None,
    decision: Decision | None = None,
    verified: VerifiedLabels | None = None,
) -> DaskVerdict:
    """Judge rows on a Dask cluster, on the current client or else Dask's default scheduler.

    Args:
        features: a Dask array (n x d) or data frame, or a source that `eigenclean.open_source` opened, such as a
            folder of Parquet files that all workers can read.
        labels: a Dask array or series, or an array; left out for a source, which has its own.
        ids: an array of unique ids; by default 0, 1, 2, …, or those of the source.
        judge: the detector; one that is fitted judges by what it knows. None takes the default judge.
        decision: which labels to flag; None takes the detector's own threshold.
        verified: what people decided about the rows, from which the default judge learns.
    """
    judge = detector() if judge is None else judge
    fitted = judge.__sklearn_is_fitted__()
    judge = as_block_detector(judge if fitted else clone(judge))
    if isinstance(features, Source):
        labels = features.labels if labels is None else labels
        ids = features.ids if ids is None else ids
    with without_graph_warning():
        data = DaskFeatures.of_source(features) if isinstance(features, Source) else DaskFeatures.of_array(features)
        blocks = data.blocks
        if data.nbytes <= _FEATURE_SHARE * worker_memory():
            blocks = blocks.persist()  # read and checked once
        exponent = feature_exponent(blocks, judge if fitted else None)
        if exponent:
            blocks = blocks.map(scale, args=(exponent,))
        blocks.budget = free_memory() // 4
        classes, code_blocks = encode_label_blocks(blocks, data.sizes, labels, judge if fitted else None)

        def split_rows(values: Array) -> DaskBlocks[Array]:
            return blocks.from_items([values[rows] for rows in slices(data.sizes)])

        if fitted:
            block_scores = judge.score_blocks(blocks, code_blocks)
        else:
            weights = None
            if verified is not None:
                weight = block_weights(verified, classes, np.concatenate(list(code_blocks)))
                weights = None if weight is None else split_rows(weight)
            with knowing(judge, verified):
                block_scores = judge.fit_blocks(blocks, code_blocks, classes, data.width, exponent, weights)
        # The cut is fitted in this process, to all scores; no array of the size of the features comes here.
        score_blocks = block_scores.scores.persist()
        scores, codes = np.concatenate(list(score_blocks)), np.concatenate(list(code_blocks))
        if not fitted:
            judge.fit_cut_to_scores(scores, codes)
        known: list[VerifiedLabels | None] = [None] * len(blocks)
        if verified is None:
            result = judge.apply_decision(scores, codes, decision)
        else:
            scores, result = decide(learning_judge(judge), scores, codes, verified, decision)
            score_blocks = split_rows(scores)
            known = [verified.take(rows) for rows in slices(data.sizes)]
        flagged = split_rows(result.flagged)
        frames = score_blocks.map(
            _frame,
            code_blocks,
            flagged,
            block_scores.suggest(flagged.map(np.flatnonzero), result.cut),
            split_rows(np.arange(len(scores)) if ids is None else np.asarray(ids)),
            split_rows(result.p_clean),
            split_rows(ranks(result.p_clean, scores)),
            blocks.from_items(known),
            args=(judge.classes_, result.made_by),
        ).persist()
        assert isinstance(frames, DaskBlocks)
    engine: dict[str, Any] = {"name": "dask", "blocks": len(blocks)}
    if "vectors" in result.made_by:
        engine["vectors"] = result.made_by["vectors"]
    return DaskVerdict(frames, judge, result.made_by, engine, int(result.flagged.sum()))


def _frame(
    scores: Float64s,
    codes: Ints,
    flagged: Bools,
    suggestion: tuple[Ints, Float64s],
    ids: Array,
    p_clean: Float64s,
    rank: Ints,
    verified: VerifiedLabels | None,
    classes: Array,
    made_by: Mapping[str, Any],
) -> Any:
    verdict = Verdict.assemble(
        ids=ids,
        classes=classes,
        codes=codes,
        score=scores,
        p_clean=p_clean,
        flagged=flagged,
        suggestions=suggestion,
        made_by=made_by,
    )
    return (verdict if verified is None else with_known_labels(verdict, verified)).to_frame(rank)


def _write_frame(table: Any, path: Path) -> int:
    write_table(table, path)
    return 1
