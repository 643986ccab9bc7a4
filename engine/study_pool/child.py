"""A study process: `python -m engine.study_pool.child MEMORY_BYTES`.

It runs one job at a time from its standard input, and ends when that closes.
"""

import os
import queue
import sys
import threading
import time
from typing import BinaryIO

import msgspec

from engine.child_process.framing import LENGTH_BYTES
from engine.child_process.limits import (
    TimeOver,
    be_nice,
    ignore_interrupts,
    interrupting,
    limit_cpu,
    limit_memory,
    take_pipes,
    uninterrupted,
)
from engine.rules.overflow import ignore_overflow
from engine.study_pool.documents import document_of, refusal_of
from engine.study_pool.gzip_lines import GzipLines
from engine.study_pool.messages import (
    Command,
    Ended,
    LessonTraceJob,
    Limits,
    Part,
    Refused,
    Reply,
    Started,
    TraceJob,
    decode_command,
    frame,
)
from engine.teach.cost import cost_warning, without_large_count
from engine.teach.errors import TooLarge, UnknownName
from engine.teach.explain import Search, Size, prepare
from engine.teach.lessons.catalogue import load_lesson
from engine.teach.lessons.lesson import root_of
from engine.teach.state import GameState
from engine.teach.stream import GrowingRecord, TraceStream
from engine.teach.task import Task, task_of

#: The processor time that a process may use beyond the time of a job, in seconds. The kernel then
#: ends it, even if its server has been killed and cannot.
EXTRA_CPU_S = 10
#: The niceness of a process: what the server, the search and the strategies do comes first.
NICE = 10
#: Number of new nodes after which a part is sent.
PART_NODES = 1000
#: Shortest time between two parts with fewer nodes, in seconds.
PART_S = 0.1
#: The same time as a share of the time of the search so far: a long one needs fewer parts.
PART_SHARE = 0.125
#: The number of random paths of the estimate before a search, which must not delay it.
ESTIMATE_PATHS = 10
#: What a trace says instead of the meaning of its value when the time was over.
TIME_OVER = "the search was stopped after {seconds:g} s: less depth ends sooner"


class StudyHost:
    """Runs jobs, and sends their documents in parts."""

    def __init__(self, commands: BinaryIO, replies: BinaryIO) -> None:
        self._commands = commands
        self._replies = replies
        self._queue: queue.SimpleQueue[Command] = queue.SimpleQueue()

    def serve(self) -> None:
        """Runs jobs until the server closes the pipe."""
        threading.Thread(target=self._read, name="reader", daemon=True).start()
        while True:
            self._run(self._queue.get())

    def _read(self) -> None:
        """Reads commands; ends the process with the pipe, also while a job runs."""
        while length := self._commands.read(LENGTH_BYTES):
            content = self._commands.read(int.from_bytes(length, "big"))
            self._queue.put(decode_command(content))
        os._exit(0)

    def _run(self, command: Command) -> None:
        """Runs a job, and sends its last reply, exactly one.

        An interrupt may arrive at any moment until the interrupts are ignored.
        """
        self._send(Started(command.number))
        limit_cpu(command.limits.seconds + EXTRA_CPU_S)
        reply: Ended | Refused = Ended(command.number, is_whole=False)
        try:
            reply = self._perform(command)
            ignore_interrupts()
        except TimeOver:
            ignore_interrupts()
        self._send(reply)

    def _perform(self, command: Command) -> Ended | Refused:
        """Runs a job, and returns its last reply."""
        number, job, limits = command.number, command.job, command.limits
        try:
            if isinstance(job, TraceJob | LessonTraceJob):
                run = TraceRun(self, number, limits)
                run.run(job)
                return Ended(number, run.is_whole)
            self._send_document(command)
            return Ended(number, is_whole=True)
        except Exception as error:  # rules of another package may raise anything
            return refusal_of(number, error)

    def _send_document(self, command: Command) -> None:
        try:
            with interrupting(command.limits.seconds):
                document = msgspec.json.encode(document_of(command.job, command.limits))
        except TimeOver:
            raise TooLarge(
                f"this takes more than {command.limits.seconds:g} s: ask for less"
            ) from None
        lines = GzipLines()
        lines.add(document)
        self.send_part(command.number, lines, is_last=True)

    def send_part(self, number: int, lines: GzipLines, *, is_last: bool = False) -> None:
        """Sends what was added to the document since the last part."""
        body = lines.take(is_last=is_last)
        self._send(Part(number, body, lines.crc, lines.length))

    def _send(self, reply: Reply) -> None:
        with uninterrupted():
            self._replies.write(frame(reply))
            self._replies.flush()


