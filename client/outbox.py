"""The frames of a connection that wait for its current socket."""

import asyncio
from collections.abc import Iterable

from client.errors import PlyroomError
from client.transport import Socket


class Outbox:
    """The frames for the current socket.

    It queues frames between `open` and `close`, and drops them at other times: the next `open`
    begins with the joins and the unanswered commands. After `fail` it stays closed.
    """

    def __init__(self) -> None:
        self._frames: asyncio.Queue[str] | None = None
        self._failure: PlyroomError | None = None

    @property
    def is_open(self) -> bool:
        return self._frames is not None

    def open(self, frames: Iterable[str]) -> None:
        """Starts the queue of a new socket with these frames."""
        # The queue needs no limit: rooms and commands in flight are limited.
        self._frames = asyncio.Queue()
        for frame in frames:
            self._frames.put_nowait(frame)

    def close(self) -> None:
        self._frames = None

    def fail(self, failure: PlyroomError) -> None:
        """Closes the outbox for good; from then on `raise_failure` raises this error."""
        self._failure = failure
        self.close()

    def raise_failure(self) -> None:
        """Raises the error that was passed to `fail`, if there is one."""
        if self._failure is not None:
            raise self._failure

    def post(self, frame: str) -> None:
        """Queues a frame for the current socket; drops it if there is none."""
        if self._frames is not None:
            self._frames.put_nowait(frame)

    async def write(self, socket: Socket) -> None:
        """Sends the frames to the socket until it is closed, which raises SocketClosed."""
        frames = self._frames
        assert frames is not None, "opened for this socket"
        while True:
            await socket.send(await frames.get())
