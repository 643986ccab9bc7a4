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
        """Serves a message and returns True if that needs no waiting.

        Otherwise returns False, and `recv` returns the message.
        """


class Connection(ServerConnection):
    """A WebSocket connection that can hand over messages at once, and calls `on_disconnect` when it
    ends.

    `recv` costs a turn of the event loop and a task switch for each message. With a `reader`, most
    messages cost neither: a message in one ASCII text frame goes to `reader.serve_at_once`, unless
    an earlier one is still unhandled. The reader calls `on_handled` after each message that `recv`
    returned.
    """

    # Not in the instance's dictionary: with more than 30 keys it would take 2 KB per connection.
    __slots__ = ("_on_disconnect", "_unhandled_count", "reader")

    def __init__(
        self, on_disconnect: Callable[[ServerConnection], None], *arguments: Any, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._on_disconnect = on_disconnect
        self.reader: Reader | None = None
        #: The number of messages that `recv` has returned or will return, and that are not handled
        #: yet.
        self._unhandled_count = 0

    def on_handled(self) -> None:
        """Notes that the reader has handled a message of `recv`."""
        self._unhandled_count -= 1

    def process_event(self, event: Event) -> None:
        if isinstance(event, Frame) and event.opcode in DATA_OPCODES and event.fin:
            if (
                self._unhandled_count == 0
                and self.reader is not None
                and event.opcode is Opcode.TEXT
                and (data := bytes(event.data)).isascii()
                and self.reader.serve_at_once(data)
            ):
                return
            self._unhandled_count += 1
        super().process_event(event)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._on_disconnect(self)
