"""Builds a server out of a store, a bus, engines and a listener.

No other module chooses implementations.
"""

import asyncio
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import (
    AbstractAsyncContextManager,
    ExitStack,
    asynccontextmanager,
    nullcontext,
    suppress,
)
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from aiohttp import web
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Response

from engine.compiler.code_cache import cache_folder
from engine.rules.registry import game_ids, load_game
from engine.strategy_pool.pool import StrategyPool
from engine.study_pool.messages import Limits
from engine.study_pool.pool import StudyPool
from server.address import Origin, Proxies, parse_proxies
from server.analysis.runner import open_analyses
from server.bot.bot import open_bot
from server.bot.coach import open_coach
from server.bot.hints import open_hints
from server.bot.registry import all_commands, kind_of_question
from server.bus.base import Bus
from server.bus.broker import broker_of
from server.bus.local import LocalBus
from server.export_process import ExportPool
from server.identity.credentials import parse_credentials
from server.ids import NodeId
from server.limits.by_address import LimitExceeded, SocketLimit
from server.net.connection import Connection
from server.net.listener import listen, plain_response
from server.net.session import Sessions
from server.ports import Engines, NoEngines, Ports, random_id, uptime_ms
from server.process.failpoint import make_failpoint
from server.process.metrics import Metrics
from server.process.node_clock import NodeClock
from server.process.watchdog import hung_pokes, watch_loop
from server.runtime.node.duties import open_hub
from server.runtime.node.hub import Hub
from server.seats.background import BackgroundSearches
from server.seats.strategies import Strategies, StrategyEngines
from server.settings import SettingError, Settings
from server.store.base import Store, wall_clock_ms
from server.store.location import open_store
from server.store.lock import lock_folder
from server.web.api import Api, body_limit, make_app
from server.web.client_files import client_folder
from server.web.connection import HttpConnections
from server.web.pages import Pages

