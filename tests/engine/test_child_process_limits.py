"""The limits that a child process sets for itself."""

import subprocess
import sys

import pytest

#: A process whose reader thread waits while the main thread sends the process a timer's signal in
#: a block of `uninterrupted`. It prints where JobTimeout was raised.
PROGRAM = """
import os, signal, sys, threading
from engine.child_process.limits import (
    JobTimeout, ignore_interrupts, leave_interrupts_to_main_thread, time_limit, uninterrupted,
)

def read():
    if sys.argv[2] == "blocked":
        leave_interrupts_to_main_thread()
    is_ready.set()
    sys.stdin.read()

ignore_interrupts()
is_ready = threading.Event()
threading.Thread(target=read, daemon=True).start()
is_ready.wait()
where = "nowhere"
try:
    with time_limit(3600, 3600):
        where = "inside"
        with uninterrupted():
            os.kill(os.getpid(), getattr(signal, sys.argv[1]))
            for _ in range(1_000_000):
                pass
            where = "after"
        for _ in range(1_000_000):
            pass
        where = "never"
except JobTimeout:
    print(where)
"""


def place_of_timeout(signal_name: str, reader: str) -> str:
    """Runs PROGRAM and returns what it prints."""
    command = [sys.executable, "-c", PROGRAM, signal_name, reader]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        return process.stdout.read().decode().strip()


@pytest.mark.parametrize("signal_name", ["SIGALRM", "SIGPROF"])
def test_an_uninterrupted_block_beside_a_reader(signal_name: str) -> None:
    """A timer's signal raises JobTimeout only after a block of `uninterrupted`.

    Where a thread leaves the signals open, the kernel delivers them to it, and the block is
    interrupted: so the threads of a child process call `leave_interrupts_to_main_thread`.
    """
    assert place_of_timeout(signal_name, "blocked") == "after"
    assert place_of_timeout(signal_name, "open") == "inside"
