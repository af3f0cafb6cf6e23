"""`eigenclean detect`: from a source to a verdict, a summary and a report in a folder."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eigenclean.arrays import Float64s
from eigenclean.detect import BlockDetector, Detector, as_block_detector
from eigenclean.detect.decisions import Decision
from eigenclean.detect.judge.judge import Judge
from eigenclean.detect.registry import build_detector
from eigenclean.errors import InvalidOption
from eigenclean.names import check_name
from eigenclean.report import publish, results_folder
from eigenclean.scale.resources import ENGINES as ENGINE_NAMES
from eigenclean.scale.resources import ENGINES_IN_BLOCKS, choose_engine
from eigenclean.sources import Source
from eigenclean.tables import TableEncoding
from eigenclean.workflows.detection.annotators import check_options, judge_annotated
from eigenclean.workflows.detection.carried import decision_files, group_files
from eigenclean.workflows.detection.decisions import check_decisions, known_decisions, warn_of_unused
from eigenclean.workflows.detection.groups import check_grouping, rows_of_groups
from eigenclean.workflows.detection.predictions import check_excluded, load_probabilities
from eigenclean.workflows.embedding import EmbeddingOptions, embed
from eigenclean.workflows.engines import ENGINES, Job, Judged
from eigenclean.workflows.options import Notify, SourceOptions, ignore, link_facts
from eigenclean.workflows.self_test import SHARE, candidate_names, check_share

AUTO = "auto"


@dataclass(frozen=True)
class MethodOptions:
    """Which detector judges.

    Attributes:
        name: a name in `eigenclean.detect.DETECTORS`; "auto" for the one that finds planted errors best; None for
            the default.
        settings: options of the detector.
        seed: seed of its random state.
    """

    name: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    seed: int = 0


@dataclass(frozen=True)
class EngineOptions:
    """Where the judging happens.

    Attributes:
        name: "memory", "stream" or "dask"; None to choose between the first two by the size of the features.
        scheduler: address of a Dask scheduler; None for a cluster on this machine.
    """

    name: str | None = None
    scheduler: str | None = None


@dataclass(frozen=True)
class SelfTestOptions:
    """Whether errors are planted to measure the detector, and which share of the labels."""

    enabled: bool = False
    share: float = SHARE


@dataclass(frozen=True)
class OutputOptions:
    """What is written beside the verdict: a CSV copy, the report, and the command line in the report."""

    csv: bool = False
    report: bool = True
    command: str | None = None


@dataclass(frozen=True)
class DetectRequest:
    """Everything that `run_detect` is told.

    Attributes:
        source: the data, as `eigenclean.open_source` takes them.
        folder: where the results go.
        method: the detector.
        decision: which labels are flagged; None for the detector's own threshold.
        reading: how the source is opened.
        embedding: how images and texts become features.
        engine: where the judging happens.
        self_test: whether to measure the detector on planted errors.
        output: what is written.
        pred_probs: probabilities that a model of the user predicted, as a file, an array or a frame; the source may
            then have no features, and its images and texts are embedded only by an encoder that is named.
        groups: which rows belong together, one value per row, where the source has no column that says so.
        decisions: run or patch whose decisions count; by default those in ``folder`` that are about these rows.
        ask: how many labels to ask several annotators for next; None for no questions.
    """

    source: Any
    folder: Path
    method: MethodOptions = MethodOptions()
    decision: Decision | None = None
    reading: SourceOptions = field(default_factory=SourceOptions)
    embedding: EmbeddingOptions = field(default_factory=EmbeddingOptions)
    engine: EngineOptions = EngineOptions()
    self_test: SelfTestOptions = SelfTestOptions()
    output: OutputOptions = OutputOptions()
    pred_probs: Any = None
    ask: int | None = None
    groups: Any = None
    decisions: Path | None = None


def run_detect(request: DetectRequest, *, notify: Notify = ignore) -> dict[str, Any]:
    """Judge a source, write the results into a folder, and return the summary.

    All options are checked before the source is opened, and the folder before anything is computed.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     summary = run_detect(DetectRequest("wine", Path(folder), MethodOptions("fine")))
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['manifest.json', 'report.html', 'report.json', 'summary.json', 'verdict.parquet']
    """
    prepared = prepare(request, notify=notify)
    with results_folder(request.folder) as folder, judging(prepared, folder, notify=notify) as detection:
        return detection.publish(folder, request.output)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A request whose options are checked and whose source is open.

    Attributes:
        request: what was asked for.
        detectors: the detector, or the candidates of method auto.
        engine: name of the engine; None leaves it to the size of the data.
        data: the opened source.
        facts: entries of the summary so far.
    """

    request: DetectRequest
    detectors: Sequence[Detector]
    engine: str | None
    data: Source
    facts: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Detection:
    """The result of `detect` before it is written: verdict, data and facts.

    Attributes:
        data: the source with the features that were judged.
        judged: the verdict, and what the engine says about it.
        facts: entries of the summary about source, features and decision.
        encoding: how the columns of a table became features; None for other data.
    """

    data: Source
    judged: Judged
    facts: Mapping[str, Any]
    encoding: TableEncoding | None = None

    def publish(self, folder: Path, output: OutputOptions) -> dict[str, Any]:
        """Write the results into a folder as one, and return the summary."""
        return publish(
            folder,
            self.judged.verdict,
            self.data,
            command=output.command,
            seconds=self.judged.seconds,
            facts=self.facts,
            csv=output.csv,
            report=output.report,
            written=self.judged.written,
            data_hash=self.judged.data_hash,
            others=self.judged.files,
            encoding=self.encoding,
        )


