"""`/metrics` on its own port, in Prometheus' text format, beside the health checks.

It is not on the players' port because operational data is private. By default it listens on this
machine only.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from engine.search.job import USES, Load
from server.bus.base import Bus
from server.net.listener import CannotListen
from server.ports import NoStudies
from server.process.metrics import Histogram, Metrics
from server.settings import Settings
from server.store.base import Condition
from server.web.connection import HttpConnections

#: The help text of each counter of `server.process.metrics.Metrics`.
COUNTERS = {
    "moves": "Moves that were committed, including the AI's",
    "commands": "Commands that were committed",
    "rejected": "Commands that the rules of a room refused",
    "conflicts": "Appends that lost to another node's append",
    "repeated": "Commands that were committed before and acknowledged again",
    "store_failures": "Requests to rooms that failed because of the store",
    "faults": "Requests that failed because of a bug in the server or in a game",
    "polls": "Periodic comparisons of all open rooms with the store, without a gap",
    "bad_answers": "Searches that workers answered with an invalid message or a quarantine",
    "evictions": "Connections that were closed because they read too slowly",
    "skipped": "Frames that slow readers missed",
    "study_documents": "Traces, lessons and boards that study processes made",
    "study_shared": "Requests for these that were answered from the cache or together with another",
    "study_stopped": "Traces that ended early, for their time or without a reader",
    "study_failures": "Study processes that ended, hung or ran out of memory during a job",
    "analysed_plies": "Positions of matches that were analysed",
    "analyses": "Analyses of matches that were completed",
}
#: The metric's name and the help text of each histogram of `Metrics`.
HISTOGRAMS = {
    "study_start_s": (
        "study_start_seconds",
        "Time from a request for a trace, a lesson or boards to their first part",
    ),
    "append_s": ("append_seconds", "Time from an append to its commit"),
    "bus_lag_s": (
        "bus_lag_seconds",
        "Time from a commit on another node to the arrival of its events",
    ),
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Gauges:
    """The sources of the gauges, which are read at each scrape."""

    rooms: Callable[[], int]
    connections: Callable[[], int]
    searches: Callable[[], Load]
    bus: Bus
    studies: Callable[[], Load] = NoStudies().load
    store: Callable[[], Condition] = lambda: Condition("ok")


class NodeCollector:
    """Collects a node's metrics at each scrape."""

    def __init__(self, metrics: Metrics, gauges: Gauges) -> None:
        self._metrics = metrics
        self._gauges = gauges

    def collect(self) -> Iterator[Metric]:
        """Yields the metric families, each with one sample or one histogram."""
        for name, text in COUNTERS.items():
            yield CounterMetricFamily(f"plyroom_{name}", text, getattr(self._metrics, name))
        for field, (name, text) in HISTOGRAMS.items():
            histogram: Histogram = getattr(self._metrics, field)
            yield HistogramMetricFamily(
                f"plyroom_{name}", text, histogram.cumulative(), histogram.total
            )
        load = self._gauges.searches()
        yield GaugeMetricFamily("plyroom_rooms", "Rooms in memory", self._gauges.rooms())
        yield GaugeMetricFamily("plyroom_connections", "Open sockets", self._gauges.connections())
        yield GaugeMetricFamily(
            "plyroom_searches_running", "Searches that are running", load.running
        )
        yield GaugeMetricFamily(
            "plyroom_searches_waiting", "Searches that wait for a worker", load.waiting
        )
        yield from _search_classes(load)
        yield GaugeMetricFamily(
            "plyroom_search_workers", "Search processes that are ready", load.workers
        )
        yield GaugeMetricFamily(
            "plyroom_worker_games_other_rules",
            "Games that workers offer with rules other than this node's",
            load.other_rules,
        )
        studies = self._gauges.studies()
        yield GaugeMetricFamily(
            "plyroom_study_running", "Jobs that study processes run", studies.running
        )
        yield GaugeMetricFamily(
            "plyroom_study_waiting", "Jobs that wait for a study process", studies.waiting
        )
        condition = self._gauges.store()
        yield GaugeMetricFamily(
            "plyroom_store_read_only",
            "Whether the store takes no writes: it is read-only, or its disk is full",
            condition.name == "read-only",
        )
        yield GaugeMetricFamily(
            "plyroom_store_damaged",
            "Whether the store has pages that cannot be read",
            condition.name == "damaged",
        )
        bus = self._gauges.bus.counters()
        yield GaugeMetricFamily(
            "plyroom_bus_flows",
            "Whether messages to other nodes get through",
            self._gauges.bus.is_up,
        )
        yield GaugeMetricFamily(
            "plyroom_bus_echo_seconds",
            "Round-trip time of the last message of this node to itself",
            bus.echo_s,
        )
        yield CounterMetricFamily(
            "plyroom_bus_refused", "Bus messages that were malformed or forged", bus.refused
        )
        yield CounterMetricFamily(
            "plyroom_bus_dropped", "Ephemeral bus messages that were dropped", bus.dropped
        )
        yield CounterMetricFamily(
            "plyroom_bus_lost", "Other bus messages that were dropped", bus.lost
        )


def _search_classes(load: Load) -> Iterator[Metric]:
    """Yields the searches by class: an AI's move (live), a question (ask), an analysis (study)."""
    running = GaugeMetricFamily(
        "plyroom_class_searches_running", "Searches of a class that run", labels=["class"]
    )
    waiting = GaugeMetricFamily(
        "plyroom_class_searches_waiting", "Searches of a class that wait", labels=["class"]
    )
    preempted = CounterMetricFamily(
        "plyroom_class_searches_preempted",
        "Times that a more urgent search in the node's own pool took the place of one of a class",
        labels=["class"],
    )
    for use in USES:
        each = load.of(use)
        running.add_metric([use], each.running)
        waiting.add_metric([use], each.waiting)
        preempted.add_metric([use], each.preempted)
    yield from (running, waiting, preempted)


@asynccontextmanager
async def serve_metrics(
    settings: Settings, collector: NodeCollector, livez: Handler, readyz: Handler
) -> AsyncIterator[int | None]:
    """Serves metrics until the block ends; yields the port, or None if none is set.

    Setting 0 takes a free port. Raises CannotListen if the port is not available.
    """
    if settings.metrics_port is None:
        yield None
        return
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)

    async def metrics(request: web.Request) -> web.Response:
        return web.Response(
            body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4}
        )

    app = web.Application()
    app.router.add_routes(
        [web.get("/metrics", metrics), web.get("/livez", livez), web.get("/readyz", readyz)]
    )
    app.on_response_prepare.append(_drop_server_header)
    runner = web.AppRunner(app, shutdown_timeout=1.0)
    await runner.setup()
    connections = HttpConnections(runner, lambda method, path: 0, settings.silence_s)
    try:
        server = await _listen(connections, settings.metrics_host, settings.metrics_port)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
    finally:
        await runner.cleanup()


async def _drop_server_header(request: web.Request, response: web.StreamResponse) -> None:
    """Removes the Server header, which reveals versions."""
    response.headers.pop("Server", None)


async def _listen(connections: HttpConnections, host: str, port: int) -> asyncio.Server:
    try:
        return await asyncio.get_running_loop().create_server(connections.make, host, port)
    except OSError as error:
        raise CannotListen(
            f"cannot serve metrics on {host} port {port}: {error.strerror or error}"
        ) from error
