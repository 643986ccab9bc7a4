"""The bus inside one process: every subscriber is called before `publish` returns."""

from collections.abc import Callable

from server.bus.base import BusMessage, Receive


class LocalBus:
    """See `server.bus.base.Bus`."""

    def __init__(self) -> None:
        self._receivers: dict[str, list[Receive]] = {}

    def publish(self, message: BusMessage) -> None:
        for receive in tuple(self._receivers.get(message.room, ())):
            receive(message)

    def subscribe(self, room: str, receive: Receive) -> Callable[[], None]:
        self._receivers.setdefault(room, []).append(receive)

        def unsubscribe() -> None:
            receivers = self._receivers[room]
            receivers.remove(receive)
            if not receivers:
                del self._receivers[room]

        return unsubscribe
