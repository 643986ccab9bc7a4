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
from engine.search.job import NO_COUNTS, Info


def info_of(depth: int, nodes: int) -> Info:
    """Returns an info with this depth and number of nodes."""
    return Info(depth=depth, score=0, nodes=nodes, nps=0, time_ms=0, pv=("1",))


def test_a_node_count_never_decreases() -> None:
    """A live report never has fewer nodes than the last completed depth."""
    position = load_game("tic-tac-toe").start()
    control = Control()
    control.clear_published()
    assert _live_info(position, info_of(2, 15), control, NO_COUNTS, 1.0).nodes == 15


def test_a_depth_is_sent_after_an_earlier_count() -> None:
    """A completed depth waits until the companion has sent the count that it has read."""
    server_end, worker_end = Pipe()
    worker = Worker(SimpleNamespace(Control=lambda words: words), worker_end, None, 0)
    has_read, may_send = threading.Event(), threading.Event()

    def read_slowly() -> Info:
        has_read.set()
        assert may_send.wait(60)
        return info_of(1, 15)

    companion = threading.Thread(target=worker._send_progress, args=(7, read_slowly))
    companion.start()
    assert has_read.wait(60)
    search = threading.Thread(target=worker._send_progress, args=(7, lambda: info_of(2, 20)))
    search.start()
    search.join(0.05)  # without the lock it would have ended by now
    may_send.set()
    companion.join(60)
    search.join(60)
    sent = []
    while server_end.poll():
        message = decode_message(server_end.recv_bytes())
        assert isinstance(message, Progress)
        sent.append((message.info.depth, message.info.nodes))
    assert sent == [(1, 15), (2, 20)]


def test_a_search_expires_at_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The companion expires a search once, at its deadline.

    It reports node counts before and after the deadline.
    """
    now_s = [0.0]
    expired: list[float] = []
    report_times_s: list[float] = []

    class FakeEndEvent:
        """The event of the search's end, 1.8 s after its start."""

        def wait(self, seconds: float) -> bool:
            now_s[0] += seconds
            return now_s[0] > 1.8

    monkeypatch.setattr(worker_module, "time", SimpleNamespace(perf_counter=lambda: now_s[0]))
    monkeypatch.setattr(
        worker_module, "_live_info", lambda running: report_times_s.append(now_s[0])
    )
    worker = Worker(SimpleNamespace(Control=lambda words: words), Pipe()[1], None, 0)
    running = SimpleNamespace(seconds=1.0, expire=lambda: expired.append(now_s[0]))
    worker._run_companion(7, running, FakeEndEvent())  # type: ignore[arg-type]
    assert expired == pytest.approx([1.0])
    assert min(report_times_s) == pytest.approx(PROGRESS_S)
    assert max(report_times_s) > 1.0
    gaps_s = [later - earlier for earlier, later in pairwise(report_times_s)]
    assert max(gaps_s) <= 2 * PROGRESS_S
