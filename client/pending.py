"""The commands that wait for an answer from the server."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from client.errors import PlyroomError, Refused
from client.messages import Refusal
from client.outbox import Outbox
from client.timing import Timing
from server.protocol.codes import Code
from server.protocol.messages import Ack

#: Maximum number of commands without an answer; further commands wait.
MAX_IN_FLIGHT = 64


@dataclass(slots=True)
class _PendingCommand:
    """A command without an answer.

    It was last sent at `sent_at_s`, and `sent_count` times in all. The server first refused it as
    busy on the current socket at `busy_since_s`.
    """

    frame: str
    answer: "asyncio.Future[Ack]"
    sent_at_s: float
    sent_count: int = 1
    busy_since_s: float | None = None

    def record_sent(self, now_s: float) -> None:
        """Records that the command is sent again."""
        self.sent_at_s = now_s
        self.sent_count += 1

    def should_retry(self, code: str, now_s: float, busy_s: float) -> bool:
        """Whether the refusal is temporary, so that the connection sends the command again.

        A `rate.exceeded` for the first attempt is final: the server executed nothing, and the
        caller can decide. The first refusal of a busy server starts the time `busy_s`.
        """
        if code not in (Code.STORE_RETRY, Code.ROOM_BUSY) and (
            code != Code.RATE_EXCEEDED or self.sent_count == 1
        ):
            return False
        if self.busy_since_s is None:
            self.busy_since_s = now_s
        return now_s - self.busy_since_s < busy_s


class PendingCommands:
    """The commands without an answer: each is sent until the server acknowledges or refuses it."""

    def __init__(self, outbox: Outbox, timing: Timing, jitter: Callable[[], float]) -> None:
        self._outbox = outbox
        self._timing = timing
        self._jitter = jitter
        self._loop = asyncio.get_running_loop()
        self._in_flight = asyncio.Semaphore(MAX_IN_FLIGHT)
        self._commands: dict[str, _PendingCommand] = {}

    def __len__(self) -> int:
        return len(self._commands)

    async def send(self, command_id: str, frame: str) -> Ack:
        """Sends a command until the server answers it; raises Refused.

        It sends the command again while the server is busy, with growing delays.
        """
        async with self._in_flight:
            self._outbox.raise_failure()
            if command_id in self._commands:
                raise ValueError(f"a command with the id {command_id} is already in flight")
            command = self._commands[command_id] = _PendingCommand(
                frame, self._loop.create_future(), self._loop.time()
            )
            self._outbox.post(frame)
            try:
                return await self._retry_until_answered(command)
            finally:
                del self._commands[command_id]

    async def _retry_until_answered(self, command: _PendingCommand) -> Ack:
        while True:
            try:
                return await command.answer
            except Refused as refused:
                if not command.should_retry(refused.code, self._loop.time(), self._timing.busy_s):
                    raise
            await asyncio.sleep(self._timing.backoff_s(command.sent_count, self._jitter()))
            command.answer = self._loop.create_future()
            command.record_sent(self._loop.time())
            self._outbox.post(command.frame)

    def frames_to_resend(self) -> Iterator[str]:
        """The frames with which a new socket begins: every command is sent again."""
        for command in self._commands.values():
            command.record_sent(self._loop.time())
            command.busy_since_s = None
            yield command.frame

    def has_overdue(self) -> bool:
        """Whether a command has had no answer on the current socket for `answer_s`."""
        now_s = self._loop.time()
        return any(
            not command.answer.done() and now_s - command.sent_at_s >= self._timing.answer_s
            for command in self._commands.values()
        )

    def acknowledge(self, ack: Ack) -> None:
        """Resolves the command that the ack answers, if it is still unanswered."""
        if command := self._find_unanswered(ack.id):
            command.answer.set_result(ack)

    def refuse(self, refusal: Refusal) -> bool:
        """Rejects the command that the refusal answers; returns False if there is none."""
        if command := self._find_unanswered(refusal.id):
            command.answer.set_exception(Refused(refusal.code, refusal.message))
            return True
        return False

    def fail(self, failure: PlyroomError) -> None:
        """Ends every command with an error."""
        for command in self._commands.values():
            if not command.answer.done():
                command.answer.set_exception(failure)

    def _find_unanswered(self, command_id: str | None) -> _PendingCommand | None:
        command = self._commands.get(command_id or "")
        return command if command is not None and not command.answer.done() else None
