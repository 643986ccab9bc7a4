"""The bus inside one process: every subscriber is called before `publish` returns."""

from collections.abc import Callable
from typing import TypeVar

from server.bus.base import (
    BusCounters,
    BusMessage,
    GapHandler,
    NodeHandler,
    RoomHandler,
    RoomMessage,
)

T = TypeVar("T")


class LocalBus:
    """A `server.bus.base.Bus` for one node: it is always up."""

    is_up = True

    def __init__(self) -> None:
        self._room_handlers: dict[str, list[RoomHandler]] = {}
        self._node_handlers: list[NodeHandler] = []
        self._gap_handlers: list[GapHandler] = []

    def publish(self, message: BusMessage) -> None:
        if isinstance(message, RoomMessage):
            for handle_room in tuple(self._room_handlers.get(message.room, ())):
                handle_room(message)
        else:
            for handle_node in tuple(self._node_handlers):
                handle_node(message)

    def subscribe(self, room: str, receive: RoomHandler) -> Callable[[], None]:
        self._room_handlers.setdefault(room, []).append(receive)

        def unsubscribe() -> None:
            handlers = self._room_handlers[room]
            handlers.remove(receive)
            if not handlers:
                del self._room_handlers[room]

        return unsubscribe

    def listen(self, receive: NodeHandler) -> Callable[[], None]:
        return _add_callback(self._node_handlers, receive)

    def on_gap(self, call: GapHandler) -> Callable[[], None]:
        return _add_callback(self._gap_handlers, call)

    def counters(self) -> BusCounters:
        return BusCounters()


def _add_callback(callbacks: list[T], callback: T) -> Callable[[], None]:
    """Adds a callback; returns a function that removes it."""
    callbacks.append(callback)
    return lambda: callbacks.remove(callback)
