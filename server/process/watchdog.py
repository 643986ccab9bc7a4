"""Logs when the event loop is blocked, and ends the rule of a game that blocks it for good.

Rules run in the event loop, and those of a plug-in may never return. A thread looks for the
heartbeats of the loop. While there are none it names the game that runs, and sends the loop's
thread a signal four times a second. The signal's handler runs in that thread, between two
instructions of whatever Python code it executes, so it sees the exact stack, and what it raises is
raised there. It raises RuleInterrupted only

- inside a rule that a `RulesCall` has called, where that call turns it into a GameHung, and
- if the same call was open at each of the last signals, as many as a call may take. A process that
  was stopped or starved meanwhile has got fewer of them: time in which it did not run does not
  count.

Before, it adds the game to `refused_games`: no rule of it is called again in this process. A rule
that catches the exception and goes on gets it again, with each signal.

A loop inside a function written in C is not interrupted: no handler runs until the function
returns. Neither are rules that run in other threads, nor any on a system without
`signal.pthread_kill` (Windows), where the game is only named.
"""

import asyncio
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import structlog

from engine.rules.call import RulesCall, open_calls, refused_games
from engine.rules.errors import RuleInterrupted

log = structlog.get_logger()

#: Time between two heartbeats of the loop, and between two checks of them, in seconds.
HEARTBEAT_S = 0.25
#: Time without a heartbeat after which the loop is blocked, in seconds.
BLOCKED_S = 1.0
#: The signal that pokes the loop's thread; None on a system without it. It is ignored by default,
#: so one that is sent too late does no harm: the reason for which Go preempts its threads with it.
POKE: signal.Signals | None = getattr(signal, "SIGURG", None)

#: The methods in whose frames a call is being opened or closed.
_BORDERS = (RulesCall.__enter__.__code__, RulesCall.__exit__.__code__)


def hung_pokes(rule_s: float) -> int:
    """The number of pokes after which a call has taken `rule_s` seconds; the first comes when the
    loop is blocked.
    """
    return max(1, round((rule_s - BLOCKED_S) / HEARTBEAT_S))


class RuleInterrupter:
    """Ends the call of a rule that is open at `hung_pokes` pokes in a row; 0 ends none."""

    def __init__(self, hung_pokes: int) -> None:
        self._hung_pokes = hung_pokes
        self._call: RulesCall | None = None
        self._pokes = 0
        #: The game and the place of each interruption that `take_interruptions` has not returned.
        self._interruptions: list[tuple[str, str | None]] = []

    def poke(self, _signal: int, frame: FrameType | None) -> None:
        """Handles the signal: `frame` is what the thread executes.

        Raises RuleInterrupted if a rule that hangs is executed in it.
        """
        call, is_inside = find_call(frame)
        self._pokes = self._pokes + 1 if call is not None and call is self._call else 1
        self._call = call
        if call is None or not is_inside or not 0 < self._hung_pokes <= self._pokes:
            return
        refused_games[call.game_id] = (
            f"{call.game_id} cannot be played until this server restarts: "
            f"its rules did not return from {call.hook}"
        )
        self._interruptions.append((call.game_id, location_of(frame)))
        raise RuleInterrupted(refused_games[call.game_id])

    def take_interruptions(self) -> list[tuple[str, str | None]]:
        """The game and the place in its rules of each interruption since the last call."""
        taken, self._interruptions = self._interruptions, []
        return taken


def find_call(frame: FrameType | None) -> tuple[RulesCall | None, bool]:
    """The outermost open call of a rule in this thread's stack, and whether an exception that is
    raised in `frame` now would reach its exit.

    It would not in the frame of the `with` statement itself, where the rule has not been called or
    has returned, nor while the call is being opened or closed. It would be lost in a finalizer that
    happens to run inside the rule.
    """
    found: tuple[RulesCall | None, bool] = None, False
    inner: FrameType | None = None
    is_finalizer = False
    while frame is not None:
        call = open_calls.get(frame)
        if call is not None:
            is_border = inner is None or inner.f_code in _BORDERS
            found = call, not is_border and not is_finalizer
        is_finalizer = is_finalizer or frame.f_code.co_name == "__del__"
        inner, frame = frame, frame.f_back
    return found


@contextmanager
def _handling_pokes(interrupter: RuleInterrupter) -> Iterator[Callable[[], None]]:
    """Installs the handler; yields the function with which another thread pokes this one. It does
    nothing where there is no such signal, and outside the main thread, which handles all signals.
    """
    thread_id, is_main = (
        threading.get_ident(),
        threading.current_thread() is threading.main_thread(),
    )
    poke_signal = POKE
    if poke_signal is None or not hasattr(signal, "pthread_kill") or not is_main:
        yield lambda: None
        return
    previous = signal.signal(poke_signal, interrupter.poke)
    try:
        yield lambda: signal.pthread_kill(thread_id, poke_signal)
    finally:
        signal.signal(poke_signal, previous)


@contextmanager
def watch_loop(
    limit_s: float = BLOCKED_S,
    hung_pokes: int = 0,
    on_refused: Callable[[str], None] | None = None,
) -> Iterator[None]:
    """Watches the running event loop from a thread until the block ends.

    Logs one line each time the loop blocks, and ends a call of a rule that is open at `hung_pokes`
    pokes in a row (0 ends none); then the loop calls `on_refused` with the game's id.
    """
    loop = asyncio.get_running_loop()
    thread_id = threading.get_ident()
    stop = threading.Event()
    last_heartbeat_s = time.monotonic()
    timer: asyncio.TimerHandle | None = None
    interrupter = RuleInterrupter(hung_pokes)

    def on_heartbeat() -> None:
        nonlocal last_heartbeat_s, timer
        last_heartbeat_s = time.monotonic()
        timer = loop.call_later(HEARTBEAT_S, on_heartbeat)

    def report_interruptions() -> None:
        for game_id, place in interrupter.take_interruptions():
            log.error("game refused", game=game_id, at=place, reason=refused_games.get(game_id))
            if on_refused is not None:
                loop.call_soon_threadsafe(on_refused, game_id)

    def watch(poke: Callable[[], None]) -> None:
        is_reported = False
        while not stop.wait(HEARTBEAT_S):
            report_interruptions()
            is_blocked = time.monotonic() - last_heartbeat_s > limit_s + HEARTBEAT_S
            if is_blocked and not is_reported:
                frame = sys._current_frames().get(thread_id)
                log.error(
                    "event loop blocked",
                    seconds=limit_s,
                    game=game_of(frame),
                    at=location_of(frame),
                )
            is_reported = is_blocked
            if is_blocked:
                poke()

    on_heartbeat()
    with _handling_pokes(interrupter) as poke:
        thread = threading.Thread(target=watch, args=(poke,), name="watchdog", daemon=True)
        thread.start()
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
            stop.set()
            thread.join()
            report_interruptions()


def game_of(frame: FrameType | None) -> str | None:
    """The game whose rules a stack is in: that of its outermost open call, or else recognised by
    the names that every rules file defines.
    """
    call, _ = find_call(frame)
    if call is not None:
        return call.game_id
    while frame is not None:
        if "RULES" in frame.f_globals and "MAX_MOVES" in frame.f_globals:
            return str(frame.f_globals.get("NAME"))
        frame = frame.f_back
    return None


def location_of(frame: FrameType | None) -> str | None:
    """The top of a stack as text: file, line and function."""
    return (
        f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}"
        if frame is not None
        else None
    )
