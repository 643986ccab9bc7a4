"""A message on its way to clients: a value that is encoded once for all its readers."""

from msgspec import Struct

from server.protocol import messages as wire
from server.protocol.codec import event_frame, format_message


class LoggedEvent(Struct, frozen=True):
    """An event of a room's log; `body` is its JSON."""

    room: str
    v: int
    at_ms: int
    body: bytes


class Outbound(Struct, eq=False):
    """A message that goes to any number of connections."""

    message: wire.Outgoing | LoggedEvent
    #: The WebSocket frame, which `server.net.frames` builds when a socket first needs it.
    frame: bytes | None = None

    def payload(self) -> bytes:
        """The message as the payload of one frame."""
        message = self.message
        if isinstance(message, LoggedEvent):
            return event_frame(message.room, message.v, message.at_ms, message.body)
        return format_message(message)


class Batch(Struct, eq=False):
    """Messages that a number of connections receive together."""

    messages: tuple[Outbound, ...]
    #: The WebSocket frames, which `server.net.frames` builds when a socket first needs them.
    frames: bytes | None = None
