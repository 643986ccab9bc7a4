"""The bus inside one process: every subscriber is called before `publish` returns."""

from collections.abc import Callable
from typing import TypeVar

from server.bus.base import (
    BusCounters,
    BusMessage,
    Ephemeral,
    EventsAppended,
    GapHandler,
    PresenceReport,
    Receive,
    ReceiveNode,
)

T = TypeVar("T")


class LocalBus:
    """A `server.bus.base.Bus` for one node: it is always up."""

    is_up = True

    def __init__(self) -> None:
        self._receivers: dict[str, list[Receive]] = {}
        self._listeners: list[ReceiveNode] = []
        self._gap_handlers: list[GapHandler] = []

    def publish(self, message: BusMessage) -> None:
        if isinstance(message, EventsAppended | Ephemeral | PresenceReport):
            for receive in tuple(self._receivers.get(message.room, ())):
                receive(message)
        else:
            for listen in tuple(self._listeners):
                listen(message)

    def subscribe(self, room: str, receive: Receive) -> Callable[[], None]:
        self._receivers.setdefault(room, []).append(receive)

        def unsubscribe() -> None:
            receivers = self._receivers[room]
            receivers.remove(receive)
            if not receivers:
                del self._receivers[room]

        return unsubscribe

    def listen(self, receive: ReceiveNode) -> Callable[[], None]:
        return _add_callback(self._listeners, receive)

    def on_gap(self, call: GapHandler) -> Callable[[], None]:
        return _add_callback(self._gap_handlers, call)

    def counters(self) -> BusCounters:
        return BusCounters()


def _add_callback(callbacks: list[T], callback: T) -> Callable[[], None]:
    """Adds a callback; returns a function that removes it."""
    callbacks.append(callback)
    return lambda: callbacks.remove(callback)
