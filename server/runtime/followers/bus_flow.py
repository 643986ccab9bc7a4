"""Whether this node receives every message of the other nodes, and since when."""

from server.bus.base import Bus
from server.runtime.followers.listening import ListeningClock


class BusFlow:
    """The time since which the bus has delivered every message to this node, as far as it can tell.

    Messages may have been lost while the bus is down, while a node is silent that is alive in the
    store, and when a node reports that some of its messages were lost.
    """

    __slots__ = ("_bus", "_is_interrupted", "_since_ms", "clock")

    def __init__(self, bus: Bus, clock: ListeningClock) -> None:
        self._bus = bus
        self.clock = clock
        self._is_interrupted = False
        self._since_ms = clock.now_ms()

    @property
    def since_ms(self) -> int | None:
        """The start of the current flow on `clock`; None while the bus does not flow."""
        return None if self._is_interrupted or not self._bus.is_up else self._since_ms

    def restart(self) -> None:
        """Begins anew: some messages before now may have been lost."""
        self._since_ms = self.clock.now_ms()

    def set_interrupted(self, is_interrupted: bool) -> bool:
        """Interrupts the flow, or begins it anew after an interruption. Returns whether this is a
        change.
        """
        if is_interrupted is self._is_interrupted:
            return False
        self._is_interrupted = is_interrupted
        self.restart()
        return True
