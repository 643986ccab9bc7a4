"""The interface of the bus: how nodes notify each other of new events. A message is only a hint;
the log is authoritative.

A bus may lose, duplicate, delay and reorder messages. A receiver that sees a gap reads the log.
"""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from server.protocol.messages import Answer, Notification, RoomSummary, Thinking
from server.store.base import StoredEvent

#: Maximum number of people in one ConnectionReport.
CONNECTION_BATCH = 100


class EventsAppended(Struct, frozen=True):
    """Events that a node committed to a room's log."""

    room: str
    node: str
    events: tuple[StoredEvent, ...]


class Ephemeral(Struct, frozen=True):
    """A message that is not logged, for the followers of a room: the AI's thinking.

    With `restricted`, not all of them may see it; nodes of earlier versions, which cannot tell who
    may, refuse such a message.
    """

    room: str
    node: str
    thinking: Thinking
    restricted: bool = False


class PresenceReport(Struct, frozen=True):
    """The followers of a room on one node: the seated identities with a connection, and the number
    of other followers. With `asks`, the sender requests the same report from the other nodes.
    """

    room: str
    node: str
    identities: frozenset[str]
    watching: int
    asks: bool = False


class PageClosed(Struct, frozen=True):
    """A player's last connection on a node has ended because they closed the page."""

    room: str
    node: str
    identity: str


class LobbyChanged(Struct, frozen=True):
    """Lobby entries that changed on a node, and rooms that left the lobby."""

    node: str
    rooms: tuple[RoomSummary, ...] = ()
    gone: tuple[str, ...] = ()


class Heartbeat(Struct, frozen=True):
    """Shows that a node is alive; published about once a second."""

    node: str


class NodeDown(Struct, frozen=True):
    """The node has stopped, or the broker has lost its connection. The store's heartbeat decides
    whether it is dead; this message only makes the others check sooner.
    """

    node: str


class MessagesLost(Struct, frozen=True):
    """Messages of that node were lost, so the receivers compare the heads of their rooms with the
    store.
    """

    node: str


class AnalysisChanged(Struct, frozen=True):
    """The analysis of a match has changed: it was queued, has another result, or has ended.

    The receivers read it from the store.
    """

    node: str
    match: str


class AnswerSent(Struct, frozen=True):
    """A private answer of the bot that a node has sent to its connections of one person.

    Each receiver checks again whether that person may have the answer of `command`; "" stands for
    an answer that helps with no position, such as a refusal. Nodes of earlier versions do not
    receive it.
    """

    node: str
    identity: str
    answer: Answer
    command: str = ""


class NotificationSent(Struct, frozen=True):
    """What waits for a player in a room, whose connections to other nodes are not in it.

    Nodes of earlier versions do not receive it.
    """

    node: str
    identity: str
    notification: Notification


class ConnectionReport(Struct, frozen=True):
    """People with a connection to a node, on whatever page, of those whom another node sought.

    With `asks` they are the sought, at most CONNECTION_BATCH: each other node reports those of them
    whom it has. Nodes of earlier versions do not receive it.
    """

    node: str
    identities: frozenset[str]
    asks: bool = False


RoomMessage = EventsAppended | Ephemeral | PresenceReport | PageClosed
NodeMessage = (
    LobbyChanged
    | Heartbeat
    | NodeDown
    | MessagesLost
    | AnalysisChanged
    | AnswerSent
    | NotificationSent
    | ConnectionReport
)
BusMessage = RoomMessage | NodeMessage
#: Called with each message about a room.
RoomHandler = Callable[[RoomMessage], None]
#: Called with each message about nodes, the lobby, analyses, answers, notifications and
#: connections.
NodeHandler = Callable[[NodeMessage], None]
#: Called with the rooms (None: all) whose messages may have been missed.
GapHandler = Callable[[frozenset[str] | None], None]


class BusCounters(Struct, frozen=True):
    """Counters for operators, since the start: invalid messages received, ephemeral messages
    dropped, other messages lost, and the round-trip time of the last echo in seconds.
    """

    refused: int = 0
    dropped: int = 0
    lost: int = 0
    echo_s: float = 0.0


class Bus(Protocol):
    """Delivers messages to every subscriber on every node; the sender may receive its own."""

    @property
    def is_up(self) -> bool:
        """Whether messages get through at present, as far as the node can tell."""

    def publish(self, message: BusMessage) -> None:
        """Queues a message. Never blocks, and never raises when the broker is unreachable."""

    def subscribe(self, room: str, receive: RoomHandler) -> Callable[[], None]:
        """Calls `receive` in the event loop for each message about the room, until the returned
        function is called. A subscription takes effect after a moment, and `on_gap` then reports
        the room.
        """

    def listen(self, receive: NodeHandler) -> Callable[[], None]:
        """Like `subscribe`, for messages that are about no room's events."""

    def on_gap(self, call: GapHandler) -> Callable[[], None]:
        """Calls `call` when messages may have been missed and when `is_up` changes, until the
        returned function is called.
        """

    def counters(self) -> BusCounters:
        """The counters since the start."""
