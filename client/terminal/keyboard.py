"""Reads lines that are typed or piped in, one at a time."""

import asyncio
import codecs
import os
import threading
from concurrent.futures import CancelledError

#: Bytes to read at a time.
CHUNK_BYTES = 4096
#: The length at which a line without an end is cut.
LINE_CHARACTERS = 4096
#: Lines that may wait to be taken.
LINES_AHEAD = 16


class Lines:
    """The lines of a file descriptor. Reading starts with the first call of `next`.

    A thread reads them, because no other way works for terminals, pipes and files alike. The thread
    ends with its input or with the process; nothing can interrupt a read from a terminal.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queue: asyncio.Queue[str | None] = asyncio.Queue(LINES_AHEAD)

    async def next(self) -> str | None:
        """The next line without its end; None when there are no more."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            threading.Thread(target=self._read, name="plyroom keyboard", daemon=True).start()
        return await self._queue.get()

    def _read(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        rest = ""
        try:
            while chunk := self._chunk():
                *lines, rest = (rest + decoder.decode(chunk)).split("\n")
                for line in lines:
                    self._hand_over(line.removesuffix("\r"))
                rest = rest[:LINE_CHARACTERS]
            if rest:
                self._hand_over(rest)
            self._hand_over(None)
        except (RuntimeError, CancelledError):
            return  # the event loop has ended, so nothing reads the lines any more

    def _chunk(self) -> bytes:
        try:
            return os.read(self._descriptor, CHUNK_BYTES)
        except OSError:
            return b""  # the terminal is gone

    def _hand_over(self, line: str | None) -> None:
        assert self._loop is not None, "started by next"
        coroutine = self._queue.put(line)
        try:
            waiting = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError:
            coroutine.close()
            raise
        waiting.result()
