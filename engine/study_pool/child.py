"""A study process: `python -m engine.study_pool.child MEMORY_BYTES`.

It reads jobs from its standard input, runs one at a time, and ends when the input closes.
"""

import os
import queue
import sys
import threading
import time
from contextlib import suppress
from typing import BinaryIO

import msgspec

from engine.child_process.framing import LENGTH_BYTES
from engine.child_process.limits import (
    JobTimeout,
    ignore_interrupts,
    leave_interrupts_to_main_thread,
    limit_cpu,
    limit_memory,
    lower_priority,
    take_streams,
    time_limit,
    uninterrupted,
)
from engine.rules.overflow import ignore_overflow
from engine.study_pool.documents import make_document, make_refusal
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
from engine.teach.algorithms.cost import cost_warning, drop_large_count
from engine.teach.algorithms.explain import Search, Size, prepare
from engine.teach.errors import TooLarge, UnknownName
from engine.teach.lessons.catalogue import load_lesson
from engine.teach.lessons.lesson import root_of
from engine.teach.output.stream import GrowingRecord, TraceStream
from engine.teach.requests.task import Task, task_of
from engine.teach.states.state import GameState

#: The processor time that a job may use beyond its time limit, in seconds. Then the kernel kills
#: the process, even if the server has been killed and cannot.
EXTRA_CPU_S = 10
#: The niceness of a process: the server, the searches of matches and the strategies run first, but
#: with autogroups all share alike: see `lower_priority`.
NICE = 10
#: Number of new nodes after which a part is sent.
PART_NODES = 1000
#: Shortest time between two parts with fewer nodes, in seconds.
PART_S = 0.1
#: The same time as a share of the search's time so far: a long search sends fewer parts.
PART_SHARE = 0.125
#: The least time for the moves as players write them, after a search that used up its time.
WRITING_S = 1.0
#: The number of random paths in the estimate before a search: few, so that it takes no time.
ESTIMATE_PATHS = 10
#: The meaning of the value in a trace whose search reached the limit of its processor time.
TIMED_OUT = "the search was stopped after {seconds:g} s: choose a smaller depth"
#: The same for a search that had waited too long for the processor.
TIMED_OUT_BUSY = (
    "the server is busy, and the search was stopped after {seconds:g} s: choose a smaller depth, or"
    " try again later"
)


class StudyHost:
    """Runs jobs and sends their documents in parts."""

    def __init__(self, commands: BinaryIO, replies: BinaryIO) -> None:
        self._commands = commands
        self._replies = replies
        self._queue: queue.SimpleQueue[Command] = queue.SimpleQueue()

    def serve(self) -> None:
        """Runs jobs until the server closes its input."""
        threading.Thread(target=self._read, name="reader", daemon=True).start()
        while True:
            self._run(self._queue.get())

    def _read(self) -> None:
        """Reads commands; ends the process when the input closes, even while a job runs."""
        leave_interrupts_to_main_thread()
        while length := self._commands.read(LENGTH_BYTES):
            content = self._commands.read(int.from_bytes(length, "big"))
            self._queue.put(decode_command(content))
        os._exit(0)

    def _run(self, command: Command) -> None:
        """Runs a job and sends exactly one last reply.

        An interrupt may arrive at any moment until `ignore_interrupts`.
        """
        self._send(Started(command.number))
        limit_cpu(command.limits.seconds + EXTRA_CPU_S)
        reply: Ended | Refused = Ended(command.number, is_complete=False)
        try:
            reply = self._perform(command)
            ignore_interrupts()
        except JobTimeout:
            ignore_interrupts()
        self._send(reply)

    def _perform(self, command: Command) -> Ended | Refused:
        """Runs a job and returns its last reply."""
        number, job, limits = command.number, command.job, command.limits
        try:
            if isinstance(job, TraceJob | LessonTraceJob):
                run = TraceRun(self, number, limits)
                run.run(job)
                return Ended(number, run.is_complete)
            self._send_document(command)
            return Ended(number, is_complete=True)
        except Exception as error:  # rules of another package may raise anything
            return make_refusal(number, error)

    def _send_document(self, command: Command) -> None:
        try:
            with time_limit(command.limits.elapsed_s, command.limits.seconds):
                document = msgspec.json.encode(make_document(command.job, command.limits))
        except JobTimeout:
            raise TooLarge(
                f"this takes more than {command.limits.seconds:g} s: ask for less"
            ) from None
        lines = GzipLines()
        lines.add(document)
        self.send_part(command.number, lines, is_last=True)

    def send_part(self, number: int, lines: GzipLines, *, is_last: bool = False) -> None:
        """Sends the lines that were added since the last part."""
        body = lines.take(is_last=is_last)
        self._send(Part(number, body, lines.crc, lines.length))

    def _send(self, reply: Reply) -> None:
        with uninterrupted():
            self._replies.write(frame(reply))
            self._replies.flush()