#: Time that a stopping server gives HTTP requests in progress, in seconds.
SHUTDOWN_S = 1.0


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that accepts connections on `port` of its `addresses`, and serves its metrics on
    `metrics_port`.
    """

    port: int
    addresses: tuple[str, ...]
    metrics_port: int | None
    hub: Hub
    sessions: Sessions


@asynccontextmanager
async def open_server(settings: Settings, engines: Engines | None) -> AsyncIterator[RunningServer]:
    """Runs a server until the block ends.

    Raises StoreUnavailable or CannotListen when it cannot start.
    """
    load_games()
    # Only one server may use a SQLite file. Nodes on PostgreSQL coordinate through the database.
    with nullcontext() if settings.database else lock_folder(settings.data), ExitStack() as stack:
        async with _open_with_store(settings, engines) as running:
            # Not during the start, when imports block the loop, but to the very end: commands that
            # have arrived are served while the server closes.
            watch = watch_loop(
                hung_pokes=hung_pokes(settings.rule_s), on_refused=running.hub.on_game_refused
            )
            stack.enter_context(watch)
            yield running


def load_games() -> None:
    """Loads the files of all games at the start.

    Later, a server with many connections may have no file descriptor left. A faulty file is
    reported when a client requests its game.
    """
    for game_id in game_ids():
        with suppress(Exception):  # a plug-in's file may raise anything while it is imported
            load_game(game_id)


@asynccontextmanager
async def open_bus(settings: Settings, node: str, store: Store) -> AsyncIterator[Bus]:
    """Opens the bus to the other nodes of this store.

    Raises SettingError when the settings name an invalid broker.
    """
    broker = broker_of(settings)
    if broker is None:
        yield LocalBus()
        return
    try:
        from server.bus.mqtt import open_mqtt_bus
    except ImportError as error:
        raise SettingError("a bus needs the extra mqtt: pip install 'plyroom[mqtt]'") from error
    async with open_mqtt_bus(broker, node, await store.bus_key()) as bus:
        yield bus


def make_engines(
    bus: Bus, node: str, local: Engines | None, strategies: Strategies, metrics: Metrics
) -> Engines:
    """The engines of this node: the local pool, if any, the processes for strategies, and workers
    if there is a broker.
    """
    if isinstance(bus, LocalBus):
        return StrategyEngines(local or NoEngines(), strategies, load_game)
    from server.bus.mqtt import MqttBus
    from server.seats.remote import RemoteEngines

    assert isinstance(bus, MqttBus), "a bus is local or MQTT"
    engines = RemoteEngines(bus.link, node, load_game, local, metrics)
    return StrategyEngines(engines, strategies, load_game, has_workers=True)


@asynccontextmanager
async def _open_with_store(
    settings: Settings, engines: Engines | None
) -> AsyncIterator[RunningServer]:
    """Runs a node on the store and the bus that the settings name."""
    node = node_name(settings)
    async with (
        open_store(settings) as store,
        open_bus(settings, node, store) as bus,
        StrategyPool(settings.strategy_processes, settings.strategy_memory_mib << 20) as strategies,
        open_studies(settings) as studies,
        ExportPool(settings) as exporter,
    ):
        metrics, clock = Metrics(), NodeClock(wall_clock_ms, uptime_ms)
        all_engines = make_engines(bus, node, engines, strategies, metrics)
        ports = Ports(
            node=node, settings=settings, store=store, bus=bus, engines=all_engines,
            find_game=load_game, now_ms=clock.now_ms, new_id=random_id, metrics=metrics,
            follow_clock=clock.follow,
            studies=studies, exporter=exporter, reached=make_failpoint(settings.failpoint),
            background=BackgroundSearches(all_engines, settings, time.monotonic),
            chat_commands=tuple(all_commands()), kind_of_question=kind_of_question,
        )  # fmt: skip
        async with open_node(ports, client_folder()) as running:
            yield running


def open_studies(settings: Settings) -> StudyPool:
    """The pool of study processes that the settings describe."""
    limits = Limits(settings.study_s, settings.study_nodes)
    return StudyPool(settings.study_processes, settings.study_memory_mib << 20, limits)


def node_name(settings: Settings) -> NodeId:
    """Returns a node name with a new random part, so that other nodes see a restart as a new node.

    Raises SettingError for an invalid `node` setting.
    """
    if not re.fullmatch(r"[A-Za-z0-9_.-]{0,40}", settings.node):
        raise SettingError("PLYROOM_NODE has at most 40 letters, digits, dots, - and _")
    return NodeId("-".join(filter(None, (settings.node, secrets.token_hex(6)))))


@asynccontextmanager
async def open_node(ports: Ports, client: Path) -> AsyncIterator[RunningServer]:
    """Runs one node with these interfaces: its hub, its sessions and its listener."""
    settings = ports.settings
    proxies = parse_proxies(settings.proxies)
    draining = asyncio.Event()
    async with (
        open_hub(ports) as hub,
        open_analyses(ports) as feed,
        open_bot(hub) as bot,
        open_hints(hub),
        open_coach(hub, bot),
    ):
        sessions = Sessions(hub)
        watch_task = asyncio.create_task(sessions.run(), name="silent sessions")
        api = Api(ports, hub.limits, draining.is_set, lambda: hub.clock_ahead_ms, hub.rename, feed)
        pages = Pages(client, ports)
        encode_task = asyncio.create_task(
            pages.encode_files(cache_folder), name="compressed client files"
        )
        application = make_app(api, pages.routes(), [pages.answer_missing_page])
        runner = web.AppRunner(application, shutdown_timeout=SHUTDOWN_S)
        await runner.setup()
        http = HttpConnections(runner, body_limit, settings.silence_s)
        sweep_task = asyncio.create_task(http.run(), name="stuck HTTP connections")

        async def serve_socket(socket: Connection) -> None:
            headers = socket.request.headers if socket.request else Headers()
            credentials = parse_credentials(
                headers.get_all("Cookie"), headers.get_all("Authorization"),
                ports.store.installation,
            )  # fmt: skip
            address = origin_of(socket, proxies).address
            # The handshake's headers are no longer needed. They would take 5 KB per connection.
            for handshake in (socket.request, socket.response):
                if handshake is not None:
                    handshake.headers.clear()
            await sessions.serve(socket, credentials, address)

        gate = Gate(hub.limits.sockets, proxies, lambda: len(sessions) >= settings.max_connections)

        async def drain() -> None:
            await sessions.drain(settings.drain_s)

        try:
            async with (
                _serve_metrics_port(hub, sessions, api) as metrics_port,
                listen(settings, runner, http, serve_socket, gate.admit, gate.release, drain) as (
                    port,
                    addresses,
                ),
            ):
                try:
                    yield RunningServer(port, addresses, metrics_port, hub, sessions)
                finally:
                    draining.set()
        finally:
            watch_task.cancel()
            sweep_task.cancel()
            encode_task.cancel()
            await runner.cleanup()


def _serve_metrics_port(
    hub: Hub, sessions: Sessions, api: Api
) -> AbstractAsyncContextManager[int | None]:
    """Serves /metrics and the health checks on their own port, if one is set, and yields it.

    Only then is Prometheus's library imported.
    """
    if hub.ports.settings.metrics_port is None:
        return nullcontext()
    from server.web.metrics import Gauges, NodeCollector, serve_metrics

    ports = hub.ports
    gauges = Gauges(
        lambda: len(hub), lambda: len(sessions), ports.engines.load, ports.bus, ports.studies.load,
        ports.store.condition,
    )  # fmt: skip
    return serve_metrics(
        ports.settings, NodeCollector(ports.metrics, gauges), api.livez, api.ready_details
    )


class Gate:
    """Admits connections, or refuses them at the handshake with a reason."""

    def __init__(self, sockets: SocketLimit, proxies: Proxies, is_full: Callable[[], bool]) -> None:
        self._sockets = sockets
        self._proxies = proxies
        self._is_full = is_full
        self._entered: dict[ServerConnection, str] = {}

    def admit(self, socket: ServerConnection) -> Response | None:
        """The response that refuses the connection; None if it is admitted."""
        if self._is_full():
            return plain_response(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "this server has reached its limit of connections",
            )
        address = origin_of(socket, self._proxies).address
        try:
            self._sockets.enter(address)
        except LimitExceeded as limit:
            return plain_response(HTTPStatus.TOO_MANY_REQUESTS, limit.message, limit.retry_s)
        self._entered[socket] = address
        return None

    def release(self, socket: ServerConnection) -> None:
        """Stops counting a connection that has closed, whether it was admitted or not."""
        address = self._entered.pop(socket, None)
        if address is not None:
            self._sockets.leave(address)


def origin_of(socket: ServerConnection, proxies: Proxies) -> Origin:
    """The origin of a WebSocket, from its socket and its handshake's headers."""
    headers = socket.request.headers if socket.request else Headers()
    peer = socket.remote_address
    return proxies.origin(
        peer[0] if peer else None,
        headers.get_all("X-Forwarded-For"),
        headers.get_all("X-Forwarded-Proto"),
    )
