"""Where rows come from: files, folders, data frames and arrays, all opened by `open_source`."""

from eigenclean.sources.arrays.memory import MemorySource
from eigenclean.sources.base import Fingerprint, Reader, Source, fingerprint
from eigenclean.sources.images.files import ImageFiles
from eigenclean.sources.images.lazy import LazyImages
from eigenclean.sources.images.source import ImageSource
from eigenclean.sources.layouts.bundled import DATASETS
from eigenclean.sources.layouts.registry import LAYOUTS, is_layout
from eigenclean.sources.opening import open_source
from eigenclean.sources.raw import LabelSource, RawSource, TextSource
from eigenclean.sources.record import reopen, source_record
from eigenclean.sources.tabular.frames import as_matrix, as_vector
from eigenclean.sources.write import write_npz, write_shards

__all__ = [
    "DATASETS",
    "LAYOUTS",
    "Fingerprint",
    "ImageFiles",
    "ImageSource",
    "LabelSource",
    "LazyImages",
    "MemorySource",
    "RawSource",
    "Reader",
    "Source",
    "TextSource",
    "as_matrix",
    "as_vector",
    "fingerprint",
    "is_layout",
    "open_source",
    "reopen",
    "source_record",
    "write_npz",
    "write_shards",
]
