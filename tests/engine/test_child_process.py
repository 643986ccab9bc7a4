"""engine/child_process/process.py: a process starts whatever the threads of its parent do."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest
import uvloop

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
    await asyncio.sleep(0)  # the loop notices that nobody reads
    await asyncio.sleep(0)
    await process.close()
    assert process.pid is None


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_no_start_leaves_a_file_open(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """Neither one that goes well nor one that is cancelled, whatever it waits for.

    Whoever closed such a file later would close that of another with its number.
    """
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(_start_and_close(None))
        gc.collect()  # what earlier tests have left open
        numbers = {*os.listdir("/proc/self/fd")}
        for steps in (None, 0, 1, 2, 3):
            runner.run(_start_and_close(steps))
            gc.collect()
            assert {*os.listdir("/proc/self/fd")} <= numbers


async def _start_and_close(steps: int | None) -> None:
    """Starts a process and closes it; cancels the start after steps of the event loop."""
    process = ChildProcess()
    starting = asyncio.create_task(process.start("engine.study_pool.child", str(2**30)))
    if steps is not None:
        for _ in range(1 + steps):
            await asyncio.sleep(0)
        starting.cancel()
    await asyncio.wait([starting])
    await process.close()
    await asyncio.sleep(0)  # asyncio's own loop closes the socket now
