"""The watchdog names the game that blocks the event loop."""

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest
import structlog

from server.process import watchdog

BLOCKING_RULES = """
NAME = "sleepy"
RULES = "wait"
MAX_MOVES = 1


def status(entered, wake):
    entered.set()
    wake.wait(20)
"""


async def test_a_game_that_blocks_the_loop_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A blocked loop is reported once, with the game whose rules it is in."""
    reported = threading.Event()
    lines: list[dict[str, Any]] = []

    def error(event: str, **fields: Any) -> None:
        lines.append({"event": event, **fields})
        reported.set()

    monkeypatch.setattr(watchdog, "log", SimpleNamespace(error=error))
    rules: dict[str, Any] = {}
    exec(compile(BLOCKING_RULES, "sleepy.py", "exec"), rules)
    with watchdog.watch_loop(limit_s=0.05):
        # Blocks this loop until the watchdog reports it.
        rules["status"](threading.Event(), reported)
    assert [(line["event"], line["game"]) for line in lines] == [("event loop blocked", "sleepy")]


async def test_a_loop_that_only_waits_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that only waits is not reported, for any length of time."""
    beat_s, now_s = 0.01, [0.0]
    monkeypatch.setattr(watchdog, "HEARTBEAT_S", beat_s)
    monkeypatch.setattr(watchdog, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    with structlog.testing.capture_logs() as lines, watchdog.watch_loop(limit_s=5 * beat_s):
        for _ in range(30):
            await asyncio.sleep(beat_s)
            now_s[0] += beat_s
    assert lines == []
