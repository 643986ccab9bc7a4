"""The process that reads and writes the matches of exports: `python -m server.export_process`.

It opens the store of its server itself, so that a whole export takes nothing from the moves of the
matches under way but bytes on a pipe. It reads messages from its standard input, first the
settings of the store, then slices, and answers each slice; it ends when the input closes.
"""

import asyncio
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct, msgpack

from engine.child_process.framing import LENGTH_BYTES, frame
from engine.child_process.limits import limit_memory, lower_session_priority, take_pipes
from engine.child_process.pool import PendingJob, ProcessPool
from engine.child_process.process import ChildProcess
from engine.dispatch.dispatcher import QueueFull
from engine.rules.overflow import ignore_overflow
from engine.rules.registry import load_game
from server.exports import Pace, Slice, SliceText, write_slice
from server.ports import ExporterUnavailable, ExportFailed
from server.settings import Settings
from server.store.base import StoreError
from server.store.location import open_store

#: Maximum number of slices that wait; beyond those of `server.web.export`, whose number is limited.
QUEUE_SIZE = 64
#: Seconds after which a process without a slice ends.
IDLE_S = 60.0
#: Seconds within which a process starts and answers a slice.
ANSWER_S = 60.0
#: The longest message, in bytes: one match may have some MB of thoughts.
MAX_BYTES = 64 << 20
#: The limit of the process's address space, in bytes. Threads and libraries take half of it; 60 MB
#: are resident.
MEMORY_BYTES = 1 << 30
#: The niceness of the process, as that of study processes.
NICE = 10
#: The settings that `open_store` reads, beside `data` and `database_pool`.
STORE_SETTINGS = {
    "database", "database_connect_s", "database_statement_s", "database_lock_s",
    "database_idle_transaction_s",
}  # fmt: skip


class Failure(Struct, frozen=True, tag=True):
    """The store could not be read, or a slice not written; the message says why."""

    message: str


class Success(Struct, frozen=True, tag=True):
    """The text of a slice."""

    part: SliceText


_encode = msgpack.Encoder().encode
_decode_settings = msgpack.Decoder(dict[str, Any]).decode
_decode_slice = msgpack.Decoder(Slice).decode
_decode_answer = msgpack.Decoder(Success | Failure).decode


# --- the server's side ----------------------------------------------------------------------------


class ExportProcess:
    """A process for exports. After any exception of `write_slice`, it must be closed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process = ChildProcess()

    @property
    def pid(self) -> int | None:
        """The process id; None before the start and after the end."""
        return self._process.pid

    async def write_slice(self, part: Slice) -> Success | Failure:
        """Starts the process if needed; returns its answer. Raises ExportFailed if it has died."""
        try:
            async with asyncio.timeout(ANSWER_S):
                if self.pid is None:
                    await self._process.start("server.export_process")
                    # Not as an argument: all users of the machine can read those.
                    self._process.write(frame(_encode(_store_settings(self._settings)), MAX_BYTES))
                self._process.write(frame(_encode(part), MAX_BYTES))
                answer: Success | Failure = _decode_answer(await self._process.read(MAX_BYTES))
                return answer
        except TimeoutError:
            raise ExportFailed(f"no answer within {ANSWER_S:g} s") from None
        except (OSError, EOFError, ValueError, msgspec.MsgspecError) as error:
            raise ExportFailed(f"{type(error).__name__}: {error}") from error

    async def close(self) -> None:
        """Kills the process and waits for its end."""
        await self._process.close()


class PendingSlice(PendingJob[Success | Failure], kw_only=True):
    """A slice that waits for the process; its affinity is the address."""

    part: Slice


class ExportPool(ProcessPool[ExportProcess, PendingSlice, Success | Failure]):
    """Writes slices in one process, those of all addresses in turn.

    A server without study processes has none.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(min(1, settings.study_processes), QUEUE_SIZE, IDLE_S)
        self._settings = settings

    async def write_slice(self, part: Slice, address: str) -> SliceText:
        """Implements `server.ports.Exporter`."""
        if not self._is_open or not self._size:
            raise ExporterUnavailable("this server has no process for exports")
        if self._queue.is_full:
            raise QueueFull("too many exports are waiting")
        answer = await self._submit(PendingSlice(affinity=address, part=part))
        if isinstance(answer, Failure):
            raise ExportFailed(answer.message)
        return answer.part

    async def _run(self, pending: PendingSlice) -> Success | Failure:
        process = self._idle.take() or ExportProcess(self._settings)
        is_usable = False
        try:
            answer = await process.write_slice(pending.part)
            is_usable = isinstance(answer, Success)  # after a failure the store is opened anew
            return answer
        finally:
            self._release(process, is_usable=is_usable)

    def _cancel(self, pending: PendingSlice) -> None:
        """Lets a slice whose client has left come to its end: it is short, and a start is not."""

    def _closed_error(self) -> Exception:
        return ExportFailed("the server is stopping")


def _store_settings(settings: Settings) -> dict[str, Any]:
    """What the process needs to open the store, with one connection."""
    named = {name: value for name, value in asdict(settings).items() if name in STORE_SETTINGS}
    return {**named, "data": str(settings.data.absolute()), "database_pool": 1}


# --- the process ----------------------------------------------------------------------------------


async def serve(commands: BinaryIO, replies: BinaryIO) -> None:
    """Answers slices until the server closes the pipe, which it also does when it dies."""

    def read() -> bytes:
        length = commands.read(LENGTH_BYTES)
        return commands.read(int.from_bytes(length, "big"))

    def reply(answer: Success | Failure) -> None:
        replies.write(frame(_encode(answer), MAX_BYTES))
        replies.flush()

    named = _decode_settings(read())
    settings = replace(Settings(), **{**named, "data": Path(named["data"])})
    pace = Pace(1)
    try:
        async with open_store(settings) as store:
            # Only now: on a busy machine the start, which somebody waits for, would take a minute.
            lower_session_priority(NICE)
            while content := await asyncio.to_thread(read):
                try:
                    answer: Success | Failure = Success(
                        await write_slice(store, _decode_slice(content), load_game, pace=pace)
                    )
                except StoreError as error:
                    answer = Failure(str(error))
                except Exception as error:  # rules of another package may raise anything
                    answer = Failure(f"{type(error).__name__}: {error}")
                reply(answer)
    except StoreError as error:
        reply(Failure(str(error)))


def main() -> None:
    """Serves slices until the pipe closes."""
    commands, replies = take_pipes()
    limit_memory(MEMORY_BYTES)
    ignore_overflow()
    asyncio.run(serve(commands, replies))


if __name__ == "__main__":
    main()
