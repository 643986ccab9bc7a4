"""What a series of legal moves can lead to when both sides play towards it.

Composers of chess problems call it a helpmate.
"""

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any

from engine.rules.contract import State


def may_run_out_of_moves(
    s: State,
    seat: int,
    moves: Callable[[State, Any], int],
    play: Callable[[State, int], State],
    turn: Callable[[State], int],
    placement: Callable[[State], Hashable],
    max_moves: int,
    max_states: int,
) -> bool:
    """Whether a series of legal moves leads to a state in which this seat is to move and has no
    move. True as well if the first `max_states` states do not tell.

    It searches breadth first. `placement` is a state without its counts of moves: draws by a count
    or by repetition are ignored.
    """
    buf = [0] * max_moves
    seen, waiting = {placement(s)}, deque([s])
    while waiting:
        state = waiting.popleft()
        count = moves(state, buf)
        if count == 0 and turn(state) == seat:
            return True
        for move in buf[:count]:
            after = play(state, move)
            key = placement(after)
            if key not in seen:
                seen.add(key)
                waiting.append(after)
        if len(seen) > max_states:
            return True
    return False
