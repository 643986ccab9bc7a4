"""A connection to an MQTT 5 broker that reconnects by itself.

Publishing never waits and never fails: messages wait in a bounded outbox, so that a broker that
does not read costs no memory. A link is up while the echoes that it sends to itself return.
Sessions are clean: after an interruption the link subscribes again and reports that messages may
have been missed. It does not interpret the messages.
"""

import asyncio
import math
import random
import secrets
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import structlog

try:
    import aiomqtt
except ImportError as error:
    raise ImportError("a bus needs the extra mqtt: pip install 'plyroom[mqtt]'") from error

from server.bus.broker import MAX_BYTES, ROOT, Broker
from server.bus.client import MAX_IN_FLIGHT, connected, new_client, until_disconnected
from server.bus.subscriptions import MessageHandler, Subscriptions

log = structlog.get_logger()

#: Outbox capacity, in messages.
OUTBOX_CAPACITY = 4096
#: Maximum number of attempts to deliver a message. If a message is in flight each time that the
#: connection breaks, it may be the cause.
MAX_TRIES = 3
#: Time between two echoes, in seconds.
ECHO_PERIOD_S = 0.5
#: Time without an echo after which the link is down, in seconds.
ECHO_TIMEOUT_S = 1.0
#: Maximum number of echoes whose send time is remembered.
MAX_PENDING_ECHOES = 20
#: Shortest backoff between connection attempts, in seconds.
MIN_RETRY_S = 0.1
#: Longest backoff between connection attempts, in seconds.
MAX_RETRY_S = 4.0

#: Called with the topic filters (None: all) whose messages may have been missed.
TopicGapHandler = Callable[[frozenset[str] | None], None]


@dataclass(slots=True)
class QueuedMessage:
    """A queued message. Only a reliable one is sent again if the connection breaks."""

    topic: str
    payload: bytes
    reliable: bool
    retain: bool = False
    tries: int = 0


@dataclass(slots=True)
class Counts:
    """Counters since the link was created."""

    sent: int = 0
    received: int = 0
    #: Invalid messages received. Receivers that decode messages count theirs here too.
    refused: int = 0
    #: Connections made.
    connected: int = 0


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
        self.health = Health(broker, f"{ROOT}/echo/{name}", self._on_change)
        self._status_topic = status_topic
        self._status = b""
        self._status_changed = asyncio.Event()
        self._subscriptions = Subscriptions(broker, self._report_gap)
        self._gap_handlers: list[TopicGapHandler] = []
        self._in_flight: dict[int, QueuedMessage] = {}
        self.is_closing = False
        self.subscribe(self.health.topic, self.health.receive_echo, include_own=True)

    # --- the interface ---

    @property
    def is_up(self) -> bool:
        """Whether messages get through in both directions, judged by the echo."""
        return self.health.is_up

    def publish(self, topic: str, payload: bytes, *, reliable: bool = False) -> None:
        """Queues a message. A reliable message is delivered at least once (QoS 1); any other at
        most once (QoS 0), and only while the link is up.
        """
        if len(payload) > MAX_BYTES:
            log.error("message too long for the bus", topic=topic, bytes=len(payload))
            self.outbox.lost += 1
        elif reliable or self.health.is_up:
            self.outbox.put(QueuedMessage(topic, payload, reliable))
        else:
            self.outbox.dropped += 1

    def set_status(self, payload: bytes) -> None:
        """Sets the status that the broker retains for current and later subscribers."""
        self._status = payload
        self._status_changed.set()

    def subscribe(
        self, topic_filter: str, receive: MessageHandler, *, include_own: bool = False
    ) -> Callable[[], None]:
        """Calls `receive(topic, payload)` for each message that matches the topic filter, until the
        returned function is called.

        The filter is a topic, a topic and all below it (`…/#`) or the topics one level below
        (`…/+`). With `include_own`, this link's own messages are delivered too.
        """
        return self._subscriptions.add(topic_filter, receive, include_own)

    def on_gap(self, call: TopicGapHandler) -> None:
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
                self.health.report_interruption(group)
            except* Exception:
                log.exception("broker link failed", broker=str(self.broker))
            finally:
                self.health.set_is_up(False)
                self.outbox.put_back(list(self._in_flight.values()))
                self._in_flight.clear()
            # A task group that is cancelled while a task fails may raise only the failure.
            if self.is_closing:
                return
            failures = 0 if _now_s() - start_s > MAX_RETRY_S else failures + 1
            longest_s = min(MAX_RETRY_S, MIN_RETRY_S * 2 ** min(failures, 10))
            await asyncio.sleep(random.uniform(MIN_RETRY_S / 2, longest_s))

    async def _connect_and_serve(self) -> None:
        client = self._client()
        async with connected(client):
            self.counts.connected += 1
            try:
                await self._serve(client)
            except asyncio.CancelledError:
                await self._disconnect(client)
                raise

    def _client(self) -> aiomqtt.Client:
        return new_client(self.broker, self.name, self._status_topic, self._on_message)

    async def _serve(self, client: aiomqtt.Client) -> None:
        """Serves until the connection breaks (MqttError in a group) or the link is closed."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(until_disconnected(client), name="broker disconnect")
            tasks.create_task(self._subscriptions.sync(client), name="broker subscriptions")
            tasks.create_task(self._publish_status(client), name="broker status")
            tasks.create_task(self.health.send_echoes(client, tasks), name="broker echo")
            tasks.create_task(self._send(client, tasks), name="broker send")

    async def _disconnect(self, client: aiomqtt.Client) -> None:
        """Clears the status and disconnects. If the broker does not respond, the will clears the
        status.
        """
        if self.health.is_up:
            with suppress(aiomqtt.MqttError, TimeoutError):
                async with asyncio.timeout(ECHO_TIMEOUT_S):
                    await client.publish(
                        self.broker.prefixed(self._status_topic), b"", qos=1, retain=True
                    )
                    await client.__aexit__(None, None, None)

    def _on_change(self, is_up: bool) -> None:
        """The link went up or down."""
        if is_up:
            log.info("broker link up", broker=str(self.broker), connection=self.counts.connected)
        else:
            self.outbox.drop_unreliable()
        self._report_gap(None)

    def _report_gap(self, topic_filters: frozenset[str] | None) -> None:
        for call in self._gap_handlers:
            call(topic_filters)

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
            self.broker.prefixed(message.topic), message.payload, qos, message.retain,
            timeout=math.inf,
        )  # fmt: skip
        del self._in_flight[number]
        self.counts.sent += 1
        window.release()

    async def _publish_status(self, client: aiomqtt.Client) -> None:
        while True:
            self._status_changed.clear()
            if self._status:
                await client.publish(
                    self.broker.prefixed(self._status_topic), self._status, 0, True,
                    timeout=math.inf,
                )  # fmt: skip
            await self._status_changed.wait()

    # --- in ---

    def _on_message(self, message: aiomqtt.Message) -> None:
        """Delivers a message to its subscribers; their exceptions do not end the connection."""
        topic, payload = str(message.topic).removeprefix(self.broker.prefix), message.payload
        self.counts.received += 1
        if len(payload) > MAX_BYTES:
            self.counts.refused += 1
            return
        self._subscriptions.deliver(topic, payload)


class Outbox:
    """A queue of at most `limit` messages. On overflow it drops the oldest unreliable message, or
    the oldest reliable one if there is no other.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._reliable: deque[QueuedMessage] = deque()
        self._unreliable: deque[QueuedMessage] = deque()
        self._ready = asyncio.Event()
        #: Number of unreliable messages dropped.
        self.dropped = 0
        #: Number of reliable messages dropped.
        self.lost = 0

    def __len__(self) -> int:
        return len(self._reliable) + len(self._unreliable)

    def put(self, message: QueuedMessage) -> None:
        """Adds a message, and drops another one on overflow."""
        (self._reliable if message.reliable else self._unreliable).append(message)
        self._shrink()
        self._ready.set()

    def put_back(self, messages: Sequence[QueuedMessage]) -> None:
        """Puts the reliable messages that were in flight back at the head; drops the others."""
        for message in reversed(messages):
            message.tries += 1
            if not message.reliable:
                self.dropped += 1
            elif message.tries >= MAX_TRIES:
                self.lost += 1
            else:
                self._reliable.appendleft(message)
        self._shrink()
        if self._reliable:
            self._ready.set()

    def drop_unreliable(self) -> None:
        """Drops the unreliable messages, which are stale after an interruption."""
        self.dropped += len(self._unreliable)
        self._unreliable.clear()

    async def get(self) -> QueuedMessage:
        """Removes and returns the next message, reliable ones first."""
        while not (self._reliable or self._unreliable):
            self._ready.clear()
            await self._ready.wait()
        return (self._reliable or self._unreliable).popleft()

    def _shrink(self) -> None:
        while len(self) > self._limit:
            if self._unreliable:
                self._unreliable.popleft()
                self.dropped += 1
            else:
                self._reliable.popleft()
                self.lost += 1


