"""A proxy in front of an MQTT broker that duplicates and reorders the broker's messages.

The faults are random, from a seed. The copy of a message is sent as QoS 0, which has no packet id
to acknowledge. Messages are reordered within a window of `WINDOW`, and held for `HOLD_S` at most.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress

#: The packet type of PUBLISH (MQTT 5, section 2.1.2).
PUBLISH = 3
#: The maximum number of packets that the proxy holds back and reorders.
WINDOW = 10
#: The maximum time for which the proxy holds a packet back, in seconds.
HOLD_S = 0.02


class MqttProxy:
    """The proxy that `mqtt_proxy` opens."""

    def __init__(
        self, upstream_port: int, seed: int, double_rate: float, reorder_rate: float
    ) -> None:
        self.port = 0
        #: The number of messages that were sent twice so far.
        self.doubled = 0
        #: The number of messages that were put before earlier ones so far. The shuffle of a held
        #: window reorders further messages, which are not counted.
        self.reordered = 0
        self._upstream_port = upstream_port
        self._rng = random.Random(seed)
        self._double_rate = double_rate
        self._reorder_rate = reorder_rate

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one client."""
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._upstream_port)
        async with asyncio.TaskGroup() as pumps:
            pumps.create_task(_copy(reader, up_writer, writer))
            pumps.create_task(self._disturb(up_reader, writer, up_writer))

    async def _disturb(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        up_writer: asyncio.StreamWriter,
    ) -> None:
        """Forwards the broker's packets to a client, with faults."""
        held: list[bytes] = []
        waiting: asyncio.Task[bytes] | None = None
        with suppress(OSError, asyncio.IncompleteReadError), closing(writer), closing(up_writer):
            while True:
                waiting = waiting or asyncio.ensure_future(_packet(reader))
                await asyncio.wait([waiting], timeout=HOLD_S if held else None)
                if waiting.done():
                    packet, waiting = waiting.result(), None
                    if packet[0] >> 4 == PUBLISH:
                        self._hold(packet, held)
                    else:
                        writer.write(packet)
                    if len(held) < WINDOW:
                        continue
                self._rng.shuffle(held)
                writer.write(b"".join(held))
                held.clear()

    def _hold(self, packet: bytes, held: list[bytes]) -> None:
        if self._rng.random() < self._double_rate:
            self.doubled += 1
            held.append(without_id(packet))
        if self._rng.random() < self._reorder_rate:
            self.reordered += 1
            held.insert(self._rng.randrange(len(held) + 1), packet)
        else:
            held.append(packet)


async def _copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, back: asyncio.StreamWriter
) -> None:
    with suppress(OSError), closing(writer), closing(back):
        while data := await reader.read(65536):
            writer.write(data)


async def _packet(reader: asyncio.StreamReader) -> bytes:
    """Reads one whole packet (MQTT 5, section 2.1)."""
    head = await reader.readexactly(1)
    length, shift = 0, 0
    while True:
        byte = await reader.readexactly(1)
        head += byte
        length |= (byte[0] & 127) << shift
        shift += 7
        if not byte[0] & 128:
            return head + await reader.readexactly(length)


def without_id(packet: bytes) -> bytes:
    """Returns a PUBLISH packet converted to QoS 0."""
    start = 2
    while packet[start - 1] & 128:
        start += 1
    body = packet[start:]
    if packet[0] & 0b0110:
        end = 2 + int.from_bytes(body[:2], "big")
        body = body[:end] + body[end + 2 :]
    length, count = b"", len(body)
    while True:
        length += bytes([count % 128 | (128 if count > 127 else 0)])
        count //= 128
        if not count:
            return bytes([PUBLISH << 4 | packet[0] & 1]) + length + body


@asynccontextmanager
async def mqtt_proxy(
    upstream_port: int, seed: int, double_rate: float = 0.2, reorder_rate: float = 0.5
) -> AsyncIterator[MqttProxy]:
    """Opens a proxy on a free port of 127.0.0.1; the rates are shares of the broker's messages."""
    proxy = MqttProxy(upstream_port, seed, double_rate, reorder_rate)
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(proxy.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
