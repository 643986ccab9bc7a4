"""A TCP proxy for tests with precise faults: a cut after n bytes, a reset, silence.

async with fault_proxy(server.port) as proxy:
    proxy.cut_after(Toward.SERVER, 17)   # 17 more bytes reach the server, then both ends close
"""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import Enum

#: The maximum number of bytes to read at a time.
CHUNK = 65536


class Toward(Enum):
    """A direction of flow."""

    SERVER = "server"
    CLIENT = "client"


class FaultProxy:
    """The proxy that `fault_proxy` opens.

    A fault hits the connections that are open when the test calls it; later connections work.
    """

    def __init__(self, upstream_port: int) -> None:
        self.port = 0
        #: True drops new connections at once.
        self.refusing = False
        #: The number of connections accepted so far.
        self.accepted = 0
        #: The number of bytes forwarded so far, by direction.
        self.forwarded = dict.fromkeys(Toward, 0)
        self._upstream_port = upstream_port
        self._links: set[_Link] = set()
        self._cut: tuple[Toward, int, asyncio.Event] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cut_after(self, toward: Toward, count: int) -> asyncio.Event:
        """Forwards exactly `count` more bytes in one direction, then closes all connections.

        The returned event is set afterwards. The receiver gets exactly these bytes and then an
        orderly end of the connection.
        """
        done = asyncio.Event()
        self._cut = (toward, count, done)
        if count == 0:
            self._cut_now(done)
        return done

    def freeze(self, *directions: Toward) -> None:
        """Stops the bytes, as if a cable had been pulled, while the connections stay open.

        Without a direction it stops both.
        """
        for link in self._links:
            for toward in directions or Toward:
                link.flowing[toward].clear()

    def thaw(self) -> None:
        """Resumes the flow, starting with the bytes held back."""
        for link in self._links:
            link.thaw()

    def close_all(self) -> None:
        """Closes every connection in an orderly way, in both directions."""
        for link in tuple(self._links):
            link.close()

    def reset_all(self) -> None:
        """Resets (RST) every connection, in both directions."""
        for link in tuple(self._links):
            link.reset()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        if self.refusing:
            writer.transport.abort()
            return
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._upstream_port)
        except OSError:
            writer.transport.abort()
            return
        link = _Link(writer, up_writer)
        self._links.add(link)
        try:
            async with asyncio.TaskGroup() as pumps:
                pumps.create_task(self._pump(link, Toward.SERVER, reader, up_writer))
                pumps.create_task(self._pump(link, Toward.CLIENT, up_reader, writer))
        finally:
            self._links.discard(link)

    async def _pump(
        self,
        link: "_Link",
        toward: Toward,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Forwards one direction until either side ends, which ends the link."""
        try:
            while data := await reader.read(CHUNK):
                await link.flowing[toward].wait()
                if link.closed:
                    return
                self._forward(toward, data, writer)
                await writer.drain()
        except OSError:
            pass  # a side that disappears only ends the link
        finally:
            link.close()

    def _forward(self, toward: Toward, data: bytes, writer: asyncio.StreamWriter) -> None:
        if self._cut is None or self._cut[0] is not toward:
            self.forwarded[toward] += len(data)
            writer.write(data)
            return
        _, left, done = self._cut
        self.forwarded[toward] += min(left, len(data))
        writer.write(data[:left])
        if len(data) >= left:
            self._cut_now(done)
        else:
            self._cut = (toward, left - len(data), done)

    def _cut_now(self, done: asyncio.Event) -> None:
        self._cut = None
        self.close_all()
        done.set()


class _Link:
    """A client's connection and the connection to the server that continues it."""

    def __init__(self, down: asyncio.StreamWriter, up: asyncio.StreamWriter) -> None:
        self.flowing = {toward: asyncio.Event() for toward in Toward}
        self.thaw()
        self.closed = False
        self._sides = (down, up)

    def thaw(self) -> None:
        for gate in self.flowing.values():
            gate.set()

    def close(self) -> None:
        self.closed = True
        self.thaw()
        for side in self._sides:
            side.close()

    def reset(self) -> None:
        self.closed = True
        self.thaw()
        for side in self._sides:
            raw = side.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            side.transport.abort()


@asynccontextmanager
async def fault_proxy(upstream_port: int) -> AsyncIterator[FaultProxy]:
    """Opens a proxy before a server's port, on a free port of 127.0.0.1 and without faults."""
    proxy = FaultProxy(upstream_port)
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(proxy._serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        proxy.close_all()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
