"""The wiring: which store, bus, engines and listener make a server. Nothing else picks implementations."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web
from websockets.asyncio.server import ServerConnection

from engine.games.registry import load_game
from server.accounts.guests import COOKIE
from server.bus.base import Bus
from server.bus.broker import broker_of
from server.bus.local import LocalBus
from server.failpoint import kill_at
from server.hub import Hub, open_hub
from server.listener import listen
from server.ports import Engines, Ports, random_id, wall_clock_ms
from server.session import Sessions
from server.settings import SettingError, Settings
from server.store.base import Store
from server.store.lock import exclusive
from server.store.sql import open_sqlite
from server.watchdog import watch_loop
from server.web.api import Api, make_app
from server.web.metrics import Gauges, NodeCollector, serve_metrics
from server.web.pages import Pages, client_folder

DATABASE = "plyroom.sqlite3"
STOP_S = 3.0
"""How long the end waits for HTTP requests that are being answered."""
LINGER_S = 2.0
"""How long a refused request's body is still read, so that the refusal arrives."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that accepts connections on `port`, and shows its numbers on `metrics_port`."""

    port: int
    metrics_port: int | None
    hub: Hub
    sessions: Sessions


@asynccontextmanager
async def open_server(settings: Settings, engines: Engines) -> AsyncIterator[Running]:
    """A whole server until the block ends; StoreUnavailable or CannotListen say why there is none."""
    with exclusive(settings.data), watch_loop():
        async with _over_sqlite(settings, engines) as running:
            yield running


@asynccontextmanager
async def open_bus(settings: Settings, node: str, store: Store) -> AsyncIterator[Bus]:
    """The bus to the other nodes of this store; SettingError when the settings name none that can be."""
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


@asynccontextmanager
async def _over_sqlite(settings: Settings, engines: Engines) -> AsyncIterator[Running]:
    node = node_name(settings)
    async with open_sqlite(settings.data / DATABASE) as store, open_bus(settings, node, store) as bus:
        ports = Ports(
            node=node, settings=settings, store=store, bus=bus, engines=engines,
            find_game=load_game, now_ms=wall_clock_ms, new_id=random_id, reached=kill_at(settings.failpoint),
        )  # fmt: skip
        async with open_node(ports, client_folder()) as running:
            yield running


def node_name(settings: Settings) -> str:
    """Another one at each start: what a node left behind when it died is not its own any more."""
    return "-".join(filter(None, (settings.node, secrets.token_hex(6))))


@asynccontextmanager
async def open_node(ports: Ports, client: Path) -> AsyncIterator[Running]:
    """One node over given ports: its rooms, its sessions and its listener."""
    settings = ports.settings
    draining = asyncio.Event()
    async with open_hub(ports) as hub:
        sessions = Sessions(hub)
        watch = asyncio.create_task(sessions.run(), name="silent sessions")
        api = Api(ports, draining.is_set)
        application = make_app(api, Pages(client, settings.names).routes())
        gauges = Gauges(lambda: len(hub), lambda: len(sessions), ports.engines.load)
        collector = NodeCollector(ports.metrics, gauges)
        runner = web.AppRunner(
            application,
            access_log=None,
            keepalive_timeout=settings.silence_s,
            lingering_time=LINGER_S,
            shutdown_timeout=STOP_S,
        )
        await runner.setup()

        async def serve_socket(socket: ServerConnection) -> None:
            token = cookie_token("; ".join(socket.request.headers.get_all("Cookie")) if socket.request else None)
            # The handshake's headers are not wanted any more, and a live match would hold 5 KB of them.
            for handshake in (socket.request, socket.response):
                if handshake is not None:
                    handshake.headers.clear()
            await sessions.serve(socket, token)

        def full() -> bool:
            return len(sessions) >= settings.max_connections

        async def drain() -> None:
            await sessions.drain(settings.drain_s)

        try:
            async with (
                serve_metrics(settings, collector, api.livez, api.readyz) as watched,
                listen(settings, runner, serve_socket, full, drain) as server,
            ):
                port = next(iter(server.sockets)).getsockname()[1]
                try:
                    yield Running(port, watched, hub, sessions)
                finally:
                    draining.set()
        finally:
            watch.cancel()
            await runner.cleanup()


def cookie_token(header: str | None) -> str | None:
    """The guest's token in a browser's Cookie header, whatever other programs on this host have put there beside it."""
    found = ""
    for part in (header or "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            found = value.strip('"')
    return found or None