class TraceRun:
    """Runs one search, and sends its trace while it grows."""

    def __init__(self, host: StudyHost, number: int, limits: Limits) -> None:
        self._host = host
        self._number = number
        self._limits = limits
        self._lines = GzipLines()
        self._stream: TraceStream | None = None
        self._begun_s = time.monotonic()
        #: The time of the next part, in seconds; the first one is sent sooner.
        self._next_s = self._begun_s + PART_S / 2
        #: Whether the search ended before the time was over.
        self.is_whole = True

    def run(self, job: TraceJob | LessonTraceJob) -> None:
        """Searches within the limits; raises TeachError, GameError or MemoryError."""
        end_s = time.monotonic() + self._limits.seconds
        try:
            with interrupting(self._limits.seconds):
                stream = self._begin(job)
                value = stream.search.run()
            self._send_chunk()
            end = stream.end(value, self._size(job, stream.search, end_s))
        except TimeOver:
            self.is_whole = False
            end = self._early_end(TIME_OVER.format(seconds=self._limits.seconds))
        except TooLarge as error:
            end = self._early_end(str(error))
        self._add_chunk()
        self._lines.add(end)
        self._host.send_part(self._number, self._lines, is_last=True)

    def _begin(self, job: TraceJob | LessonTraceJob) -> TraceStream:
        """Returns the stream of the search, whose head is the first line."""
        task = task_of_lesson(job) if isinstance(job, LessonTraceJob) else self._task(job)
        record = GrowingRecord(on_leave=self._on_leave)
        search = prepare(task.root, task.plan, task.title, record=record)
        if isinstance(job, TraceJob):
            cost_warning(task.root, task.plan, "depth", ESTIMATE_PATHS)
        stream = TraceStream(search, record, task.position)
        self._lines.add(stream.head())
        self._stream = stream
        return stream

    def _task(self, job: TraceJob) -> Task:
        return task_of(job.request, self._limits.max_nodes, is_recorded=job.is_recorded)

    def _size(self, job: TraceJob | LessonTraceJob, search: Search, end_s: float) -> Size | None:
        """The size of plain minimax's tree; None if the rest of the time is too short for it."""
        try:
            with interrupting(max(0.001, end_s - time.monotonic())):
                if isinstance(job, TraceJob):
                    plan = without_large_count(search.root, search.plan)
                    return search.size() if plan.plain_limit else None
                return search.size()
        except TimeOver:
            return None

    def _early_end(self, reason: str) -> bytes:
        """The last line of a search that was stopped; raises TooLarge if there is no node yet."""
        if self._stream is None or self._stream.is_empty:
            raise TooLarge(reason)
        return self._stream.early_end(reason)

    def _on_leave(self) -> None:
        """Sends a chunk if it is time to."""
        stream = self._stream
        assert stream is not None, "the search has begun"
        if stream.new_nodes >= PART_NODES or time.monotonic() >= self._next_s:
            self._send_chunk()

    def _send_chunk(self) -> None:
        with uninterrupted():
            self._add_chunk()
            self._host.send_part(self._number, self._lines)
            now_s = time.monotonic()
            self._next_s = now_s + max(PART_S, (now_s - self._begun_s) * PART_SHARE)

    def _add_chunk(self) -> None:
        assert self._stream is not None, "the search has begun"
        chunk = self._stream.chunk()
        if chunk is not None:
            self._lines.add(chunk)


def task_of_lesson(job: LessonTraceJob) -> Task:
    """Returns the search of a lesson's run; raises UnknownName."""
    runs = load_lesson(job.name).runs
    if not 0 <= job.run < len(runs):
        raise UnknownName(f"the lesson {job.name} has the searches 0 to {len(runs) - 1}")
    run = runs[job.run]
    root = root_of(run.subject, run.plan.utilities)
    position = root.position if isinstance(root, GameState) else None
    return Task(root, run.plan, run.caption, position=position)


def main() -> None:
    """Serves jobs until the pipe closes."""
    ignore_interrupts()
    commands, replies = take_pipes()
    limit_memory(int(sys.argv[1]))
    be_nice(NICE)
    ignore_overflow()
    StudyHost(commands, replies).serve()


if __name__ == "__main__":
    main()
