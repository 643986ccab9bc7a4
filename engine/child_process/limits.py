"""Limits that a child process sets for itself: memory, processor time, priority, and files."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

#: The file of the niceness of this process's session, on Linux.
AUTOGROUP = Path("/proc/self/autogroup")
#: Attempts to write it, and the time between two, in seconds.
AUTOGROUP_TRIES, AUTOGROUP_PAUSE_S = 5, 0.11


class JobTimeout(BaseException):
    """The time of a job is up. It is raised at any point of the job's code."""


@contextlib.contextmanager
def time_limit(seconds: float, cpu_s: float | None = None) -> Iterator[None]:
    """Raises JobTimeout in the block after `seconds`, or after `cpu_s` of processor time.

    It does nothing on Windows, which has no such timers: there the pool kills the process.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return
    for number in _timer_signals():
        signal.signal(number, _raise_timeout)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    if cpu_s is not None:
        signal.setitimer(signal.ITIMER_PROF, cpu_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)


def ignore_interrupts() -> None:
    """Ignores the timers' signals until the next block of `time_limit`."""
    for number in _timer_signals():
        signal.signal(number, signal.SIG_IGN)


def leave_interrupts_to_main_thread() -> None:
    """Blocks the timers' signals in the calling thread.

    Otherwise the kernel may deliver one to this thread while the main thread blocks it, and Python
    then runs its handler in the main thread in spite of `uninterrupted`.
    """
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, _timer_signals())


def _timer_signals() -> tuple[signal.Signals, ...]:
    return (signal.SIGALRM, signal.SIGPROF) if hasattr(signal, "SIGALRM") else ()


def _raise_timeout(*_: object) -> None:
    raise JobTimeout


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Delays JobTimeout until the end of the block."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, _timer_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _timer_signals())


def limit_memory(limit_bytes: int) -> None:
    """Limits the address space of this process, and makes it leave no core file."""
    with contextlib.suppress(ImportError):  # Windows has no such limits
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))


def limit_cpu(seconds: float) -> None:
    """Limits the processor time that this process may still use."""
    with contextlib.suppress(ImportError):
        import resource

        usage = resource.getrusage(resource.RUSAGE_SELF)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        soft = int(usage.ru_utime + usage.ru_stime + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def lower_priority(increment: int) -> None:
    """Lowers the priority of this process, where the system has priorities.

    On Linux with autogroups (sched(7)) it counts only within the process's session, and a child
    process has one of its own: it then yields to no other. Services and containers with a control
    group for the processor have no autogroups.
    """
    if hasattr(os, "nice"):
        os.nice(increment)


def lower_session_priority(increment: int) -> None:
    """Lowers the priority of this process, which has a session of its own, against all others.

    On Linux with autogroups (sched(7)), the niceness of a process counts only within its session,
    and each session has a niceness too. Only for work that nobody waits for: the session then
    yields to every other program of the machine. Beside two that compute, on two processors, the
    trace of a lesson in such a study process took 15 s instead of 3 s.
    """
    lower_priority(increment)
    for _ in range(AUTOGROUP_TRIES):
        try:
            AUTOGROUP.write_text(str(os.nice(0)))
            return
        except BlockingIOError:  # the system allows one change in 100 ms
            time.sleep(AUTOGROUP_PAUSE_S)
        except OSError:  # there are no autogroups
            return


def take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Returns the streams of commands and replies, which were standard input and output.

    Standard input, output and error become the null device, so that code that reads or prints
    disturbs neither stream.
    """
    commands, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    return commands, replies
