"""The pool's handle of a study process: starts it, runs a job in it, kills it."""

import asyncio
from collections.abc import Callable

import msgspec

from engine.child_process.process import ChildProcess
from engine.study_pool.messages import (
    MAX_BYTES,
    Command,
    Ended,
    Limits,
    Part,
    Refused,
    Reply,
    Started,
    StudyJob,
    decode_reply,
    frame,
)

#: Seconds within which a process must start.
START_S = 30.0
#: Seconds after its time limit in which a job may still end by itself.
GRACE_S = 2.0


class StudyProcessLost(Exception):
    """The process ended, hung, or sent something other than a reply."""


class StudyProcess:
    """A study process, which runs one job at a time.

    After any exception of `run` the process is in an unknown state: close it.
    """

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._number = 0
        self._is_interrupted = False
        self._process = ChildProcess()

    @property
    def pid(self) -> int | None:
        """The process id; None before the start and after the end."""
        return self._process.pid

    async def start(self) -> None:
        """Starts the process, which inherits no file and no socket. Raises OSError if it cannot."""
        await self._process.start("engine.study_pool.child", str(self._memory_bytes))

    async def run(
        self, job: StudyJob, limits: Limits, on_part: Callable[[Part], None]
    ) -> Ended | Refused:
        """Runs a job; calls `on_part` with each part of its document, and returns the last reply.

        Raises StudyProcessLost.
        """
        self._is_interrupted = False
        try:
            async with asyncio.timeout(START_S) as timeout:
                self._number += 1
                self._process.write(frame(Command(self._number, job, limits)))
                while True:
                    reply = await self._receive()
                    match reply:
                        case Started():
                            if self._is_interrupted:
                                self._process.interrupt()
                            now_s = asyncio.get_running_loop().time()
                            timeout.reschedule(now_s + limits.elapsed_s + GRACE_S)
                        case Part():
                            on_part(reply)
                        case Ended() | Refused():
                            return reply
        except TimeoutError:
            raise StudyProcessLost("the job did not end in time") from None
        except (OSError, EOFError, ValueError, msgspec.MsgspecError) as error:
            raise StudyProcessLost(f"{type(error).__name__}: {error}") from error

    async def _receive(self) -> Reply:
        """Returns the next reply; raises EOFError at the end, ValueError for anything else."""
        reply: Reply = decode_reply(await self._process.read(MAX_BYTES))
        if reply.number != self._number:
            raise ValueError("the reply is about another job")
        return reply

    def interrupt(self) -> None:
        """Ends the running job early; its last reply follows soon."""
        self._is_interrupted = True
        self._process.interrupt()

    async def close(self) -> None:
        """Kills the process and waits for its end."""
        await self._process.close()
