"""The bus's port: how nodes tell each other that a room's log has grown. A doorbell: the log is the
truth.

A bus may lose, double, delay and reorder messages. A receiver drops what it has and reads the log
when it sees a gap.
"""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from server.protocol.messages import RoomSummary
from server.store.base import StoredEvent


class EventsAppended(Struct, frozen=True):
    """Events that a node committed to a room's log."""

    room: str
    node: str
    events: tuple[StoredEvent, ...]


class Ephemeral(Struct, frozen=True):
    """A frame for everybody who follows the room, not in the log: an AI's thinking."""

    room: str
    node: str
    frame: bytes


class PresenceReport(Struct, frozen=True):
    """Who follows a room on a node: the seated identities with a connection, and how many others.
    A node that asks wants to hear the same of the others.
    """

    room: str
    node: str
    identities: frozenset[str]
    watching: int
    asks: bool = False


class LobbyChanged(Struct, frozen=True):
    """Entries of the lobby that changed on a node, and those that went."""

    node: str
    rooms: tuple[RoomSummary, ...] = ()
    gone: tuple[str, ...] = ()


class Heartbeat(Struct, frozen=True):
    """The node is there; said about once a second."""

    node: str


class NodeDown(Struct, frozen=True):
    """The node has stopped, or the broker has lost it. The store's heartbeat decides; this only
    hastens the look.
    """

    node: str


class MessagesLost(Struct, frozen=True):
    """Messages of that node did not get through: compare the heads."""

    node: str


RoomMessage = EventsAppended | Ephemeral | PresenceReport
NodeMessage = LobbyChanged | Heartbeat | NodeDown | MessagesLost
BusMessage = RoomMessage | NodeMessage
Receive = Callable[[RoomMessage], None]
ReceiveNode = Callable[[NodeMessage], None]
#: Told of rooms (None: of all) whose messages may have been missed.
GapHandler = Callable[[frozenset[str] | None], None]


class BusNumbers(Struct, frozen=True):
    """What an operator wants to know of a bus, since the start: messages that came and were no
    good, that may be missed and were dropped, and that should not have been; and how long the last
    message to oneself took.
    """

    refused: int = 0
    dropped: int = 0
    lost: int = 0
    echo_s: float = 0.0


class Bus(Protocol):
    """Passes messages to every subscriber on every node, perhaps on the sender's too."""

    @property
    def flows(self) -> bool:
        """Whether messages get through at this moment, as far as one can know."""

    def publish(self, message: BusMessage) -> None:
        """Sends and forgets; never blocks and never raises for a broker that is away."""

    def subscribe(self, room: str, receive: Receive) -> Callable[[], None]:
        """Calls `receive` for each message about the room, in the event loop, until the returned
        function is called. It takes a moment until others' messages come; then `on_lapse` tells of
        the room.
        """

    def listen(self, receive: ReceiveNode) -> Callable[[], None]:
        """The same for messages about nodes and the lobby."""

    def on_gap(self, call: GapHandler) -> Callable[[], None]:
        """Calls when messages may have been missed, and when `flows` changes, until the returned
        function is called.
        """

    def numbers(self) -> BusNumbers:
        """What it counted."""
