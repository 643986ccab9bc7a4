"""The bus's port: how nodes tell each other that a room's log has grown. A doorbell: the log is the truth.

A bus may lose, double, delay and reorder messages. A receiver drops what it has and reads the log when it sees a gap.
"""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from server.store.base import StoredEvent


class Grown(Struct, frozen=True):
    """Events that a node committed to a room's log."""

    room: str
    node: str
    events: tuple[StoredEvent, ...]


class Whisper(Struct, frozen=True):
    """A frame for everybody who follows the room, not in the log: an AI's thinking."""

    room: str
    node: str
    frame: bytes


class Here(Struct, frozen=True):
    """Who follows a room on a node: the seated identities with a connection, and how many others."""

    room: str
    node: str
    identities: frozenset[str]
    watching: int


BusMessage = Grown | Whisper | Here
Receive = Callable[[BusMessage], None]


class Bus(Protocol):
    """Passes messages about a room to every subscriber of that room, perhaps the sender too."""

    def publish(self, message: BusMessage) -> None:
        """Sends and forgets; never blocks and never raises for a broker that is away."""

    def subscribe(self, room: str, receive: Receive) -> Callable[[], None]:
        """Calls `receive` for each message about the room, in the event loop, until the returned function is called."""
