"""Runs commands: reports an error in one line, and cleans up after SIGTERM, SIGHUP and Ctrl-C."""

import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import click

from client.address import Address
from client.errors import PlyroomError, Refused, Unreachable
from client.program import program

T = TypeVar("T")


#: Codes of refusals that mean wrong usage; the exit code is then 2.
USAGE_CODES = frozenset(
    {
        "game.unknown",
        "level.unknown",
        "message.malformed",
        "name.refused",
        "option.unknown",
        "strategy.unknown",
    }
)


class CommandFailed(click.ClickException):
    """The command was used correctly and failed; the exit code is 1."""


def call_api(request: Callable[[], T]) -> T:
    """Calls a function; turns a PlyroomError into an error message of the command."""
    try:
        return request()
    except PlyroomError as error:
        raise _click_error(error) from error


def run_to_end(main: Coroutine[Any, Any, None], listing: Address | None = None) -> None:
    """Runs a coroutine to its end and reports an error in one line. `listing` is the server whose
    list of rooms may help.

    SIGTERM, SIGHUP and Ctrl-C cancel it, so that it can clean up.
    """
    import asyncio

    try:
        asyncio.run(_cancel_on_signals(main))
    except PlyroomError as error:
        raise _click_error(error, listing) from error
    except (KeyboardInterrupt, asyncio.CancelledError):
        click.echo("Stopped.", err=True)
        sys.exit(1)


async def _cancel_on_signals(main: Coroutine[Any, Any, None]) -> None:
    """Runs a coroutine in the current task, which SIGTERM and SIGHUP cancel."""
    import asyncio

    task = asyncio.current_task()
    assert task is not None, "run by asyncio.run"
    loop = asyncio.get_running_loop()
    for name in ("SIGTERM", "SIGHUP"):
        with suppress(NotImplementedError, AttributeError):
            loop.add_signal_handler(getattr(signal, name), task.cancel)
    await main


def _click_error(error: PlyroomError, listing: Address | None = None) -> click.ClickException:
    """The error for the terminal, with advice on what to do about it."""
    if isinstance(error, Refused):
        if error.code in USAGE_CODES:
            return click.UsageError(error.message)
        if error.code == "room.unknown" and listing is not None:
            rooms = f"`{program()} rooms --url {listing}` lists the public ones"
            return CommandFailed(f"{error.message}; {rooms}")
        return CommandFailed(error.message)
    if isinstance(error, Unreachable):
        return CommandFailed(
            f"{error}. Is it running? `{program()} serve` starts one, --url names another."
        )
    return CommandFailed(str(error))
