"""`python -m server`: runs a server until it is stopped."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import click

from server.process import lean

# isort: split
from engine.pool.pool import Pool
from engine.rules.overflow import ignore_overflow
from server.app import RunningServer, data_location, open_server
from server.bus.broker import broker_of
from server.net.listener import CannotListen, PortTaken
from server.process.logs import log_to_stderr, stderr
from server.process.network import network_addresses
from server.settings import SettingError, Settings, settings_from_env
from server.store.base import StoreUnavailable

#: Hosts that stand for all networks of this machine, each with its loopback address.
WILDCARD_HOSTS = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}


@click.command()
@click.option(
    "--host", help="Address to listen on.  [default: 0.0.0.0, every network of this machine]"
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 takes a free one.  [default: 8000]",
)
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the database.  [default: data]",
)
@click.option(
    "--database",
    help="A PostgreSQL database, postgresql://user:password@host/database. Other users of this"
    " machine can see command lines, so prefer PLYROOM_DATABASE, or a file that"
    " PLYROOM_DATABASE_FILE names.  [default: a file in the data folder]",
)
@click.option(
    "--workers",
    type=click.IntRange(0, 64),
    help="Search processes; 0 runs none in this server.  [default: up to 4]",
)
@click.option(
    "--until-eof",
    is_flag=True,
    help="Stop when standard input ends: for programs that start a server.",
)
def main(
    host: str | None,
    port: int | None,
    data: Path | None,
    database: str | None,
    workers: int | None,
    until_eof: bool,
) -> None:
    """Serves Plyroom to browsers, terminals and bots on one port."""
    options = {"host": host, "port": port, "data": data, "database": database, "workers": workers}
    try:
        changes = {name: value for name, value in options.items() if value is not None}
        settings = replace(settings_from_env(), **changes)  # type: ignore[arg-type]
        broker_of(settings)
    except SettingError as error:
        raise click.ClickException(str(error)) from error
    log_to_stderr(settings.log)
    # The store's threads run for fractions of a millisecond. With the default switch interval of
    # 5 ms they would wait longer for the interpreter lock than for the disk.
    sys.setswitchinterval(0.0005)
    ignore_overflow()
    try:
        _run(settings, until_eof)
    except PortTaken as error:
        raise click.ClickException(
            f"{error}. Choose another: --port 8001 (or PORT=8001 with make)"
        ) from error
    except (CannotListen, SettingError, StoreUnavailable) as error:
        raise click.ClickException(str(error)) from error


def _run(settings: Settings, until_eof: bool) -> None:
    """Runs the event loop, on uvloop where it is installed."""
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    with contextlib.suppress(ImportError):
        from uvloop import new_event_loop as loop_factory
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(_serve(settings, until_eof))


async def _serve(settings: Settings, until_eof: bool) -> None:
    """Runs the server until a signal, or the end of standard input, stops it."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        # On Windows, Ctrl-C arrives as KeyboardInterrupt instead.
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, stop.set)
    if until_eof:
        _stop_at_eof(loop, stop)
    async with _pool(settings) as pool, open_server(settings, pool) as running:
        _announce(settings, running)
        lean.enable_gc()
        await stop.wait()
        stderr.write("Stopping.\n")


def _pool(settings: Settings) -> AbstractAsyncContextManager[Pool | None]:
    return Pool(settings.workers) if settings.workers else contextlib.nullcontext()


def _stop_at_eof(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Sets `stop` at the end of standard input, which comes even if SIGKILL ends the parent."""

    def on_readable() -> None:
        if not os.read(0, 4096):
            loop.remove_reader(0)
            stop.set()

    with contextlib.suppress(NotImplementedError):  # Windows
        loop.add_reader(0, on_readable)


def _announce(settings: Settings, running: RunningServer) -> None:
    """Prints the addresses of the server, for this machine and for others on its network."""
    port = running.port
    local_host = WILDCARD_HOSTS.get(settings.host, settings.host)
    click.echo(f"Plyroom is at http://{_in_url(local_host)}:{port}/")
    if settings.url:
        click.echo(f"Others open {settings.url}/")
    elif settings.host in WILDCARD_HOSTS and (addresses := network_addresses(":" in local_host)):
        click.echo(f"Others on your network open http://{_in_url(addresses[0])}:{port}/")
    if running.metrics_port is not None:
        click.echo(
            f"Metrics are at http://{_in_url(settings.metrics_host)}:{running.metrics_port}/metrics"
        )
    click.echo(f"Everything is kept in {data_location(settings)}. Ctrl-C stops the server.")


def _in_url(host: str) -> str:
    """A host as written in a URL: an IPv6 address in brackets (RFC 3986, section 3.2.2)."""
    return f"[{host}]" if ":" in host else host


if __name__ == "__main__":
    main()
