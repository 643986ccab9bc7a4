"""A document that is compressed as it is made, so that a client can read each part at once."""

import zlib
from dataclasses import dataclass, field
from struct import pack
from typing import Any

#: The level of compression: fast.
LEVEL = 1


@dataclass(slots=True)
class GzipLines:
    """Compresses lines; `take` returns bytes that a client can decompress at once."""

    crc: int = 0
    length: int = 0
    _deflate: Any = field(
        default_factory=lambda: zlib.compressobj(LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    )
    _parts: list[bytes] = field(default_factory=list)

    def add(self, line: bytes) -> None:
        """Adds a line, which includes its line break."""
        self.crc = zlib.crc32(line, self.crc)
        self.length += len(line)
        self._parts.append(self._deflate.compress(line))

    def take(self, *, is_last: bool = False) -> bytes:
        """Returns the bytes since the last call; with `is_last` they end the document."""
        mode = zlib.Z_FINISH if is_last else zlib.Z_SYNC_FLUSH
        self._parts.append(self._deflate.flush(mode))
        taken, self._parts = b"".join(self._parts), []
        return taken


def make_ending(line: bytes, crc: int, length: int) -> bytes:
    """Returns the bytes that end a compressed document after some of its parts, with one more line.

    `crc` and `length` are the checksum and the length of the lines in those parts.
    """
    deflate = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(line) + deflate.flush()
    return body + pack("<LL", zlib.crc32(line, crc), (length + len(line)) & 0xFFFFFFFF)
