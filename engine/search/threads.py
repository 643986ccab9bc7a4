"""Lazy SMP: more threads search the same position into the same table, each with work memory of its own.

They share nothing but the table, of which each entry carries its own check (key xor data); what one stored saves the
others a search. The compiled kernel runs without the interpreter's lock, so threads of one process use several cores.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Thread

import numpy as np

from engine.game import Position
from engine.native import Memory, NativeGame
from engine.search import kernel
from engine.search.work import Work


@contextmanager
def assistants(native: NativeGame, works: Sequence[Work], position: Position, table: Memory) -> Iterator[None]:
    """Threads that search until the block ends, one for each of the works, which have begun the position."""
    state = tuple(int(word) for word in position.state)
    threads = [
        Thread(target=_assist, args=(native, work, state, table, 1 + number % 2), name=f"assistant {number}")
        for number, work in enumerate(works, start=1)
    ]
    for work, thread in zip(works, threads, strict=True):
        work.allow_stop(None)
        thread.start()
    try:
        yield
    finally:
        for work in works:
            work.expire()
        for thread in threads:
            thread.join()


def _assist(native: NativeGame, work: Work, state: tuple[int, ...], table: Memory, first_depth: int) -> None:
    """Deepens as the main thread does, from another depth on, so that the threads are not all at the same place."""
    root = native.function("root")
    own_control = Memory(np.zeros(kernel.CONTROL_WORDS, np.int64))
    for depth in range(first_depth, kernel.MAX_PLY - 1):
        score = root(state, depth, 0, work.memory, table, own_control, native.data)
        if work.is_stopped:
            return
        report = work.report(depth, int(score), 0.0, False, 0)
        work.order([move for move, _, _ in report.moves])
        work.allow_stop(None)
