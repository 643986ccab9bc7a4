"""The time of day as a node gives it to events: on a clock that nobody sets."""

from collections.abc import Callable

import structlog

log = structlog.get_logger()

#: Difference from the machine's time of day above which that was set, in ms. A smaller one is only
#: made up little by little.
STEP_MS = 1_000
#: Most of a difference that one call of `follow` makes up, in ms.
MAX_SLEW_MS = 5


class NodeClock:
    """The time of day at the start of the process, and since then the clock that nobody sets.

    So a step of the machine's time of day takes no time from the clock of a player and gives none,
    but for the little by which this clock comes nearer while it cannot take the step over.
    `wall_ms` is the machine's time of day, in ms since 1970, and `uptime_ms` the clock that nobody
    sets.
    """

    __slots__ = ("_is_off", "_offset_ms", "_uptime_ms", "_wall_ms")

    def __init__(self, wall_ms: Callable[[], int], uptime_ms: Callable[[], int]) -> None:
        self._wall_ms = wall_ms
        self._uptime_ms = uptime_ms
        self._offset_ms = wall_ms() - uptime_ms()
        self._is_off = False

    def now_ms(self) -> int:
        """The time in ms since 1970."""
        return self._uptime_ms() + self._offset_ms

    def follow(self, may_step: bool) -> bool:
        """Comes nearer to the machine's time of day; the node calls it every second or so.

        Where that was set, takes it over at once if `may_step`: no player's clock is running.
        Returns whether it was set and is not taken over, which the log has once.
        """
        ahead_ms = self._wall_ms() - self.now_ms()
        is_off = abs(ahead_ms) > STEP_MS
        if is_off and may_step:
            self._offset_ms += ahead_ms
            log.warning("the time of day was set", ahead_ms=ahead_ms)
            is_off = False
        else:
            self._offset_ms += max(-MAX_SLEW_MS, min(MAX_SLEW_MS, ahead_ms))
            if is_off and not self._is_off:
                log.warning("the time of day was set while clocks may run", ahead_ms=ahead_ms)
        self._is_off = is_off
        return is_off
