"""The pool's handle of a strategy's process: starts it, runs a job in it, kills it."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable

import msgspec

from engine.search.job import Job, RulesChanged
from engine.strategies import reasons
from engine.strategies.contract import Choice, StrategyFailed
from engine.strategy_pool.messages import (
    LENGTH_BYTES,
    MAX_BYTES,
    Chosen,
    Ended,
    Failed,
    Reply,
    RunCommand,
    Started,
    decode_reply,
    frame,
)

#: Seconds within which a process must start, and load the game and the strategy.
START_S = 30.0
#: Seconds after the time of a move in which a strategy that has a choice can still end by itself.
GRACE_S = 0.5
#: Seconds that a killed process may take to end.
CLOSE_S = 5.0
#: The variables of the environment that a process inherits. The others may hold secrets.
ENVIRONMENT = ("HOME", "LANG", "LC_ALL", "PATH", "SYSTEMROOT", "TZ")
#: The variables that a process gets: few threads, because each takes address space, and the same
#: order of sets in every process.
SETTINGS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}

#: The reason for players of each kind of failure.
REASON_OF = {"error": reasons.FAILED, "memory": reasons.MEMORY, "missing": reasons.MISSING}


class StrategyProcess:
    """A process for strategies of one `group`, which runs one job at a time.

    After any exception of `run` the process is in an unknown state: close it.
    """

    def __init__(self, group: str, memory_bytes: int) -> None:
        self.group = group
        #: The loop time at which the strategy of the last job began to choose, in seconds.
        self.begun_s = 0.0
        self._memory_bytes = memory_bytes
        self._number = 0
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        """The process id; None before the start and after the end."""
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Starts the process, which inherits no file and no socket. Raises OSError if it cannot."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "engine.strategy_pool.child", str(self._memory_bytes),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL, env=environment(), cwd=os.sep,
            start_new_session=True,
        )  # fmt: skip

    async def run(self, job: Job, on_choice: Callable[[Choice], None]) -> tuple[Choice, bool]:
        """Runs the job's strategy; calls `on_choice` with each of its choices.

        Returns the last choice, and whether the time was over before the strategy ended. Raises
        StrategyFailed, or RulesChanged.
        """
        choice: Choice | None = None
        try:
            async with asyncio.timeout(START_S) as timeout:
                self._send(job)
                while True:
                    reply = await self._receive()
                    await asyncio.sleep(0)  # a flood of replies must not stop the loop
                    match reply:
                        case Started():
                            self.begun_s = asyncio.get_running_loop().time()
                            limit_s = (job.limit.time_ms or 0) / 1000 + GRACE_S
                            timeout.reschedule(self.begun_s + limit_s)
                        case Chosen(choice=choice):
                            on_choice(choice)
                        case Ended(is_late=is_late) if choice is not None:
                            return choice, is_late
                        case Ended(is_late=is_late):
                            raise StrategyFailed(reasons.LATE if is_late else reasons.ENDED)
                        case Failed() as failed:
                            raise _failure(failed)
        except TimeoutError:
            raise StrategyFailed(reasons.LATE) from None
        except (OSError, EOFError, ValueError, msgspec.MsgspecError) as error:
            raise StrategyFailed(reasons.ENDED) from error

    def _send(self, job: Job) -> None:
        assert self._process is not None, "the process was started"
        assert self._process.stdin is not None, "it has a pipe"
        self._number += 1
        self._process.stdin.write(frame(RunCommand(self._number, job)))

    async def _receive(self) -> Reply:
        """Returns the next reply; raises EOFError at the end, ValueError for anything else."""
        assert self._process is not None, "the process was started"
        assert self._process.stdout is not None, "it has a pipe"
        header = await self._process.stdout.readexactly(LENGTH_BYTES)
        length = int.from_bytes(header, "big")
        if length > MAX_BYTES:
            raise ValueError("the reply is too long")
        reply: Reply = decode_reply(await self._process.stdout.readexactly(length))
        if reply.number != self._number:
            raise ValueError("the reply is about another job")
        return reply

    async def close(self) -> None:
        """Kills the process, and the processes that it has started, and waits for its end."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        assert process.stdin is not None, "it has a pipe"
        process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await process.wait()


def _failure(failed: Failed) -> Exception:
    """The exception of a failed strategy. Its own message is the cause, for the log."""
    if failed.kind == "rules_changed":
        return RulesChanged(failed.message)
    failure = StrategyFailed(REASON_OF[failed.kind])
    failure.__cause__ = RuntimeError(failed.message)
    return failure


def environment() -> dict[str, str]:
    """Returns the environment of a process, which imports from the same path as this one."""
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    inherited = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
    return {**inherited, **SETTINGS, "PYTHONPATH": path}
