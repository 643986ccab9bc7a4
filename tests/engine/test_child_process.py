"""engine/child_process/process.py: a process starts whatever the threads of its parent do."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from engine.child_process.process import ChildProcess

#: Starts a process with uvloop while another thread holds a lock that the end of its own data
#: needs, as the thread of a store does that holds a connection of a pool.
PROGRAM = """
import asyncio, threading, weakref
import uvloop
from engine.child_process.process import ChildProcess

class Connection:
    pass

lock, is_held, data = threading.Lock(), threading.Event(), threading.local()

def hold():
    data.connection = Connection()
    weakref.finalize(data.connection, lock.acquire).atexit = False
    lock.acquire()
    is_held.set()
    threading.Event().wait()

async def main():
    process = ChildProcess()
    await process.start("engine.study_pool.child", str(2**30))
    await process.close()
    print("started")

threading.Thread(target=hold, daemon=True).start()
is_held.wait()
uvloop.run(main())
"""


def test_a_process_starts_while_another_thread_holds_a_lock() -> None:
    """No code of the parent runs in the child: it would wait for the lock for ever, and the parent
    for the child.
    """
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    assert done.stdout == "started\n"


async def test_a_process_that_has_ended_is_closed() -> None:
    """Its end is no error for who writes to it and closes it."""
    process = ChildProcess()
    await process.start("engine.study_pool.child", str(2**30))
    os.kill(process.pid or 0, signal.SIGKILL)
    with pytest.raises(EOFError):
        await process.read(1)
    process.write(b"late")
    await asyncio.sleep(0)  # the loop notices that nobody reads the pipe
    await asyncio.sleep(0)
    await process.close()
    assert process.pid is None
