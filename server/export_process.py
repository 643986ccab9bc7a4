"""The process that reads and writes the matches of exports: `python -m server.export_process`.

It opens the store of its server itself, so that a whole export takes nothing from the moves of the
matches under way but bytes on a socket. It reads messages from its standard input, first the
settings of the store, then slices, and answers each slice; it ends when the input closes.
"""

import asyncio
import os
import traceback
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec
from msgspec import Struct, msgpack

from engine.child_process.framing import LENGTH_BYTES, frame
from engine.child_process.limits import (
    JobTimeout,
    ignore_interrupts,
    limit_memory,
    lower_session_priority,
    take_streams,
    time_limit,
)
from engine.child_process.pool import PendingJob, ProcessPool
from engine.child_process.process import ChildProcess
from engine.dispatch.dispatcher import QueueFull
from engine.formats.record import FindGame, GameRecord
from engine.formats.registry import Format, GameText
from engine.rules.overflow import ignore_overflow
from engine.rules.registry import load_game
from engine.study_pool.messages import ELAPSED_FACTOR
from server.exports import Pace, Slice, SliceText, write_slice
from server.ports import ExporterDied, ExporterHung, ExporterUnavailable, ExportFault
from server.settings import Settings
from server.store.base import StoreError, StoreUnavailable
from server.store.location import read_store

#: Maximum number of slices that wait; beyond those of `server.web.export`, whose number is limited.
QUEUE_SIZE = 64
#: Seconds after which a process without a slice ends.
IDLE_S = 60.0
#: Seconds within which a process starts and answers a slice, beside the time of the slowest match.
ANSWER_S = 60.0
#: The longest message, in bytes: one match may have some MB of thoughts.
MAX_BYTES = 64 << 20
#: The limit of the process's address space, in bytes. Threads and libraries take half of it; 60 MB
#: are resident.
MEMORY_BYTES = 1 << 30
#: The niceness of the process and of its session: an export may wait, moves may not.
NICE = 19
#: The share of the time in which the process works. What keeps a processor of two busy without end
#: delays some moves however nice it is: measured in docs/notes/measurements.md.
SHARE = 0.5
#: Maximum length of a traceback, in characters: rules may raise an error with any message.
MAX_FAULT = 20_000
#: The settings that the process reads, beside `data` and `database_pool`.
NAMED_SETTINGS = {
    "database", "database_connect_s", "database_statement_s", "database_lock_s",
    "database_idle_transaction_s", "study_s",
}  # fmt: skip
#: The environment variables by which a driver of PostgreSQL finds the user if the address does not
#: say it, beside libpq's own, which begin with PG.
USER_VARIABLES = {"LOGNAME", "USER", "LNAME", "USERNAME"}


class Failure(Struct, frozen=True, tag=True):
    """The store could not be read, or a slice not written; the message says why.

    The message of a fault, of the rules or of this program, is its traceback.
    """

    kind: Literal["store", "fault"]
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
        """Starts the process if needed; returns its answer.

        Raises ExporterDied, or ExporterHung if it does not answer.
        """
        answer_s = ANSWER_S + self._settings.study_s * ELAPSED_FACTOR
        try:
            async with asyncio.timeout(answer_s):
                if self.pid is None:
                    await self._start()
                    # Not as an argument: all users of the machine can read those.
                    self._process.write(frame(_encode(_store_settings(self._settings)), MAX_BYTES))
                self._process.write(frame(_encode(part), MAX_BYTES))
                answer: Success | Failure = _decode_answer(await self._process.read(MAX_BYTES))
                return answer
        except TimeoutError:
            raise ExporterHung(f"no answer within {answer_s:g} s") from None
        except (OSError, EOFError, ValueError, msgspec.MsgspecError) as error:
            raise ExporterDied(f"{type(error).__name__}: {error}") from error

    async def _start(self) -> None:
        if not self._settings.database:
            await self._process.start("server.export_process")
            return
        # As for the server itself: certificates may have relative paths.
        variables = {
            name: value
            for name, value in os.environ.items()
            if name.startswith("PG") or name in USER_VARIABLES
        }
        await self._process.start("server.export_process", folder=os.getcwd(), variables=variables)

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
        if self._queue.is_full_for(0):
            raise QueueFull("too many exports are waiting")
        answer = await self._submit(PendingSlice(affinity=address, part=part))
        if isinstance(answer, Failure):
            raise (StoreUnavailable if answer.kind == "store" else ExportFault)(answer.message)
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
        return ExporterHung("the server is stopping")


def _store_settings(settings: Settings) -> dict[str, Any]:
    """What the process needs to open the store, with one connection, and to write matches."""
    named = {name: value for name, value in asdict(settings).items() if name in NAMED_SETTINGS}
    return {**named, "data": str(settings.data.absolute()), "database_pool": 1}


# --- the process ----------------------------------------------------------------------------------


def write_in_time(
    chosen: Format, record: GameRecord, find_game: FindGame, *, seconds: float
) -> GameText:
    """Writes a game within a processor time in seconds, as a study process does; refuses one that
    takes more.
    """
    try:
        with time_limit(seconds * ELAPSED_FACTOR, seconds):
            return chosen.write(record, find_game)
    except JobTimeout:
        return GameText(record.match, refused=f"it takes more than {seconds:g} s")
    finally:
        ignore_interrupts()


async def serve(commands: BinaryIO, replies: BinaryIO) -> None:
    """Answers slices until the server closes its input, which it also does when it dies."""

    def read() -> bytes:
        length = commands.read(LENGTH_BYTES)
        return commands.read(int.from_bytes(length, "big"))

    def reply(answer: Success | Failure) -> None:
        replies.write(frame(_encode(answer), MAX_BYTES))
        replies.flush()

    named = _decode_settings(read())
    settings = replace(Settings(), **{**named, "data": Path(named["data"])})
    pace, write = Pace(SHARE, least_s=0.02), partial(write_in_time, seconds=settings.study_s)
    try:
        async with read_store(settings) as store:
            # Only now: on a busy machine the start, which somebody waits for, would take a minute.
            lower_session_priority(NICE)
            while content := await asyncio.to_thread(read):
                part = _decode_slice(content)
                reply(Success(await write_slice(store, part, load_game, pace=pace, write=write)))
    except StoreError as error:
        reply(Failure("store", str(error)))
    except Exception:  # rules of another package may raise anything
        reply(Failure("fault", traceback.format_exc()[-MAX_FAULT:]))


def main() -> None:
    """Serves slices until its input closes."""
    commands, replies = take_streams()
    limit_memory(MEMORY_BYTES)
    ignore_overflow()
    asyncio.run(serve(commands, replies))


if __name__ == "__main__":
    main()
