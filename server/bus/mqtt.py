"""The bus over an MQTT broker. See `server.bus.base.Bus` and, for the connection,
`server.bus.link`.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import structlog

from server.bus.base import (
    BusCounters,
    BusMessage,
    GapHandler,
    Heartbeat,
    LobbyChanged,
    MessagesLost,
    NodeDown,
    NodeHandler,
    NodeMessage,
    RoomHandler,
    RoomMessage,
)
from server.bus.broker import Broker
from server.bus.codec import (
    ANALYSES_TOPIC,
    BOT_TOPIC,
    CONNECTIONS_TOPIC,
    LOBBY_BATCH,
    LOBBY_TOPIC,
    LOST_TOPIC,
    NODES_TOPIC,
    NOTIFICATIONS_TOPIC,
    Codec,
    InvalidMessage,
    node_topic,
    room_topic,
)
from server.bus.link import Link, open_link

log = structlog.get_logger()


class MqttBus:
    """The bus between the nodes of one store, which share a key. See `open_mqtt_bus`."""

    def __init__(self, link: Link, node: str, key: bytes) -> None:
        self.link = link
        self._node = node
        self._codec = Codec(key)
        #: Room ids by topic filter.
        self._rooms: dict[str, str] = {}
        self._room_handlers: dict[str, list[RoomHandler]] = {}
        self._unsubscribe: dict[str, Callable[[], None]] = {}
        self._node_handlers: list[NodeHandler] = []
        self._gap_handlers: list[GapHandler] = []
        self._lost = 0
        link.on_gap(self._on_gap)
        link.set_status(self._codec.encode(Heartbeat(node)).payload)
        node_topics = (
            LOBBY_TOPIC, LOST_TOPIC, ANALYSES_TOPIC, BOT_TOPIC, NOTIFICATIONS_TOPIC,
            CONNECTIONS_TOPIC,
        )  # fmt: skip
        for topic_filter in (f"{NODES_TOPIC}/+", *node_topics):
            link.subscribe(topic_filter, self._on_node)

    @property
    def is_up(self) -> bool:
        return self.link.is_up

    def publish(self, message: BusMessage) -> None:
        match message:
            case Heartbeat():
                self.link.set_status(self._codec.encode(message).payload)
                if self.link.is_up and self.link.outbox.lost > self._lost:
                    self._lost = self.link.outbox.lost
                    self.publish(MessagesLost(self._node))
            case NodeDown():
                pass  # the link clears the status when it ends, or its will does
            case LobbyChanged(node=node, rooms=rooms, gone=gone):
                for start in range(0, max(len(rooms), len(gone), 1), LOBBY_BATCH):
                    part = slice(start, start + LOBBY_BATCH)
                    self.link.publish(
                        *self._encoded(LobbyChanged(node, rooms[part], gone[part])), reliable=False
                    )
            case _:
                topic, payload, reliable = self._codec.encode(message)
                self.link.publish(topic, payload, reliable=reliable)

    def _encoded(self, message: BusMessage) -> tuple[str, bytes]:
        topic, payload, _ = self._codec.encode(message)
        return topic, payload

    def subscribe(self, room: str, receive: RoomHandler) -> Callable[[], None]:
        topic_filter = f"{room_topic(room)}/#"
        if room not in self._room_handlers:
            self._room_handlers[room] = []
            self._rooms[topic_filter] = room
            self._unsubscribe[room] = self.link.subscribe(topic_filter, self._on_room)
        self._room_handlers[room].append(receive)

        def unsubscribe() -> None:
            handlers = self._room_handlers[room]
            handlers.remove(receive)
            if not handlers:
                del self._room_handlers[room]
                del self._rooms[topic_filter]
                self._unsubscribe.pop(room)()

        return unsubscribe

    def listen(self, receive: NodeHandler) -> Callable[[], None]:
        self._node_handlers.append(receive)
        return lambda: self._node_handlers.remove(receive)

    def on_gap(self, call: GapHandler) -> Callable[[], None]:
        self._gap_handlers.append(call)
        return lambda: self._gap_handlers.remove(call)

    def counters(self) -> BusCounters:
        link = self.link
        return BusCounters(
            link.counts.refused, link.outbox.dropped, link.outbox.lost, link.health.round_trip_s
        )

    # --- from the link ---

    def _on_room(self, topic: str, payload: bytes) -> None:
        message = self._decode(topic, payload)
        if isinstance(message, RoomMessage):
            for receive in tuple(self._room_handlers.get(message.room, ())):
                receive(message)

    def _on_node(self, topic: str, payload: bytes) -> None:
        message = self._decode(topic, payload)
        if isinstance(message, NodeMessage):
            if isinstance(message, NodeDown) and message.node == self._node:
                self.publish(Heartbeat(self._node))  # the will of an earlier connection
                return
            for receive in tuple(self._node_handlers):
                receive(message)

    def _decode(self, topic: str, payload: bytes) -> BusMessage | None:
        try:
            return self._codec.decode(topic, payload)
        except InvalidMessage as error:
            self.link.counts.refused += 1
            # Logs the 1st, 2nd, 4th, 8th, …, so that a flood does not fill the log.
            if self.link.counts.refused.bit_count() == 1:
                count = self.link.counts.refused
                log.warning(
                    "bus message refused", topic=topic[:80], reason=str(error)[:80], refused=count
                )
            return None

    def _on_gap(self, topic_filters: frozenset[str] | None) -> None:
        rooms = (
            None
            if topic_filters is None
            else frozenset(self._rooms[name] for name in topic_filters if name in self._rooms)
        )
        if rooms is None or rooms:
            for call in tuple(self._gap_handlers):
                call(rooms)


@asynccontextmanager
async def open_mqtt_bus(broker: Broker, node: str, key: bytes) -> AsyncIterator[MqttBus]:
    """A bus that connects in the background, even if the broker starts later."""
    async with open_link(broker, f"plyroom-{node}", node_topic(node)) as link:
        yield MqttBus(link, node, key)
