"""A connection to an MQTT 5 broker that reconnects by itself.

Publishing never waits and never fails: messages wait in a bounded outbox. Sessions are clean: after
an interruption the link subscribes again and reports that messages may have been missed. The link
also sends echoes to itself: it is up while they return within a second. It does not interpret the
messages.
"""

import asyncio
import itertools
import logging
import math
import random
import secrets
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import structlog

try:
    import aiomqtt
    from paho.mqtt.client import Client as PahoClient
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties
    from paho.mqtt.reasoncodes import ReasonCode
    from paho.mqtt.subscribeoptions import SubscribeOptions
except ImportError as error:
    raise ImportError("a bus needs the extra mqtt: pip install 'plyroom[mqtt]'") from error

if TYPE_CHECKING:
    from paho.mqtt.client import SocketLike  # paho has it for type checkers only

from server.bus.broker import Broker
from server.bus.outbox import Outbox, QueuedMessage

log = structlog.get_logger()

#: The start of all topics, after the broker's prefix; the number is the version of the message
#: format.
ROOT = "plyroom/1"
#: Maximum length of a message in either direction, in bytes.
MAX_BYTES = 262_144
#: Outbox capacity, in messages.
OUTBOX_CAPACITY = 4096
#: Maximum number of messages in flight.
MAX_IN_FLIGHT = 64
#: Maximum number of subscriptions in one packet.
SUBSCRIBE_BATCH = 100
#: Time between two echoes, in seconds.
ECHO_PERIOD_S = 0.5
#: Maximum number of echoes whose send time is remembered.
MAX_PENDING_ECHOES = 20
#: Time without an echo after which the link is down, in seconds.
ECHO_TIMEOUT_S = 1.0
#: MQTT keep-alive interval, in seconds.
KEEPALIVE_S = 15
#: Time limit for a connection attempt and its CONNACK, in seconds.
CONNECT_TIMEOUT_S = 5.0
#: Shortest backoff between connection attempts, in seconds.
MIN_RETRY_S = 0.1
#: Longest backoff between connection attempts, in seconds.
MAX_RETRY_S = 4.0

_quiet = logging.getLogger("plyroom.mqtt")
_quiet.setLevel(logging.CRITICAL + 1)  # the link logs the failures itself

Receive = Callable[[str, bytes], None]
#: Called with the topic filters (None: all) whose messages may have been missed.
GapHandler = Callable[[frozenset[str] | None], None]


@dataclass(slots=True)
class Counts:
    """Counters since the link was created."""

    sent: int = 0
    received: int = 0
    #: Invalid messages received. Receivers that decode messages count theirs here too.
    refused: int = 0
    #: Connections made.
    connected: int = 0


class _Client(aiomqtt.Client):
    """An MQTT client that never registers a closed socket with the event loop.

    aiomqtt registers it in the loop's next turn. If paho has closed the socket by then, its file
    descriptor is bad, or belongs to another connection.
    """

    def _on_socket_register_write(
        self, client: PahoClient, userdata: object, sock: "SocketLike"
    ) -> None:
        def write() -> None:
            try:
                client.loop_write()
            except Exception as error:
                if not self._disconnected.done():
                    self._disconnected.set_exception(error)

        def register() -> None:
            if sock is client.socket() and sock.fileno() >= 0:
                self._loop.add_writer(sock.fileno(), write)

        try:
            asyncio.get_running_loop()
        except RuntimeError:  # paho connects in a thread
            self._loop.call_soon_threadsafe(register)
        else:
            register()


@dataclass(frozen=True, slots=True)
class _Subscription:
    receivers: list[Receive]
    options: SubscribeOptions


