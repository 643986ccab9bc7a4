"""The MQTT 5 client of one connection to the broker: aiomqtt with this project's limits."""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import aiomqtt
from paho.mqtt.client import Client as PahoClient
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from server.bus.broker import MAX_BYTES, Broker

if TYPE_CHECKING:
    from paho.mqtt.client import SocketLike

#: Maximum number of messages in flight.
MAX_IN_FLIGHT = 64
#: MQTT keep-alive interval, in seconds.
KEEPALIVE_S = 15
#: Time limit for a connection attempt and its CONNACK, in seconds.
CONNECT_TIMEOUT_S = 5.0

_silent_log = logging.getLogger("plyroom.mqtt")
_silent_log.setLevel(logging.CRITICAL + 1)  # the link logs the failures itself


class _Client(aiomqtt.Client):
    """An MQTT client that never registers a closed socket with the event loop.

    aiomqtt registers it in the loop's next turn. If paho has closed the socket by then, its file
    descriptor is bad, or belongs to another connection. A socket that the broker has reset is still
    open when uvloop has closed its handle already.
    """

    def _on_socket_register_write(
        self, client: PahoClient, userdata: object, sock: "SocketLike"
    ) -> None:
        def end_with(error: Exception) -> None:
            if not self._disconnected.done():
                self._disconnected.set_exception(error)

        def write() -> None:
            try:
                client.loop_write()
            except Exception as error:
                end_with(error)

        def register() -> None:
            if sock is client.socket() and sock.fileno() >= 0:
                try:
                    self._loop.add_writer(sock.fileno(), write)
                except RuntimeError:
                    end_with(aiomqtt.MqttError("the broker has reset the connection"))

        try:
            asyncio.get_running_loop()
        except RuntimeError:  # paho connects in a thread
            self._loop.call_soon_threadsafe(register)
        else:
            register()


def new_client(
    broker: Broker, name: str, status_topic: str, receive: Callable[[aiomqtt.Message], None]
) -> aiomqtt.Client:
    """A client that is not yet connected; its will empties the retained status.

    It calls `receive` for each message.
    """
    properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    properties.MaximumPacketSize = MAX_BYTES + 4096
    client = _Client(
        broker.host, broker.port, username=broker.user, password=broker.password,
        identifier=name, protocol=aiomqtt.ProtocolVersion.V5, clean_start=True,
        keepalive=KEEPALIVE_S, timeout=CONNECT_TIMEOUT_S,
        will=aiomqtt.Will(broker.prefixed(status_topic), b"", qos=1, retain=True),
        properties=properties,
        tls_context=ssl.create_default_context(cafile=broker.ca) if broker.tls else None,
        queue_type=_inbox(receive), max_inflight_messages=MAX_IN_FLIGHT, logger=_silent_log,
        # Without TCP_NODELAY a round trip waits 40 ms twice.
        socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
    )  # fmt: skip
    client.pending_calls_threshold = 2 * MAX_IN_FLIGHT + 10
    return client


@asynccontextmanager
async def connected(client: aiomqtt.Client) -> AsyncIterator[None]:
    """Connects a client, and closes its socket at the end without a DISCONNECT."""
    connecting = asyncio.create_task(client.__aenter__(), name="broker connect")
    try:
        try:
            await asyncio.shield(connecting)
        except asyncio.CancelledError:
            # A thread connects; it cannot be interrupted.
            with suppress(aiomqtt.MqttError, OSError, ValueError):
                await connecting
            raise
        yield
    finally:
        # aiomqtt leaves the socket open when no CONNACK comes, and its disconnect waits for a
        # broker that does not read.
        client._client._sock_close()


async def until_disconnected(client: aiomqtt.Client) -> None:
    """Waits for the end of the connection, then raises MqttError."""
    # The queue of `_inbox` is always empty, so the iteration ends only with the connection.
    async for _ in client.messages:
        raise AssertionError("the inbox holds nothing")
    raise aiomqtt.MqttError("the broker ended the connection")


def _inbox(receive: Callable[[aiomqtt.Message], None]) -> type[asyncio.Queue[aiomqtt.Message]]:
    """A queue class that calls `receive` at once instead of storing messages.

    It saves a task for each message.
    """

    class Inbox(asyncio.Queue[aiomqtt.Message]):
        def put_nowait(self, item: aiomqtt.Message) -> None:
            receive(item)

    return Inbox
