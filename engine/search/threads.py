"""Lazy SMP: helper threads search the same position with the same table, each with its own work
memory.

The threads share only the table, whose entries detect torn writes (key XOR data). An entry that one
thread stores saves the others a search. The compiled kernel runs without the GIL, so threads of one
process use several cores.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np

from engine.compiler.interpreted import BoundTemplate
from engine.compiler.intrinsics import Memory
from engine.game import Position
from engine.search import layout
from engine.search.work import Work


@contextmanager
def helper_threads(
    native: BoundTemplate, works: Sequence[Work], position: Position, table: Memory, data: Memory
) -> Iterator[None]:
    """Runs a helper thread for each of `works` until the block ends; each has its position."""
    if not works:
        yield
        return
    state = tuple(int(word) for word in position.state)
    with ThreadPoolExecutor(len(works), thread_name_prefix="helper") as threads:
        for work in works:
            work.allow_stop(None)
        running = [
            threads.submit(_run_helper, native, work, state, table, data, 1 + number % 2)
            for number, work in enumerate(works, start=1)
        ]
        try:
            yield
        finally:
            for work in works:
                work.expire()
    for helper in running:
        helper.result()  # raises the helper's exception


def _run_helper(
    native: BoundTemplate,
    work: Work,
    state: tuple[int, ...],
    table: Memory,
    data: Memory,
    first_depth: int,
) -> None:
    """Deepens from a first depth of its own, so that the threads search different depths."""
    root = native.function("root")
    own_control = Memory(np.zeros(layout.CONTROL_WORDS, np.int64))
    for depth in range(first_depth, layout.MAX_PLY - 1):
        score = root(state, depth, 0, work.memory, table, own_control, data)
        if work.is_stopped:
            return
        report = work.report(depth, int(score), 0.0, False, 0)
        work.set_root_moves([move for move, _, _ in report.moves])
        work.allow_stop(None)
