"""Logs when the event loop is blocked, and by which game.

Rules run in the event loop, and those of a plug-in may hang. Nothing can interrupt them from
outside, but the operator learns which game blocked the server.
"""

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import structlog

log = structlog.get_logger()

#: Time between two heartbeats of the loop, and between two checks of them, in seconds.
HEARTBEAT_S = 0.25
#: Time without a heartbeat after which the loop is blocked, in seconds.
BLOCKED_S = 1.0


@contextmanager
def watch_loop(limit_s: float = BLOCKED_S) -> Iterator[None]:
    """Watches the running event loop from a thread until the block ends.

    Logs one line each time the loop blocks.
    """
    loop = asyncio.get_running_loop()
    thread_id = threading.get_ident()
    stop = threading.Event()
    last_heartbeat_s = time.monotonic()
    timer: asyncio.TimerHandle | None = None

    def on_heartbeat() -> None:
        nonlocal last_heartbeat_s, timer
        last_heartbeat_s = time.monotonic()
        timer = loop.call_later(HEARTBEAT_S, on_heartbeat)

    def watch() -> None:
        is_reported = False
        while not stop.wait(HEARTBEAT_S):
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

    on_heartbeat()
    thread = threading.Thread(target=watch, name="watchdog", daemon=True)
    thread.start()
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
        stop.set()
        thread.join()


def game_of(frame: FrameType | None) -> str | None:
    """The game whose rules a stack is in, recognised by the names that every rules file defines."""
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
