"""Documents are shared while they grow, cached when they are whole, and end with their readers."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Callable

import pytest

from engine.study_pool.errors import StudyFailed, StudyUnavailable
from engine.study_pool.gzip_lines import GzipLines, make_ending
from engine.study_pool.messages import Ended, Part, Refused
from server.web.documents import Document, Documents, RefusedDocument
from tests.support.fake_server import virtual

LINES = [b"one\n", b"two\n", b"three\n"]


class Source:
    """Makes documents line by line, when the test says so."""

    def __init__(self) -> None:
        self.runs = 0
        self.cancelled = 0
        self.lines: asyncio.Queue[bytes | Ended | Refused | Exception] = asyncio.Queue()

    async def make(self, on_part: Callable[[Part], None]) -> Ended | Refused:
        self.runs += 1
        gzipped = GzipLines()
        try:
            while isinstance(line := await self.lines.get(), bytes):
                gzipped.add(line)
                on_part(Part(1, gzipped.take(), gzipped.crc, gzipped.length))
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if isinstance(line, Exception):
            raise line
        if isinstance(line, Ended):
            on_part(Part(1, gzipped.take(is_last=True), gzipped.crc, gzipped.length))
        return line

    def say(self, *lines: bytes | Ended | Refused | Exception) -> None:
        """Adds lines, or the end."""
        for line in lines:
            self.lines.put_nowait(line)


def last_line(error: Exception) -> bytes:
    return f"error: {error}\n".encode()


def opened(documents: Documents, source: Source, key: str = "key") -> Document:
    """Returns the document for one more reader."""
    return documents.open(key, source.make, last_line)


async def plain(parts: AsyncIterator[bytes]) -> bytes:
    """Returns what a client decompresses; it must be a whole gzip file."""
    return gzip.decompress(b"".join([part async for part in parts]))


def present() -> bool:
    """Says that the client has not left."""
    return False


@virtual
async def test_a_document_is_made_once() -> None:
    """Readers that come before, during and after its growth all get the whole document."""
    documents, source = Documents(), Source()
    document = opened(documents, source)
    first = asyncio.create_task(plain(document.read(present)))
    source.say(LINES[0])
    await asyncio.sleep(1)
    assert opened(documents, source) is document
    second = asyncio.create_task(plain(document.read(present)))
    source.say(LINES[1], LINES[2], Ended(1, True))
    assert await first == await second == b"".join(LINES)
    documents.close("key", document)
    documents.close("key", document)
    third = opened(documents, source)
    assert await plain(third.read(present)) == b"".join(LINES)
    assert source.runs == 1


@virtual
async def test_a_reader_gets_each_part_at_once() -> None:
    """A part is sent when it is there, not when the document ends."""
    documents, source = Documents(), Source()
    parts = opened(documents, source).read(present)
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    for line in LINES:
        source.say(line)
        assert inflate.decompress(await anext(parts)) == line


@virtual
async def test_a_document_ends_with_its_last_reader() -> None:
    """A job without readers is cancelled, and the next request makes the document anew."""
    documents, source = Documents(), Source()
    document = opened(documents, source)
    assert opened(documents, source) is document
    source.say(LINES[0])
    await asyncio.sleep(1)
    documents.close("key", document)
    await asyncio.sleep(1)
    assert source.cancelled == 0
    documents.close("key", document)
    await asyncio.sleep(1)
    assert (source.cancelled, len(documents)) == (1, 0)
    again = opened(documents, source)
    source.say(LINES[1], Ended(1, True))
    assert await plain(again.read(present)) == LINES[1]


@virtual
async def test_a_client_that_leaves() -> None:
    """A reader whose client has left stops, also while there is no part yet."""
    documents, source = Documents(), Source()
    document = opened(documents, source)
    with pytest.raises(ConnectionError):
        await plain(document.read(lambda: True))


@virtual
async def test_errors_before_and_after_the_first_part() -> None:
    """An error without a part is raised; after one it is the last line of a whole gzip file."""
    for error, kind in (
        (Refused(1, "text", "no tree"), RefusedDocument),
        (StudyFailed("killed"), StudyFailed),
    ):
        documents, source = Documents(), Source()
        document = opened(documents, source)
        source.say(error)
        with pytest.raises(kind):
            await plain(document.read(present))
        documents.close("key", document)
        assert len(documents) == 0, "an error is not cached"
        document = opened(documents, source)
        source.say(LINES[0], LINES[1], error)
        content = await plain(document.read(present))
        assert content.startswith(LINES[0] + LINES[1] + b"error: ")
        assert len(documents) == 0


@virtual
async def test_a_document_that_time_ended_is_not_cached() -> None:
    """Its readers get it, and the next request makes another."""
    documents, source = Documents(), Source()
    for _ in range(2):
        document = opened(documents, source)
        source.say(LINES[0], Ended(1, False))
        assert await plain(document.read(present)) == LINES[0]
        documents.close("key", document)
    assert (source.runs, len(documents), documents.cached_bytes) == (2, 0, 0)


@virtual
async def test_the_cache_is_bounded_in_bytes() -> None:
    """The least recently used documents go first; the bytes are those of what is there."""
    documents = Documents(capacity_bytes=5000)
    for number in range(40):
        source = Source()
        document = opened(documents, source, str(number))
        source.say(b"x\n" * number, Ended(1, True))
        await plain(document.read(present))
        documents.close(str(number), document)
        opened(documents, source, "0") if "0" in documents else None
        kept = list(documents._documents.values())
        assert documents.cached_bytes == sum(one.size_bytes for one in kept) <= 5000
    assert "0" in documents, "it was used each time"
    assert "1" not in documents


@virtual
async def test_a_server_that_stops() -> None:
    """Readers get a sentence instead of the rest."""
    documents, source = Documents(), Source()
    waiting, growing = opened(documents, source), opened(documents, Source(), "other")
    task = asyncio.create_task(plain(waiting.read(present)))
    await asyncio.sleep(1)
    await documents.stop()
    with pytest.raises(StudyUnavailable):
        await task
    assert growing.is_done


def test_an_ending_completes_any_beginning() -> None:
    """After any number of lines the ending makes a whole gzip file, with its checksum."""
    for count in range(4):
        gzipped = GzipLines()
        for line in LINES[:count]:
            gzipped.add(line)
        body = gzipped.take()
        whole = body + make_ending(b"end\n", gzipped.crc, gzipped.length)
        assert gzip.decompress(whole) == b"".join(LINES[:count]) + b"end\n"
