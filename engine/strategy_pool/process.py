"""The pool's handle of a strategy's process: starts it, runs a job in it, kills it."""

import asyncio
from collections.abc import Callable

import msgspec

from engine.child_process.process import ChildProcess
from engine.search.job import Job, RulesChanged
from engine.strategies import reasons
from engine.strategies.contract import Choice, StrategyFailed
from engine.strategy_pool.messages import (
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
#: Seconds after its time limit in which a strategy that has a choice may still end by itself.
GRACE_S = 0.5

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
        self._process = ChildProcess()

    @property
    def pid(self) -> int | None:
        """The process id; None before the start and after the end."""
        return self._process.pid

    async def start(self) -> None:
        """Starts the process, which inherits no file and no socket. Raises OSError if it cannot."""
        await self._process.start("engine.strategy_pool.child", str(self._memory_bytes))

    async def run(self, job: Job, on_choice: Callable[[Choice], None]) -> tuple[Choice, bool]:
        """Runs the job's strategy; calls `on_choice` with each of its choices.

        Returns the last choice, and whether the strategy reached its time limit. Raises
        StrategyFailed or RulesChanged.
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
        self._number += 1
        self._process.write(frame(RunCommand(self._number, job)))

    async def _receive(self) -> Reply:
        """Returns the next reply; raises EOFError at the end, ValueError for anything else."""
        reply: Reply = decode_reply(await self._process.read(MAX_BYTES))
        if reply.number != self._number:
            raise ValueError("the reply is about another job")
        return reply

    async def close(self) -> None:
        """Kills the process, and the processes that it has started, and waits for its end."""
        await self._process.close()


def _failure(failed: Failed) -> Exception:
    """The exception of a failed strategy. Its own message is the cause, for the log."""
    if failed.kind == "rules_changed":
        return RulesChanged(failed.message)
    failure = StrategyFailed(REASON_OF[failed.kind])
    failure.__cause__ = RuntimeError(failed.message)
    return failure
