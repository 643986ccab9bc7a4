"""What a process with limits does to itself: it limits its memory and time, and takes its pipes."""

import contextlib
import os
import signal
from collections.abc import Iterator
from typing import BinaryIO


class TimeOver(BaseException):
    """The time of a job is over. It ends the job's code at any point."""


@contextlib.contextmanager
def interrupting(seconds: float) -> Iterator[None]:
    """Raises TimeOver in the block after `seconds`.

    On Windows, which has no such timer, it does nothing: the pool then kills the process.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return
    signal.signal(signal.SIGALRM, _raise_time_over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def ignore_interrupts() -> None:
    """Ignores the signal that ends a block of `interrupting`, until the next such block."""
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, signal.SIG_IGN)


def _raise_time_over(*_: object) -> None:
    raise TimeOver


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Delays TimeOver until the end of the block."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})


def limit_memory(limit_bytes: int) -> None:
    """Limits the address space of this process, and makes it leave no core file."""
    with contextlib.suppress(ImportError):  # Windows has no such limits
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))


def limit_cpu(seconds: float) -> None:
    """Limits the further processor time of this process."""
    with contextlib.suppress(ImportError):
        import resource

        usage = resource.getrusage(resource.RUSAGE_SELF)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        soft = int(usage.ru_utime + usage.ru_stime + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def be_nice(increment: int) -> None:
    """Lowers the priority of this process, where the system has priorities."""
    if hasattr(os, "nice"):
        os.nice(increment)


def take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Returns the pipes of commands and replies.

    Afterwards standard input and output are those of no pipe, so that code that reads or prints
    disturbs neither.
    """
    commands, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    return commands, replies
