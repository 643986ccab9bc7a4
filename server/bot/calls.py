"""Calls the functions of chat commands in threads, with a time limit, until they fail too often.

A thread that exceeds the time limit runs until it ends by itself: Python cannot stop it.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import structlog

from server.bot.api import COMMAND_S, ChatCommand, Reply

log = structlog.get_logger()

#: Number of faults after which this process does not call a command again.
MAX_FAULTS = 3

T = TypeVar("T")
#: Runs a function, such as in a thread; returns its result or raises its exception.
Executor = Callable[[Callable[[], T]], Awaitable[T]]


class CommandFailed(Exception):
    """The command gave no reply; the message tells the asker why."""


async def in_thread(call: Callable[[], T]) -> T:
    """Runs a function in a thread of its own. The process may end before the thread does."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if outcome.done():
            return
        if error is None:
            outcome.set_result(result)  # type: ignore[arg-type]
        else:
            outcome.set_exception(error)

    def work() -> None:
        result, error = None, None
        try:
            result = call()
        except Exception as failure:
            error = failure
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, name="chat command", daemon=True).start()
    return await outcome


class Calls:
    """Calls commands, and counts the faults of each. `execute` runs their functions."""

    def __init__(self, execute: Executor[Reply] = in_thread) -> None:
        self._execute = execute
        self._faults: Counter[str] = Counter()

    def is_quarantined(self, command: ChatCommand) -> bool:
        """Whether a command has failed so often that it is not called again."""
        return self._faults[command.name] >= MAX_FAULTS

    async def call(self, command: ChatCommand, function: Callable[[], Reply]) -> Reply:
        """Returns the reply of a command's function. Raises CommandFailed, and counts the fault."""
        if self.is_quarantined(command):
            raise CommandFailed(f"/{command.name} has failed too often and is switched off.")
        try:
            async with asyncio.timeout(COMMAND_S):
                return await self._execute(function)
        except TimeoutError as error:
            self._count(command, f"no reply within {COMMAND_S} s")
            raise CommandFailed(f"/{command.name} gave no answer in time.") from error
        except Exception as error:
            log.warning("chat command failed", command=command.name, exc_info=True)
            self._count(command, repr(error))
            raise CommandFailed(f"/{command.name} failed and gives no answer.") from error

    def _count(self, command: ChatCommand, reason: str) -> None:
        self._faults[command.name] += 1
        if self._faults[command.name] == MAX_FAULTS:
            log.error("chat command quarantined", command=command.name, reason=reason)
