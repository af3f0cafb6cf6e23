"""Files that are compressed or not UTF-8: edited as a plain copy, and written back as they were.

The copies are temporary files without a name, in the folder of the result: nothing is left of them when the process
is killed, and files of any size can be edited.
"""

import codecs
import gzip
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from eigenclean.errors import InvalidData
from eigenclean.sources.relabel.update import LabelUpdate
from eigenclean.sources.tabular.dialect import GZIP, Dialect

_COPY_BYTES = 1 << 20
_LEVELS = {2: 9, 4: 1}  # what gzip's header says about the level: best, fastest, and 6 where it says nothing


def check_labels_fit(update: LabelUpdate, dialect: Dialect, path: Path) -> None:
    """Refuse labels that the encoding of the file does not have."""
    for _, _, _, after in update:
        try:
            str(after).encode(dialect.encoding)
        except UnicodeEncodeError:
            raise InvalidData(
                f"{path} is read as {dialect.encoding.title()}, which cannot hold the label {after!r}; save the "
                "file as UTF-8, or write the labels to a file of their own with --out labels.npy"
            ) from None


@contextmanager
def plain_copy(file: IO[bytes], dialect: Dialect, folder: Path) -> Iterator[IO[bytes]]:
    """The content of the file, decompressed and as UTF-8."""
    with tempfile.TemporaryFile(dir=folder) as copy:
        opened: Any = gzip.GzipFile(fileobj=file) if dialect.is_compressed else file
        if dialect.encoding == "utf-8":
            shutil.copyfileobj(opened, copy, _COPY_BYTES)
        else:
            _recode(opened, copy, dialect.encoding, "utf-8")
        copy.seek(0)
        yield copy


def write_back(copy: IO[bytes], target: IO[bytes], dialect: Dialect, original: IO[bytes]) -> None:
    """Write the edited copy with the encoding and the compression of the original file."""
    original.seek(0)
    encoded: IO[bytes] = copy
    with tempfile.TemporaryFile(dir=Path(str(target.name)).parent) as recoded:
        if dialect.encoding != "utf-8":
            start = (gzip.GzipFile(fileobj=original) if dialect.is_compressed else original).read(2)
            encoding = dialect.encoding
            if encoding == "utf-16":  # with the same mark, and the bytes in the same order
                encoding = "utf-16-le" if start == codecs.BOM_UTF16_LE else "utf-16-be"
                recoded.write(start)
            _recode(copy, recoded, "utf-8", encoding)
            recoded.seek(0)
            encoded = recoded
        if dialect.is_compressed:
            original.seek(0)
            compress_like(original, encoded, target)
        else:
            shutil.copyfileobj(encoded, target, _COPY_BYTES)


def compress_like(original: IO[bytes], content: IO[bytes], target: IO[bytes]) -> None:
    """Compress the content as a gzip file with the header of the original: its name, time and level."""
    header = _gzip_header(original)
    deflate = zlib.compressobj(_LEVELS.get(header[8], 6), zlib.DEFLATED, -zlib.MAX_WBITS)
    checksum = size = 0
    target.write(header)
    while chunk := content.read(_COPY_BYTES):
        checksum, size = zlib.crc32(chunk, checksum), size + len(chunk)
        target.write(deflate.compress(chunk))
    target.write(deflate.flush() + checksum.to_bytes(4, "little") + (size & 0xFFFFFFFF).to_bytes(4, "little"))


def _gzip_header(file: IO[bytes]) -> bytes:
    """The header of a gzip file up to the compressed bytes (RFC 1952)."""
    header = file.read(10)
    if len(header) < 10 or not header.startswith(GZIP):
        raise InvalidData("a gzip file must begin with its header; the file was changed meanwhile, try again")
    flags = header[3]
    if flags & 4:  # extra fields
        size = file.read(2)
        header += size + file.read(int.from_bytes(size, "little"))
    for flag in (8, 16):  # name, comment
        while flags & flag and (byte := file.read(1)):
            header += byte
            if byte == b"\0":
                break
    return header + (file.read(2) if flags & 2 else b"")


def _recode(source: IO[bytes], target: IO[bytes], old: str, new: str) -> None:
    decoder = codecs.getincrementaldecoder(old)()
    encoder = codecs.getincrementalencoder(new)()
    while chunk := source.read(_COPY_BYTES):
        target.write(encoder.encode(decoder.decode(chunk)))
    target.write(encoder.encode(decoder.decode(b"", final=True), final=True))
