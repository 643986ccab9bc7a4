"""A strategy's process: `python -m engine.strategy_pool.child MEMORY_BYTES`.

It reads commands from its standard input, runs one at a time, and ends when the input closes. The
output of a strategy is lost.
"""

import os
import queue
import sys
import threading
import time
from typing import BinaryIO

from msgspec.structs import replace

from engine.child_process.framing import LENGTH_BYTES
from engine.child_process.limits import (
    JobTimeout,
    leave_interrupts_to_main_thread,
    limit_cpu,
    limit_memory,
    lower_priority,
    take_streams,
    time_limit,
    uninterrupted,
)
from engine.rules.overflow import ignore_overflow
from engine.rules.registry import load_game
from engine.search.job import Job, RulesChanged
from engine.search.report import resolve
from engine.strategies.contract import (
    DEFAULT_DEPTH,
    MAX_LOG_BYTES,
    MAX_VALUE,
    Choice,
    Strategy,
    Turn,
    UnknownStrategy,
    choices_of,
)
from engine.strategies.registry import load_strategy
from engine.strategy_pool.messages import (
    MAX_ERROR,
    Chosen,
    Ended,
    Failed,
    FailureKind,
    Reply,
    RunCommand,
    Started,
    decode_command,
    frame,
)

#: The processor time that a turn may use beyond its time limit, in seconds. Then the kernel kills
#: the process, even if the server has been killed and cannot.
EXTRA_CPU_S = 10
#: The niceness of a process: the server and the searches run first, but with autogroups all share
#: alike: see `lower_priority`.
NICE = 5
#: Shortest time between two choices that are sent, in seconds.
CHOICE_S = 0.05
#: Maximum number of moves of a principal variation.
MAX_LINE = 32


class StrategyHost:
    """Runs commands, and keeps the strategies that it has loaded."""

    def __init__(self, commands: BinaryIO, replies: BinaryIO) -> None:
        self._commands = commands
        self._replies = replies
        self._queue: queue.SimpleQueue[RunCommand] = queue.SimpleQueue()
        self._strategies: dict[str, Strategy] = {}

    def serve(self) -> None:
        """Runs commands until the server closes its input."""
        threading.Thread(target=self._read, name="reader", daemon=True).start()
        while True:
            self._send(self._run(self._queue.get()))

    def _read(self) -> None:
        """Reads commands; ends the process when the input closes, even while a strategy runs."""
        leave_interrupts_to_main_thread()
        while length := self._commands.read(LENGTH_BYTES):
            content = self._commands.read(int.from_bytes(length, "big"))
            self._queue.put(decode_command(content))
        os._exit(0)

    def _run(self, command: RunCommand) -> Reply:
        """Runs a strategy, sends its choices, and returns the last reply."""
        number, kind, message = command.number, "error", ""
        try:
            self._choose(command)
            return Ended(number)
        except JobTimeout:
            return Ended(number, is_late=True)
        except MemoryError:
            kind = "memory"
        except UnknownStrategy as error:
            kind, message = "missing", str(error)
        except RulesChanged as error:
            kind, message = "rules_changed", str(error)
        except BaseException as error:  # a strategy may raise anything, SystemExit too
            message = f"{type(error).__name__}: {error}"
        failure: FailureKind = kind  # type: ignore[assignment]
        return Failed(number, failure, message[:MAX_ERROR])

    def _choose(self, command: RunCommand) -> None:
        job, number = command.job, command.number
        turn = turn_of(job)
        strategy = self._load(job.strategy or "")
        seconds = (job.limit.time_ms or 0) / 1000
        limit_cpu(seconds + EXTRA_CPU_S)
        self._send(Started(number))
        with time_limit(seconds):
            self._send_choices(number, strategy, turn)

    def _send_choices(self, number: int, strategy: Strategy, turn: Turn) -> None:
        """Sends the choices of a strategy, the last one in any case."""
        unsent: Choice | None = None
        sent_s = -CHOICE_S
        for choice in choices_of(strategy, turn):
            unsent = choice
            if time.monotonic() - sent_s >= CHOICE_S:
                self._send(Chosen(number, trim(choice)))
                unsent, sent_s = None, time.monotonic()
        if unsent is not None:
            self._send(Chosen(number, trim(unsent)))

    def _load(self, name: str) -> Strategy:
        if name not in self._strategies:
            self._strategies[name] = load_strategy(name)
        return self._strategies[name]

    def _send(self, reply: Reply) -> None:
        with uninterrupted():
            self._replies.write(frame(reply))
            self._replies.flush()


def turn_of(job: Job) -> Turn:
    """Returns the turn of a job; raises RulesChanged or SearchFailed if it has no position here."""
    return Turn(
        position=resolve(job, load_game(job.game)), seed=job.seed,
        depth=job.limit.depth or DEFAULT_DEPTH, evaluator=job.evaluator,
    )  # fmt: skip


def trim(choice: Choice) -> Choice:
    """Returns a choice within the limits of a message.

    A strategy of another package that reports no value has its score as one, and a depth, because a
    choice without both is one at random.
    """
    is_random = choice.nodes == 1 and not choice.depth  # the built-in strategy looks at one node
    if not choice.value and not is_random:
        choice = replace(choice, value=str(choice.score), depth=max(1, choice.depth))
    log = choice.log.encode("utf-8", "replace")[:MAX_LOG_BYTES].decode("utf-8", "ignore")
    return replace(choice, log=log, value=choice.value[:MAX_VALUE], line=choice.line[:MAX_LINE])


def main() -> None:
    """Serves commands until its input closes."""
    commands, replies = take_streams()
    limit_memory(int(sys.argv[1]))
    lower_priority(NICE)
    ignore_overflow()
    StrategyHost(commands, replies).serve()


if __name__ == "__main__":
    main()
