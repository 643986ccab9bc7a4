"""Reads lines that are typed or piped in, one at a time."""

import asyncio
import codecs
import os
import threading
from concurrent.futures import CancelledError

#: Bytes to read at a time.
CHUNK_BYTES = 4096
#: Maximum number of characters stored of a line whose end has not been read; later characters are
#: dropped.
MAX_LINE_CHARACTERS = 4096
#: Maximum number of lines that wait for `next`; the thread then stops reading.
MAX_WAITING_LINES = 16


class Lines:
    """The lines of a file descriptor. The first call of `next` starts reading.

    A thread reads them, because asyncio cannot read terminals, pipes and files in one way. The
    thread ends with its input or with the process; a read from a terminal cannot be interrupted.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queue: asyncio.Queue[str | None] = asyncio.Queue(MAX_WAITING_LINES)

    async def next(self) -> str | None:
        """Returns the next line without its line end; None at the end of the input."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            threading.Thread(target=self._read, name="plyroom keyboard", daemon=True).start()
        return await self._queue.get()

    def _read(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        rest = ""
        try:
            while chunk := self._read_chunk():
                *lines, rest = (rest + decoder.decode(chunk)).split("\n")
                for line in lines:
                    self._queue_line(line.removesuffix("\r"))
                rest = rest[:MAX_LINE_CHARACTERS]
            if rest:
                self._queue_line(rest)
            self._queue_line(None)
        except (RuntimeError, CancelledError):
            return  # the event loop has ended

    def _read_chunk(self) -> bytes:
        try:
            return os.read(self._descriptor, CHUNK_BYTES)
        except OSError:
            return b""  # the terminal is gone

    def _queue_line(self, line: str | None) -> None:
        assert self._loop is not None, "`next` sets it before it starts the thread"
        coroutine = self._queue.put(line)
        try:
            queued = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError:
            coroutine.close()
            raise
        queued.result()
