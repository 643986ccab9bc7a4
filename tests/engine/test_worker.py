"""The worker's side of the pipe, without a process."""

import threading
from itertools import pairwise
from multiprocessing import Pipe
from types import SimpleNamespace

import pytest

from engine.pool import worker as worker_module
from engine.pool.messages import Progress, decode_message
from engine.pool.worker import PROGRESS_S, Worker
from engine.rules.registry import load_game
from engine.search.driver import Control, _live_info
from engine.search.job import Info


def info_of(depth: int, nodes: int) -> Info:
    return Info(depth=depth, score=0, nodes=nodes, nps=0, time_ms=0, pv=("1",))


def test_a_live_count_never_goes_back() -> None:
    """A node count that is older than a completed depth is not reported after it."""
    position = load_game("tic-tac-toe").start()
    control = Control()
    control.clear_published()
    assert _live_info(position, info_of(2, 15), control, 1.0).nodes == 15


def test_a_depth_does_not_overtake_a_count() -> None:
    """A completed depth waits until the companion has sent the count that it has read."""
    ours, theirs = Pipe()
    worker = Worker(SimpleNamespace(Control=lambda words: words), theirs, None, 0)
    has_read, may_tell = threading.Event(), threading.Event()

    def slowly() -> Info:
        has_read.set()
        assert may_tell.wait(60)
        return info_of(1, 15)

    companion = threading.Thread(target=worker._send_progress, args=(7, slowly))
    companion.start()
    assert has_read.wait(60)
    search = threading.Thread(target=worker._send_progress, args=(7, lambda: info_of(2, 20)))
    search.start()
    search.join(0.05)  # without the lock it would be through by now
    may_tell.set()
    companion.join(60)
    search.join(60)
    told = []
    while ours.poll():
        message = decode_message(ours.recv_bytes())
        assert isinstance(message, Progress)
        told.append((message.info.depth, message.info.nodes))
    assert told == [(1, 15), (2, 20)]


def test_a_search_is_ended_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The companion expires a search once, exactly at its deadline.

    It reports the node count before and after.
    """
    now_s = [0.0]
    expired: list[float] = []
    looks: list[float] = []

    class Ended:
        def wait(self, seconds: float) -> bool:
            now_s[0] += seconds
            return now_s[0] > 1.8

    monkeypatch.setattr(worker_module, "time", SimpleNamespace(perf_counter=lambda: now_s[0]))
    monkeypatch.setattr(worker_module, "_live_info", lambda running: looks.append(now_s[0]))
    worker = Worker(SimpleNamespace(Control=lambda words: words), Pipe()[1], None, 0)
    running = SimpleNamespace(seconds=1.0, expire=lambda: expired.append(now_s[0]))
    worker._run_companion(7, running, Ended())  # type: ignore[arg-type]
    assert expired == pytest.approx([1.0])
    assert min(looks) == pytest.approx(PROGRESS_S)
    assert max(looks) > 1.0
    assert max(later - sooner for sooner, later in pairwise(looks)) <= 2 * PROGRESS_S
