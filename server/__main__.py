"""`python -m server`: runs a server until it is stopped."""

import asyncio
import contextlib
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from shutil import which

import click

from server.process import lean

# isort: split
import structlog

from engine.pool.pool import Pool
from engine.rules.overflow import ignore_overflow
from engine.rules.registry import best_known_first, production_ids
from server.address_file import STAYING, ServerAddress, announced_address
from server.app import RunningServer, open_server
from server.bus.broker import broker_of
from server.net.listener import CannotListen, PortTaken
from server.process.logs import log_compile_error, log_to_stderr, stderr
from server.process.network import is_container, is_for_networks, shared_addresses
from server.settings import (
    SettingError,
    Settings,
    example_of_url,
    expand_user,
    ignored_settings,
    settings_from_env,
)
from server.store.base import StoreUnavailable
from server.store.location import data_location

log = structlog.get_logger()

#: The interval at which the server looks whether all have left, in seconds.
LEFT_CHECK_S = 0.5


@click.command()
@click.option(
    "--host",
    help="Address to listen on.  [default: every network of this machine, IPv4 and IPv6]",
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
    help="Stop when standard input ends and nobody is connected: for programs that start a server.",
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
    try:
        options = {
            "host": host, "port": port, "data": data and expand_user(data), "database": database,
            "workers": workers,
        }  # fmt: skip
        changes = {name: value for name, value in options.items() if value is not None}
        settings = replace(settings_from_env(), **changes)  # type: ignore[arg-type]
        broker_of(settings)
    except SettingError as error:
        raise click.ClickException(str(error)) from error
    log_to_stderr(settings.log)
    for variable in ignored_settings(os.environ):
        log.warning("setting ignored", variable=variable, set_by="Kubernetes")
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
    """Runs the server until a signal stops it, or the end of standard input if nobody is
    connected then.
    """
    stop, end_of_input = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        # On Windows, Ctrl-C arrives as KeyboardInterrupt instead.
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, stop.set)
    if until_eof:
        _notice_eof(loop, end_of_input)
    async with _pool(settings) as pool, open_server(settings, pool) as running:
        with _announced(settings, running):
            for line in announcement(settings, running, is_container()):
                click.echo(line)
            lean.enable_gc()
            leaving = asyncio.create_task(_stop_when_left(end_of_input, running, stop))
            await stop.wait()
            leaving.cancel()
            stderr.write("Stopping.\n")


async def _stop_when_left(
    end_of_input: asyncio.Event, running: RunningServer, stop: asyncio.Event
) -> None:
    """Sets `stop` after the end of the input, once nobody is connected: the program that started
    the server may have ended while others play on it.
    """
    await end_of_input.wait()
    if running.sessions:
        with contextlib.suppress(OSError):  # the program that read it is gone
            click.echo(STAYING)
    while True:
        if not running.sessions:
            stop.set()
            return
        await asyncio.sleep(LEFT_CHECK_S)


@contextlib.contextmanager
def _announced(settings: Settings, running: RunningServer) -> Iterator[None]:
    """Says in the data folder where the server is. Nodes of a database have no such folder, and a
    folder that cannot be written to does without.
    """
    host = _in_url(_local_host(settings, running))
    installation = running.hub.ports.store.installation
    server = ServerAddress(f"http://{host}:{running.port}", installation)
    with contextlib.ExitStack() as stack:
        if not settings.database:
            try:
                stack.enter_context(announced_address(settings.data, server))
            except OSError as error:
                log.warning("address not written", folder=str(settings.data), error=str(error))
        yield


def _pool(settings: Settings) -> AbstractAsyncContextManager[Pool | None]:
    """The pool of this node, which compiles the best known games first when it is idle."""
    if not settings.workers:
        return contextlib.nullcontext()
    games = best_known_first(production_ids())
    return Pool(settings.workers, warm=games, on_compile_error=log_compile_error)


def _notice_eof(loop: asyncio.AbstractEventLoop, end_of_input: asyncio.Event) -> None:
    """Sets the event at the end of standard input, which comes even if SIGKILL ends the parent."""

    def on_readable() -> None:
        if not os.read(0, 4096):
            loop.remove_reader(0)
            end_of_input.set()

    with contextlib.suppress(NotImplementedError):  # Windows
        loop.add_reader(0, on_readable)


def announcement(settings: Settings, running: RunningServer, is_container: bool) -> Iterator[str]:
    """Yields what a server prints at its start: its addresses, for this machine and for others."""
    port = running.port
    here = f"http://{_in_url(_local_host(settings, running))}:{port}"
    yield f"Plyroom is at {here}/"
    if settings.url:
        yield f"Others open {settings.url}/"
    elif is_container and is_for_networks(settings.host):
        yield (
            "It is in a container, whose own address others cannot open. Set PLYROOM_URL to the"
            f" address of its host that they open, as in {example_of_url(port)}"
        )
    elif not is_container and (addresses := shared_addresses(settings.host)):
        yield f"Others on your network open http://{_in_url(addresses[0])}:{port}/"
    if running.metrics_port is not None:
        yield (
            f"Metrics are at http://{_in_url(settings.metrics_host)}:{running.metrics_port}/metrics"
        )
    yield f"In a terminal: {terminal_program()} --url {here}"
    yield f"Everything is kept in {data_location(settings)}. Ctrl-C stops the server."


def terminal_program() -> str:
    """What starts the terminal client in a shell: where the program was installed into its own
    environment, no shell finds it by its name.
    """
    beside = Path(sys.executable).with_name("plyroom")
    if which("plyroom") is not None or not beside.exists():
        return "plyroom"
    folder = Path.cwd()
    if not beside.is_relative_to(folder):
        return shlex.quote(str(beside))
    near = beside.relative_to(folder)
    # Without a folder, a shell would look for it on its path.
    return shlex.quote(str(near) if len(near.parts) > 1 else os.path.join(".", near))


def _local_host(settings: Settings, running: RunningServer) -> str:
    """The host by which this machine itself opens the server."""
    if not is_for_networks(settings.host):
        return settings.host
    is_ipv6 = "::" in running.addresses and (settings.host == "::" or len(running.addresses) == 1)
    return "::1" if is_ipv6 else "127.0.0.1"


def _in_url(host: str) -> str:
    """A host as written in a URL: an IPv6 address in brackets (RFC 3986, section 3.2.2)."""
    return f"[{host}]" if ":" in host else host


if __name__ == "__main__":
    main()
