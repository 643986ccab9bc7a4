"""A message on its way to clients: a value that is encoded at most once for all its readers."""

from msgspec import Struct

from server.protocol import messages as wire
from server.protocol.codec import event_frame, format_message


class LoggedEvent(Struct, frozen=True):
    """An event as it stands in a room's log: `body` is its JSON."""

    room: str
    v: int
    at_ms: int
    body: bytes


class Outbound:
    """A message that goes to any number of connections."""

    __slots__ = ("_payload", "frame", "message")

    def __init__(self, message: wire.Outgoing | LoggedEvent) -> None:
        self.message = message
        self._payload: bytes | None = None
        #: The WebSocket frame, kept by the socket that first needed it.
        self.frame: bytes | None = None

    def payload(self) -> bytes:
        """The message as the payload of one frame. Every call returns the same bytes."""
        if self._payload is None:
            message = self.message
            if isinstance(message, LoggedEvent):
                self._payload = event_frame(message.room, message.v, message.at_ms, message.body)
            else:
                self._payload = format_message(message)
        return self._payload