class Health:
    """Whether a link is up: it is while its echoes show that messages get through both ways.

    It logs each interruption once, however many attempts to connect follow.
    """

    def __init__(self, broker: Broker, topic: str, on_change: Callable[[bool], None]) -> None:
        """The echoes go to `topic`; `on_change` is called with the new `is_up`."""
        self.is_up = False
        #: Round-trip time of the last echo, in seconds.
        self.round_trip_s = 0.0
        #: Whether the current interruption has been logged.
        self.is_reported_down = False
        self._broker = broker
        self.topic = topic
        self._on_change = on_change
        #: The send time of each echo, in seconds.
        self._echoes: dict[bytes, float] = {}
        self._last_echo_s = 0.0

    async def send_echoes(self, client: aiomqtt.Client, tasks: asyncio.TaskGroup) -> None:
        """Sends one echo at a time; sets the link down when none returns in `ECHO_TIMEOUT_S`."""
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
                    client.publish(self._broker.prefixed(self.topic), echo, timeout=math.inf),
                    name="broker echo out",
                )
            await asyncio.sleep(ECHO_PERIOD_S)
            if _now_s() - self._last_echo_s > ECHO_TIMEOUT_S:
                self.set_is_up(False)

    def receive_echo(self, topic: str, payload: bytes) -> None:
        """Handles an echo that the broker delivers."""
        sent_s = self._echoes.pop(payload, None)
        if sent_s is not None:
            self._last_echo_s = _now_s()
            self.round_trip_s = self._last_echo_s - sent_s
            self.set_is_up(True)

    def set_is_up(self, is_up: bool) -> None:
        """Sets `is_up` and reports a change."""
        if is_up is self.is_up:
            return
        self.is_up = is_up
        if is_up:
            self.is_reported_down = False
        elif not self.is_reported_down:
            self.is_reported_down = True
            log.warning("broker link down", broker=str(self._broker))
        self._on_change(is_up)

    def report_interruption(self, group: BaseExceptionGroup[BaseException]) -> None:
        """Logs why the connection ended, or why there is none: one line for each interruption."""
        if not self.is_reported_down:
            self.is_reported_down = True
            first: BaseException = group
            while isinstance(first, BaseExceptionGroup):
                first = first.exceptions[0]
            log.warning(
                "broker away", broker=str(self._broker), error=str(first) or type(first).__name__
            )


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


def _now_s() -> float:
    return asyncio.get_running_loop().time()