def prepare(request: DetectRequest, *, notify: Notify = ignore) -> Prepared:
    """Check the options of a request, then open its source."""
    detectors = _detectors(request)
    engine = _engine(request, detectors)
    named = request.embedding.encoder is not None
    need_features = request.pred_probs is None and not request.reading.has_annotators
    data = request.reading.open(request.source, raw=named, need_features=need_features, notify=notify)
    record = request.reading.record(request.source, name=data.name, need_features=need_features)
    if data.found_label and not record.get("in_memory"):
        record["label_column"] = data.label_column
    facts: dict[str, Any] = {"source": record, **link_facts(data)}
    if data.encoding is not None:
        facts["features"] = data.encoding.facts()
        if detectors[0].table_note is not None and not data.encoding.is_as_is:
            notify(f"note: {detectors[0].table_note}")
    return Prepared(request, detectors, engine, data, facts)


@contextmanager
def judging(prepared: Prepared, folder: Path, *, notify: Notify = ignore) -> Iterator[Detection]:
    """Embed and judge what was prepared; engines may write blocks of the verdict beside ``folder``."""
    request, data, facts = prepared.request, prepared.data, dict(prepared.facts)
    probabilities: Float64s | None = None
    named = request.embedding.encoder is not None
    if named or (request.pred_probs is None and request.embedding.needed_for(data)):
        data = embedded = embed(data, request.embedding, notify=notify)
        facts["embedding"] = {**embedded.facts(), "options": request.embedding.record(embedded)}
        if request.embedding.saw_labels:
            for detector in prepared.detectors:
                detector.set_params(**{**detector.in_sample_options, **request.method.settings})
    if request.pred_probs is not None:
        probabilities, entry = load_probabilities(request.pred_probs, data, request.reading, notify=notify)
        facts.update(entry)
    job = Job(
        data,
        prepared.detectors,
        request.decision,
        folder,
        share=request.self_test.share,
        self_test=request.self_test.enabled,
        scheduler=request.engine.scheduler,
        probabilities=probabilities,
        groups=rows_of_groups(request.groups, data, notify=notify),
    )
    with _engine_or_annotators(job, prepared, notify) as judged:
        assert not isinstance(judged.verdict.made_by, str)
        summary = {"decision": judged.verdict.made_by["decision"], **facts, **judged.facts}
        judged = replace(judged, files={**judged.files, **group_files(job.groups, data)})
        yield Detection(data, judged, summary, prepared.data.encoding)


@contextmanager
def _engine_or_annotators(job: Job, prepared: Prepared, notify: Notify) -> Iterator[Judged]:
    """Judge by an engine, or by the model of several annotators where the data have them."""
    request = prepared.request
    if job.data.annotations is None:
        if request.ask is not None:
            raise InvalidOption("--ask is for labels by several annotators: name them with --annotator-columns")
        known = None
        if isinstance(job.detectors[0], Judge) and _judges_once(request):
            known = known_decisions(request.decisions, request.folder, job.data, notify=notify)
        elif _judges_once(request):
            warn_of_unused(request.folder, job.detectors[0].name, notify=notify)
        if known is not None:
            job = replace(job, verified=known.verified)
        with ENGINES[prepared.engine or choose_engine(job.data)](job) as judged:
            files = {} if known is None else decision_files(known.carried, job.data, judged.data_hash)
            yield replace(judged, files={**judged.files, **files})
        return
    check_options(request.engine.name, request.ask, named=True, judges_once=_judges_once(request))
    if request.decisions is not None:
        check_decisions(job.detectors, judges_once=True, has_annotators=True)
    yield judge_annotated(job, request.ask)


def _judges_once(request: DetectRequest) -> bool:
    return not request.self_test.enabled and request.method.name != AUTO


def _detectors(request: DetectRequest) -> list[Detector]:
    """The detector of the request, or the candidates of method auto."""
    method, settings = request.method, dict(request.method.settings)
    if method.name == AUTO and settings:
        raise InvalidOption("--set is for one method, --method auto tries several: name the method instead")
    if request.decision is not None and request.decision.threshold is not None:
        settings["threshold"] = request.decision.threshold
    if request.self_test.enabled or method.name == AUTO:
        check_share(request.self_test.share)
    names = candidate_names() if method.name == AUTO else [method.name]
    return [build_detector(name, settings, seed=method.seed) for name in names]


def _engine(request: DetectRequest, detectors: list[Detector]) -> str | None:
    """The engine that was named, or that the method needs; None leaves it to the size of the data."""
    name, scheduler = request.engine.name, request.engine.scheduler
    judges_once = _judges_once(request)
    if name is not None:
        check_name(name, ENGINE_NAMES, by="detect", what="engine")
    has_groups = request.groups is not None or request.reading.group_column is not None
    if request.decisions is not None:
        annotators = request.reading.has_annotators
        check_decisions(detectors, judges_once=judges_once, has_annotators=annotators)
    if has_groups:
        check_grouping(detectors, name, judges_once=judges_once)
    check_options(name, request.ask, named=request.reading.has_annotators, judges_once=judges_once)
    if request.pred_probs is not None:
        check_excluded(name, judges_once=judges_once)
        return "memory"
    if scheduler is not None and name != "dask":
        raise InvalidOption("--scheduler is the address of a Dask cluster: give --engine dask with it")
    if name in ENGINES_IN_BLOCKS:
        if not judges_once:
            raise InvalidOption(
                f"--self-test and --method auto judge many times, which --engine {name} does not: leave one out"
            )
        as_block_detector(detectors[0])
        return name
    if name == "memory" or has_groups or not judges_once or not isinstance(detectors[0], BlockDetector):
        return "memory"
    return None