class Link:
    """A connection that reconnects by itself; use `async with open_link(…)`.

    All methods run in the event loop.
    """

    def __init__(self, broker: Broker, name: str, status_topic: str) -> None:
        """`status_topic` holds the retained status; the link's will empties it."""
        self.broker = broker
        self.name = name
        self.counts = Counts()
        self.outbox = Outbox(OUTBOX_CAPACITY)
        #: Round-trip time of the last echo, in seconds.
        self.round_trip_s = 0.0
        self._status_topic = status_topic
        self._status = b""
        self._status_changed = asyncio.Event()
        self._subscriptions: dict[str, _Subscription] = {}
        self._subscriptions_changed = asyncio.Event()
        self._gap_handlers: list[GapHandler] = []
        self._in_flight: dict[int, QueuedMessage] = {}
        self._echo_topic = f"{ROOT}/echo/{name}"
        #: The send time of each echo, in seconds.
        self._echoes: dict[bytes, float] = {}
        self._last_echo_s = 0.0
        self._is_up = False
        self._reported_down = False
        self.is_closing = False
        self.subscribe(self._echo_topic, self._on_echo, include_own=True)

    # --- the interface ---

    @property
    def is_up(self) -> bool:
        """Whether messages get through in both directions, judged by the echo."""
        return self._is_up

    def publish(self, topic: str, payload: bytes, *, reliable: bool = False) -> None:
        """Queues a message. A reliable message is delivered at least once (QoS 1); any other at
        most once (QoS 0), and only while the link is up.
        """
        if len(payload) > MAX_BYTES:
            log.error("message too long for the bus", topic=topic, bytes=len(payload))
            self.outbox.lost += 1
        elif reliable or self._is_up:
            self.outbox.put(QueuedMessage(topic, payload, reliable))
        else:
            self.outbox.dropped += 1

    def set_status(self, payload: bytes) -> None:
        """Sets the status that the broker retains for present and later subscribers."""
        self._status = payload
        self._status_changed.set()

    def subscribe(
        self, topic_filter: str, receive: Receive, *, include_own: bool = False
    ) -> Callable[[], None]:
        """Calls `receive(topic, payload)` for each message that matches the topic filter, until the
        returned function is called.

        The filter is a topic, a topic and all below it (`…/#`) or the topics one level below
        (`…/+`). With `include_own`, this link's own messages are delivered too.
        """
        subscription = self._subscriptions.get(topic_filter)
        if subscription is None:
            subscription = self._subscriptions[topic_filter] = _Subscription(
                [], SubscribeOptions(qos=1, noLocal=not include_own)
            )
            self._subscriptions_changed.set()
        subscription.receivers.append(receive)

        def unsubscribe() -> None:
            subscription.receivers.remove(receive)
            if not subscription.receivers and self._subscriptions.get(topic_filter) is subscription:
                del self._subscriptions[topic_filter]
                self._subscriptions_changed.set()

        return unsubscribe

    def on_gap(self, call: GapHandler) -> None:
        """Calls `call` with the topic filters whose messages may have been missed, or with None
        (all) when the link goes up or down.
        """
        self._gap_handlers.append(call)

    # --- the connection ---

    async def run(self) -> None:
        """Stays connected until cancelled (after `is_closing` is set), then disconnects."""
        failures = 0
        while True:
            start_s = _now_s()
            try:
                await self._connect_and_serve()
            except* (aiomqtt.MqttError, OSError, ValueError) as group:
                self._log_interruption(group)
            except* Exception:
                log.exception("broker link failed", broker=str(self.broker))
            finally:
                self._set_is_up(False)
                self.outbox.put_back(list(self._in_flight.values()))
                self._in_flight.clear()
            # A task group that is cancelled while a task fails may raise only the failure.
            if self.is_closing:
                return
            failures = 0 if _now_s() - start_s > MAX_RETRY_S else failures + 1
            longest_s = min(MAX_RETRY_S, MIN_RETRY_S * 2 ** min(failures, 10))
            await asyncio.sleep(random.uniform(MIN_RETRY_S / 2, longest_s))

    def _log_interruption(self, group: BaseExceptionGroup[BaseException]) -> None:
        """Logs one line per interruption, not one per connection attempt."""
        if not self._reported_down:
            self._reported_down = True
            first: BaseException = group
            while isinstance(first, BaseExceptionGroup):
                first = first.exceptions[0]
            log.warning(
                "broker away", broker=str(self.broker), error=str(first) or type(first).__name__
            )

    async def _connect_and_serve(self) -> None:
        client = self._client()
        connecting = asyncio.create_task(client.__aenter__(), name="broker connect")
        try:
            try:
                await asyncio.shield(connecting)
            except asyncio.CancelledError:
                # A thread connects; it cannot be interrupted.
                with suppress(aiomqtt.MqttError, OSError, ValueError):
                    await connecting
                raise
            self.counts.connected += 1
            try:
                await self._serve(client)
            except asyncio.CancelledError:
                await self._disconnect(client)
                raise
        finally:
            # aiomqtt leaves the socket open when no CONNACK comes, and its disconnect waits for a
            # broker that does not read.
            client._client._sock_close()

    def _prefixed(self, topic: str) -> str:
        """A topic with the broker's prefix."""
        return self.broker.prefix + topic

    def _client(self) -> aiomqtt.Client:
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.MaximumPacketSize = MAX_BYTES + 4096
        broker = self.broker
        client = _Client(
            broker.host, broker.port, username=broker.user, password=broker.password,
            identifier=self.name, protocol=aiomqtt.ProtocolVersion.V5, clean_start=True,
            keepalive=KEEPALIVE_S, timeout=CONNECT_TIMEOUT_S,
            will=aiomqtt.Will(self._prefixed(self._status_topic), b"", qos=1, retain=True),
            properties=properties,
            tls_context=ssl.create_default_context(cafile=broker.ca) if broker.tls else None,
            queue_type=_inbox(self._on_message), max_inflight_messages=MAX_IN_FLIGHT, logger=_quiet,
            # Without TCP_NODELAY a round trip waits 40 ms twice.
            socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
        )  # fmt: skip
        client.pending_calls_threshold = 2 * MAX_IN_FLIGHT + 10
        return client

    async def _serve(self, client: aiomqtt.Client) -> None:
        """Serves until the connection breaks (MqttError in a group) or the link is closed."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_until_disconnected(client), name="broker disconnect")
            tasks.create_task(self._sync_subscriptions(client), name="broker subscriptions")
            tasks.create_task(self._publish_status(client), name="broker status")
            tasks.create_task(self._send_echoes(client, tasks), name="broker echo")
            tasks.create_task(self._send(client, tasks), name="broker send")

    async def _disconnect(self, client: aiomqtt.Client) -> None:
        """Clears the status and disconnects. If the broker does not respond, the will clears the
        status.
        """
        if self._is_up:
            with suppress(aiomqtt.MqttError, TimeoutError):
                async with asyncio.timeout(ECHO_TIMEOUT_S):
                    await client.publish(
                        self._prefixed(self._status_topic), b"", qos=1, retain=True
                    )
                    await client.__aexit__(None, None, None)

    # --- out ---

    async def _send(self, client: aiomqtt.Client, tasks: asyncio.TaskGroup) -> None:
        window = asyncio.Semaphore(MAX_IN_FLIGHT)
        number = 0
        while True:
            await window.acquire()
            message = await self.outbox.get()
            number += 1
            self._in_flight[number] = message
            tasks.create_task(self._deliver(client, number, message, window))

    async def _deliver(
        self, client: aiomqtt.Client, number: int, message: QueuedMessage, window: asyncio.Semaphore
    ) -> None:
        qos = 1 if message.reliable else 0
        await client.publish(
            self._prefixed(message.topic), message.payload, qos, message.retain, timeout=math.inf
        )
        del self._in_flight[number]
        self.counts.sent += 1
        window.release()

    async def _publish_status(self, client: aiomqtt.Client) -> None:
        while True:
            self._status_changed.clear()
            if self._status:
                await client.publish(
                    self._prefixed(self._status_topic), self._status, 0, True, timeout=math.inf
                )
            await self._status_changed.wait()

    async def _sync_subscriptions(self, client: aiomqtt.Client) -> None:
        """Synchronizes the broker's subscriptions with this link's, in batches."""
        subscribed: dict[str, _Subscription] = {}
        while True:
            self._subscriptions_changed.clear()
            wanted = self._subscriptions
            removed = [
                name
                for name, subscription in subscribed.items()
                if wanted.get(name) is not subscription
            ][:SUBSCRIBE_BATCH]
            added = [name for name in wanted if name not in subscribed][:SUBSCRIBE_BATCH]
            if removed:
                await client.unsubscribe(
                    [self._prefixed(name) for name in removed], timeout=math.inf
                )
                for name in removed:
                    del subscribed[name]
            elif added:
                options = [(self._prefixed(name), wanted[name].options) for name in added]
                subscribed.update((name, wanted[name]) for name in added)
                codes = await client.subscribe(options, timeout=math.inf)
                for name, code in zip(added, codes, strict=True):
                    if isinstance(code, ReasonCode) and code.is_failure:
                        log.error("the broker refuses a subscription", topic=name, reason=str(code))
                self._report_gap(frozenset(added))
            else:
                await self._subscriptions_changed.wait()

    # --- the echo ---

    async def _send_echoes(self, client: aiomqtt.Client, tasks: asyncio.TaskGroup) -> None:
        """Sends one echo at a time, and notices when none returns within `ECHO_TIMEOUT_S`."""
        sending: asyncio.Task[None] | None = None
        self._last_echo_s = _now_s()
        self._echoes.clear()
        while True:
            if sending is None or sending.done():
                echo = secrets.token_bytes(8)
                self._echoes[echo] = _now_s()
                if len(self._echoes) > MAX_PENDING_ECHOES:
                    del self._echoes[next(iter(self._echoes))]
                sending = tasks.create_task(
                    client.publish(self._prefixed(self._echo_topic), echo, timeout=math.inf),
                    name="broker echo out",
                )
            await asyncio.sleep(ECHO_PERIOD_S)
            if _now_s() - self._last_echo_s > ECHO_TIMEOUT_S:
                self._set_is_up(False)

    def _on_echo(self, topic: str, payload: bytes) -> None:
        sent_s = self._echoes.pop(payload, None)
        if sent_s is not None:
            self._last_echo_s = _now_s()
            self.round_trip_s = self._last_echo_s - sent_s
            self._set_is_up(True)

    def _set_is_up(self, is_up: bool) -> None:
        if is_up is self._is_up:
            return
        self._is_up = is_up
        if is_up:
            self._reported_down = False
            log.info("broker link up", broker=str(self.broker), connection=self.counts.connected)
        else:
            self.outbox.drop_unreliable()
            if not self._reported_down:
                self._reported_down = True
                log.warning("broker link down", broker=str(self.broker))
        self._report_gap(None)

    def _report_gap(self, topic_filters: frozenset[str] | None) -> None:
        for call in self._gap_handlers:
            call(topic_filters)

    # --- in ---

    def _on_message(self, message: aiomqtt.Message) -> None:
        """Delivers a message to its subscribers; their exceptions do not end the connection."""
        topic, payload = str(message.topic).removeprefix(self.broker.prefix), message.payload
        self.counts.received += 1
        if len(payload) > MAX_BYTES:
            self.counts.refused += 1
            return
        for topic_filter in _matching_filters(topic):
            if (subscription := self._subscriptions.get(topic_filter)) is not None:
                for receive in tuple(subscription.receivers):
                    try:
                        receive(topic, payload)
                    except Exception:
                        log.exception("message handler failed", topic=topic)


@asynccontextmanager
async def open_link(broker: Broker, name: str, status_topic: str) -> AsyncIterator[Link]:
    """A link that connects in the background, even if the broker starts later."""
    link = Link(broker, name, status_topic)
    task = asyncio.create_task(link.run(), name="broker link")
    try:
        yield link
    finally:
        link.is_closing = True
        task.cancel()
        await asyncio.wait([task])


@lru_cache(4096)
def _matching_filters(topic: str) -> tuple[str, ...]:
    """All topic filters that match a topic."""
    parents = list(itertools.accumulate(topic.split("/"), lambda above, level: f"{above}/{level}"))
    return (topic, f"{topic.rpartition('/')[0]}/+", *(f"{parent}/#" for parent in parents))


def _inbox(receive: Callable[[aiomqtt.Message], None]) -> type[asyncio.Queue[aiomqtt.Message]]:
    """A queue class that calls `receive` at once instead of storing messages.

    It saves a task for each message.
    """

    class Inbox(asyncio.Queue[aiomqtt.Message]):
        def put_nowait(self, item: aiomqtt.Message) -> None:
            receive(item)

    return Inbox


async def _until_disconnected(client: aiomqtt.Client) -> None:
    """Raises MqttError when the connection ends; it never yields a message."""
    async for _ in client.messages:
        raise AssertionError("the inbox holds nothing")
    raise aiomqtt.MqttError("the broker ended the connection")


def _now_s() -> float:
    return asyncio.get_running_loop().time()
