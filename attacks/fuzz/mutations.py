"""Mutations of bytes, whatever the format: cut, flipped, repeated, moved, replaced."""

import random
from collections.abc import Callable

Mutation = Callable[[bytes, random.Random], bytes]
EXTREME = (
    0,
    1,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    (1 << 63) - 1,
    1 << 63,
)


def truncate(content: bytes, rng: random.Random) -> bytes:
    """Cut off the end."""
    return content[: rng.randrange(len(content) + 1)]


def cut_front(content: bytes, rng: random.Random) -> bytes:
    """Cut off the beginning."""
    return content[rng.randrange(len(content) + 1) :]


def flip_bits(content: bytes, rng: random.Random) -> bytes:
    """Flip up to eight bits."""
    changed = bytearray(content)
    for _ in range(rng.randint(1, 8)):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def random_bytes(content: bytes, rng: random.Random) -> bytes:
    """Overwrite a block with random bytes."""
    start, stop = _block(content, rng)
    return content[:start] + rng.randbytes(stop - start) + content[stop:]


def zeros(content: bytes, rng: random.Random) -> bytes:
    """Overwrite a block with zeros, as a file system does after a power failure."""
    start, stop = _block(content, rng)
    return content[:start] + bytes(stop - start) + content[stop:]


def duplicate_block(content: bytes, rng: random.Random) -> bytes:
    """Repeat a block."""
    start, stop = _block(content, rng)
    return content[:stop] + content[start:stop] * rng.randint(1, 5) + content[stop:]


def remove_block(content: bytes, rng: random.Random) -> bytes:
    """Leave a block out."""
    start, stop = _block(content, rng)
    return content[:start] + content[stop:]


def swap_blocks(content: bytes, rng: random.Random) -> bytes:
    """Exchange two blocks."""
    a, b, c, d = sorted(rng.randrange(len(content) + 1) for _ in range(4))
    return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


def insert_bytes(content: bytes, rng: random.Random) -> bytes:
    """Insert a byte order mark, zeros, invalid UTF-8 or noise."""
    at = rng.choice((0, rng.randrange(len(content) + 1), len(content)))
    inserted = rng.choice(
        (b"\xef\xbb\xbf", b"\xff\xfe", b"\0", b"\0" * 64, b"\xed\xa0\x80", b"\xc0\x80", b"\r", b"\x1b[31m")
    )
    return content[:at] + inserted + content[at:]


def extreme_length(content: bytes, rng: random.Random) -> bytes:
    """Overwrite some bytes with an extreme number, which often is a length or an offset."""
    width = rng.choice((1, 2, 4, 8))
    number = rng.choice(EXTREME) & ((1 << 8 * width) - 1)
    value = number.to_bytes(width, rng.choice(("little", "big")))
    at = rng.randrange(len(content) + 1) if rng.random() < 0.5 else rng.randrange(min(len(content), 64) + 1)
    return content[:at] + value + content[at + width :]


def empty(content: bytes, rng: random.Random) -> bytes:
    """Nothing at all."""
    return b""


def another_format(content: bytes, rng: random.Random) -> bytes:
    """The beginning of a file of another kind."""
    magic = rng.choice(
        (b"PAR1", b"ARROW1\0\0", b"\x93NUMPY\x01\0", b"PK\x03\x04", b"\x89PNG\r\n\x1a\n", b"\x1f\x8b")
    )
    return magic + (content if rng.random() < 0.5 else rng.randbytes(64))


def utf16(content: bytes, rng: random.Random) -> bytes:
    """The text in UTF-16, as some spreadsheets write it."""
    return content.decode("utf-8", "replace").encode(rng.choice(("utf-16", "utf-16-be", "utf-32")))


BYTES: tuple[Mutation, ...] = (
    truncate,
    cut_front,
    flip_bits,
    flip_bits,
    random_bytes,
    zeros,
    duplicate_block,
    remove_block,
    swap_blocks,
    insert_bytes,
    extreme_length,
    extreme_length,
    empty,
    another_format,
    utf16,
)


def _block(content: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(content) + 1)
    return start, min(len(content), start + rng.choice((1, 4, 16, 64, 256)))
