"""Documents of the study processes: shared by equal requests, and cached.

A document grows while its process makes it, and each request reads it from its start. Its job is
cancelled when the last reader leaves. Only complete documents stay in the cache.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec

from engine.study_pool.errors import StudyUnavailable
from engine.study_pool.gzip_lines import make_ending
from engine.study_pool.messages import Ended, Part, Refused

#: Capacity of the cache, in bytes of compressed documents.
CACHE_BYTES = 64 * 2**20
#: Approximate memory of a cached document in addition to its content, in bytes.
DOCUMENT_BYTES = 512
#: Time between two checks whether a waiting client is still connected, in seconds.
CHECK_S = 0.5

#: Makes a document: calls the given function with each part, and returns the last reply.
Maker = Callable[[Callable[[Part], None]], Awaitable[Ended | Refused]]
#: Returns the last line of a document that an error ends.
LastLine = Callable[[Exception], bytes]


class RefusedDocument(Exception):
    """A study process refuses to make a document."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message)
        self.refused = refused


class Document:
    """A document that a study process makes; its parts are compressed (gzip)."""

    def __init__(self, last_line: LastLine) -> None:
        self.parts: list[bytes] = []
        #: The error of a document without any part.
        self.error: Exception | None = None
        self.is_done = False
        #: Whether the document is complete, so that equal requests may get it from the cache.
        self.is_complete = False
        self.reader_count = 0
        self.task: asyncio.Task[None] | None = None
        self._last_line = last_line
        self._last: Part | None = None
        self._grown = asyncio.Event()

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.parts)) + DOCUMENT_BYTES

    async def make(self, maker: Maker) -> None:
        """Makes the document; ends it with the error if that fails."""
        try:
            reply = await maker(self._add)
            if isinstance(reply, Refused):
                self._fail(RefusedDocument(reply))
            else:
                self.is_complete = reply.is_complete
        except asyncio.CancelledError:
            self._fail(StudyUnavailable("the server is stopping"))
            raise
        except Exception as error:
            self._fail(error)
        finally:
            self.is_done = True
            self._announce()

    def _add(self, part: Part) -> None:
        self._last = part
        self.parts.append(part.body)
        self._announce()

    def _fail(self, error: Exception) -> None:
        """Ends the document with the error, as its last line if there are others."""
        if self._last is None:
            self.error = error
        else:
            line = self._last_line(error)
            self.parts.append(make_ending(line, self._last.crc, self._last.length))

    def _announce(self) -> None:
        self._grown.set()
        self._grown = asyncio.Event()

    async def read(self, has_left: Callable[[], bool]) -> AsyncIterator[bytes]:
        """Yields the parts; raises the error of a document without any.

        Raises ConnectionError when `has_left` returns True: the client has left.
        """
        index = 0
        while True:
            while index < len(self.parts):
                yield self.parts[index]
                index += 1
            if self.is_done and index == len(self.parts):
                break
            if has_left():
                raise ConnectionError("the client has left")
            grown = self._grown
            try:
                async with asyncio.timeout(CHECK_S):
                    await grown.wait()
            except TimeoutError:
                pass
        if self.error is not None:
            raise self.error


class Documents:
    """The documents in progress, and a cache of complete ones.

    The cache drops the least recently used document first.
    """

    def __init__(self, capacity_bytes: int = CACHE_BYTES) -> None:
        self._capacity_bytes = capacity_bytes
        self._documents: OrderedDict[str, Document] = OrderedDict()
        self.cached_bytes = 0

    def __len__(self) -> int:
        return len(self._documents)

    def __contains__(self, key: str) -> bool:
        return key in self._documents

    def open(self, key: str, maker: Maker, last_line: LastLine) -> Document:
        """Returns the document with this key for one more reader; starts to make a new one.

        Each reader must `close` it.
        """
        document = self._documents.get(key)
        if document is None:
            document = self._documents[key] = Document(last_line)
            document.task = asyncio.create_task(self._make(key, document, maker), name="document")
        self._documents.move_to_end(key)
        document.reader_count += 1
        return document

    def close(self, key: str, document: Document) -> None:
        """Removes a reader; cancels the job of an unfinished document without readers."""
        document.reader_count -= 1
        if not document.reader_count and not document.is_done:
            self._drop(key, document)
            assert document.task is not None, "it was started"
            document.task.cancel()

    async def _make(self, key: str, document: Document, maker: Maker) -> None:
        await document.make(maker)
        if self._documents.get(key) is not document:
            return
        if not document.is_complete:
            self._drop(key, document)
            return
        self.cached_bytes += document.size_bytes
        self._shrink()

    def _shrink(self) -> None:
        while self.cached_bytes > self._capacity_bytes:
            key, oldest = next(
                (key, document) for key, document in self._documents.items() if document.is_done
            )
            self.cached_bytes -= oldest.size_bytes
            self._drop(key, oldest)

    def _drop(self, key: str, document: Document) -> None:
        if self._documents.get(key) is document:
            del self._documents[key]

    async def stop(self) -> None:
        """Cancels the jobs of all unfinished documents."""
        tasks = [document.task for document in self._documents.values() if document.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def error_line(code: str, message: str) -> bytes:
    """Returns the last line of a trace that an error ends."""
    return msgspec.json.encode({"error": {"code": code, "message": message}}) + b"\n"
