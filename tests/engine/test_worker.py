"""The worker's side of the pipe, without a process."""

from multiprocessing import Pipe
from types import SimpleNamespace

from engine.pool.messages import Progress, decode_news
from engine.pool.worker import Worker
from engine.search.job import Info


def test_a_count_that_a_depth_overtook_is_not_told() -> None:
    """The companion reads a node count, the search completes a depth and tells it: the count is old news by then."""
    ours, theirs = Pipe()
    worker = Worker(SimpleNamespace(Control=lambda words: words), theirs, None, 0)
    for nodes in (10, 20, 15, 20, 30):
        worker._tell(7, Info(depth=1, score=0, nodes=nodes, nps=0, time_ms=0, pv=("1",)))
    told = []
    while ours.poll():
        news = decode_news(ours.recv_bytes())
        assert isinstance(news, Progress)
        told.append(news.info.nodes)
    assert told == [10, 20, 20, 30]