class TraceRun:
    """Runs one search and sends its trace as it grows."""

    def __init__(self, host: StudyHost, number: int, limits: Limits) -> None:
        self._host = host
        self._number = number
        self._limits = limits
        self._lines = GzipLines()
        self._stream: TraceStream | None = None
        self._begun_s = time.monotonic()
        #: When the next part is due, in seconds; the first one is due sooner.
        self._next_s = self._begun_s + PART_S / 2
        #: Whether the search ended within its time limit.
        self.is_complete = True

    def run(self, job: TraceJob | LessonTraceJob) -> None:
        """Searches within the limits; raises TeachError, GameError or MemoryError."""
        end_s = time.monotonic() + self._limits.elapsed_s
        cpu_end_s = time.process_time() + self._limits.seconds
        try:
            with time_limit(self._limits.elapsed_s, self._limits.seconds):
                stream = self._begin(job)
                value = stream.search.run()
            self._send_written(end_s, cpu_end_s)
            end = stream.end(value, self._size(job, stream.search, end_s, cpu_end_s))
        except JobTimeout:
            self.is_complete = False
            end = self._early_end(self._time_out_reason(is_busy=time.monotonic() >= end_s))
            self._send_written(end_s, cpu_end_s)
        except TooLarge as error:
            end = self._early_end(str(error))
            self._send_written(end_s, cpu_end_s)
        self._lines.add(end)
        self._host.send_part(self._number, self._lines, is_last=True)

    def _begin(self, job: TraceJob | LessonTraceJob) -> TraceStream:
        """Prepares the search and adds the head of its trace; returns the stream."""
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

    def _size(
        self, job: TraceJob | LessonTraceJob, search: Search, end_s: float, cpu_end_s: float
    ) -> Size | None:
        """Returns the size of plain minimax's tree; None if there is no time left to count it."""
        left_s = max(0.001, end_s - time.monotonic())
        cpu_left_s = max(0.001, cpu_end_s - time.process_time())
        try:
            with time_limit(left_s, cpu_left_s):
                if isinstance(job, TraceJob):
                    plan = drop_large_count(search.root, search.plan)
                    return search.size() if plan.plain_limit else None
                return search.size()
        except JobTimeout:
            return None

    def _time_out_reason(self, *, is_busy: bool) -> str:
        if is_busy:
            return TIMED_OUT_BUSY.format(seconds=self._limits.elapsed_s)
        return TIMED_OUT.format(seconds=self._limits.seconds)

    def _early_end(self, reason: str) -> bytes:
        """Returns the last line of a stopped search; raises TooLarge if there is no node yet."""
        if self._stream is None or self._stream.is_empty:
            raise TooLarge(reason)
        return self._stream.early_end(reason)

    def _send_written(self, end_s: float, cpu_end_s: float) -> None:
        """Sends what no chunk has yet, then the moves as players write them, as time allows."""
        self._send_chunk()
        assert self._stream is not None, "the search has begun"
        length = self._lines.length
        left_s = max(WRITING_S, end_s - time.monotonic())
        cpu_left_s = max(WRITING_S, cpu_end_s - time.process_time())
        with suppress(JobTimeout), time_limit(left_s, cpu_left_s):
            for line in self._stream.written():
                with uninterrupted():
                    self._lines.add(line)
        if self._lines.length > length:
            self._host.send_part(self._number, self._lines)

    def _on_leave(self) -> None:
        """Sends a chunk if enough nodes are new or the next part is due."""
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
    """Serves jobs until its input closes."""
    ignore_interrupts()
    commands, replies = take_streams()
    limit_memory(int(sys.argv[1]))
    lower_priority(NICE)
    ignore_overflow()
    StudyHost(commands, replies).serve()


if __name__ == "__main__":
    main()
