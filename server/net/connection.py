"""One WebSocket of a client, as the listener makes it."""

from collections.abc import Callable
from typing import Any, Protocol

from websockets.asyncio.server import ServerConnection
from websockets.frames import Frame, Opcode
from websockets.protocol import Event

#: The opcodes of the frames that carry messages.
DATA_OPCODES = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)


class Reader(Protocol):
    """Takes messages of a connection."""

    def serve_at_once(self, text: bytes) -> bool:
        """Serves a message if that takes no waiting; returns whether it has. If not, `recv` returns
        it.
        """


class Connection(ServerConnection):
    """A WebSocket connection that can hand over messages at once, and calls `on_disconnect` when it
    ends.

    `recv` costs a turn of the event loop and a task switch for each message. A `reader` gets most
    messages without: those in one text frame of ASCII, as long as it has handled all messages that
    it received before. It calls `on_handled` after each one that `recv` returned.
    """

    # Not in the instance's dictionary: with more than 30 keys it would take 2 KB per connection.
    __slots__ = ("_on_disconnect", "_unhandled", "reader")

    def __init__(
        self, on_disconnect: Callable[[ServerConnection], None], *arguments: Any, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._on_disconnect = on_disconnect
        self.reader: Reader | None = None
        #: The messages that `recv` has returned or will return, and that are not handled yet.
        self._unhandled = 0

    def on_handled(self) -> None:
        """Notes that the reader has handled a message of `recv`."""
        self._unhandled -= 1

    def process_event(self, event: Event) -> None:
        if isinstance(event, Frame) and event.opcode in DATA_OPCODES and event.fin:
            if (
                self._unhandled == 0
                and self.reader is not None
                and event.opcode is Opcode.TEXT
                and (data := bytes(event.data)).isascii()
                and self.reader.serve_at_once(data)
            ):
                return
            self._unhandled += 1
        super().process_event(event)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._on_disconnect(self)
