"""Tells when something has blocked the event loop, and which game it was: rules run here, and a
plug-in may hang.

Nothing can stop Python code from outside; but who hosts a club's evening should learn which game
froze it.
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

BEAT_S = 0.25
#: A loop that has not turned for so long is blocked.
LIMIT_S = 1.0


@contextmanager
def watch_loop(limit_s: float = LIMIT_S) -> Iterator[None]:
    """Watches the running event loop from a thread until the block ends; one log line each time
    that it blocks.
    """
    loop = asyncio.get_running_loop()
    thread_id = threading.get_ident()
    stop = threading.Event()
    beat_s = time.monotonic()
    timer: asyncio.TimerHandle | None = None

    def beat() -> None:
        nonlocal beat_s, timer
        beat_s = time.monotonic()
        timer = loop.call_later(BEAT_S, beat)

    def watch() -> None:
        told = False
        while not stop.wait(BEAT_S):
            blocked = time.monotonic() - beat_s > limit_s + BEAT_S
            if blocked and not told:
                frame = sys._current_frames().get(thread_id)
                log.error(
                    "event loop blocked", seconds=limit_s, game=game_of(frame), at=place_of(frame)
                )
            told = blocked

    beat()
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
    """The game whose rules a stack is in: a rules file is known by the names that every one
    defines.
    """
    while frame is not None:
        if "RULES" in frame.f_globals and "MAX_MOVES" in frame.f_globals:
            return str(frame.f_globals.get("NAME"))
        frame = frame.f_back
    return None


def place_of(frame: FrameType | None) -> str | None:
    """Where a stack is: file, line and function."""
    return (
        f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}"
        if frame is not None
        else None
    )
