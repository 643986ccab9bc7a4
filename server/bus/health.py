"""Measures whether a link is up: it sends echoes to itself, and is up while they return."""

import asyncio
import math
import secrets
from collections.abc import Callable

import aiomqtt
import structlog

from server.bus.broker import Broker

log = structlog.get_logger()

#: Time between two echoes, in seconds.
ECHO_PERIOD_S = 0.5
#: Maximum number of echoes whose send time is remembered.
MAX_PENDING_ECHOES = 20
#: Time without an echo after which the link is down, in seconds.
ECHO_TIMEOUT_S = 1.0


class Health:
    """The state of a link: it is up while its echoes show that messages get through both ways.

    It logs each interruption once, however many attempts to connect follow.
    """

    def __init__(self, broker: Broker, topic: str, on_change: Callable[[bool], None]) -> None:
        """The echoes go to `topic`; `on_change` is called with the new `is_up`."""
        self.is_up = False
        #: Round-trip time of the last echo, in seconds.
        self.round_trip_s = 0.0
        #: Whether the current interruption has been logged.
        self.is_reported_down = False
        self._broker = broker
        self.topic = topic
        self._on_change = on_change
        #: The send time of each echo, in seconds.
        self._echoes: dict[bytes, float] = {}
        self._last_echo_s = 0.0

    async def send_echoes(self, client: aiomqtt.Client, tasks: asyncio.TaskGroup) -> None:
        """Sends one echo at a time; sets the link down when none returns in `ECHO_TIMEOUT_S`."""
        sending: asyncio.Task[None] | None = None
        self._last_echo_s = _now_s()
        self._echoes.clear()
        while True:
            if sending is None or sending.done():
                echo = secrets.token_bytes(8)
                self._echoes[echo] = _now_s()
                if len(self._echoes) > MAX_PENDING_ECHOES:
                    del self._echoes[next(iter(self._echoes))]
                sending = tasks.create_task(
                    client.publish(self._broker.prefixed(self.topic), echo, timeout=math.inf),
                    name="broker echo out",
                )
            await asyncio.sleep(ECHO_PERIOD_S)
            if _now_s() - self._last_echo_s > ECHO_TIMEOUT_S:
                self.set_is_up(False)

    def receive_echo(self, topic: str, payload: bytes) -> None:
        """Handles an echo that the broker delivers."""
        sent_s = self._echoes.pop(payload, None)
        if sent_s is not None:
            self._last_echo_s = _now_s()
            self.round_trip_s = self._last_echo_s - sent_s
            self.set_is_up(True)

    def set_is_up(self, is_up: bool) -> None:
        """Sets `is_up` and reports a change."""
        if is_up is self.is_up:
            return
        self.is_up = is_up
        if is_up:
            self.is_reported_down = False
        elif not self.is_reported_down:
            self.is_reported_down = True
            log.warning("broker link down", broker=str(self._broker))
        self._on_change(is_up)

    def report_interruption(self, group: BaseExceptionGroup[BaseException]) -> None:
        """Logs why the connection ended, or why there is none: one line for each interruption."""
        if not self.is_reported_down:
            self.is_reported_down = True
            first: BaseException = group
            while isinstance(first, BaseExceptionGroup):
                first = first.exceptions[0]
            log.warning(
                "broker away", broker=str(self._broker), error=str(first) or type(first).__name__
            )


def _now_s() -> float:
    return asyncio.get_running_loop().time()
