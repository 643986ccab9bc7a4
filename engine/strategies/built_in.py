"""The built-in strategies: algorithms of `engine.teach`.

Each deepens ply by ply, so that it has a choice whenever its time is over. At its full depth its
choice is that of the teaching search.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from engine.search.job import MATE
from engine.strategies.contract import MAX_LOG_BYTES, MAX_VALUE, Choice, Turn
from engine.strategies.evaluation import root_of
from engine.strategies.names import BUILT_IN, FIXED_DEPTHS
from engine.teach.algorithms.explain import Plan, explain
from engine.teach.errors import TooLarge
from engine.teach.output.classic import log_lines
from engine.teach.output.notation import value_text
from engine.teach.trace import MAX_TRACE_NODES, Trace

#: The fewest bytes of a line in a log.
LINE_BYTES = 24
#: The last lines of a log, which stay if it is too long.
LAST_LINES = 3


def search(name: str, turn: Turn) -> Iterator[Choice]:
    """Yields the choice after each complete depth, up to that of the turn.

    A search that reaches the end of the game in every line goes no deeper.
    """
    last = FIXED_DEPTHS.get(name, turn.depth)
    first = min(1, last)
    for depth in range(first, last + 1):
        try:
            trace = trace_of(name, turn, depth)
        except TooLarge:
            if depth == first:
                raise
            return
        yield choice_of(trace, turn)
        if not trace.truncated and "depth" not in trace.nodes.reason:
            return


def trace_of(name: str, turn: Turn, depth: int) -> Trace:
    """Returns the trace of a strategy's search to a depth.

    A root move of alpha-beta has a window of its own, as in the first founding text.
    """
    plan = Plan(
        name, depth, evaluator=turn.evaluator, seed=turn.seed, fresh=name == "alphabeta",
        max_trace=MAX_TRACE_NODES, plain_limit=0,
    )  # fmt: skip
    return explain(root_of(name, turn.position, turn.evaluator), plan)


def choice_of(trace: Trace, turn: Turn) -> Choice:
    """Returns the choice of a search, with its classic log."""
    return Choice(
        trace.line[0], score_of(trace, turn),
        "" if trace.value is None else value_text(trace.value)[:MAX_VALUE], fit_log(trace),
        trace.counts.nodes, trace.depth or 0, trace.line,
    )  # fmt: skip


def score_of(trace: Trace, turn: Turn) -> int:
    """Returns the score for the side to move: with `estimate` the value, else only its sign.

    It is 0 where the values are points, which say nothing about a draw.
    """
    value, seat = trace.value, turn.position.turn
    if value is None or turn.position.game.rules.SEARCH == "teach":
        return 0
    if isinstance(value, tuple):
        lead = value[seat] - value[1 - seat]
        return (lead > 0) - (lead < 0)
    if turn.evaluator == "estimate":
        return max(-MATE, min(MATE, round(value)))
    draw = Plan(evaluator=turn.evaluator).utilities.draw
    return (value > draw) - (value < draw)


def fit_log(trace: Trace) -> str:
    """Returns the classic log of a search, at most MAX_LOG_BYTES long.

    It leaves out the deepest levels of the tree, and only as many as necessary.
    """
    depths = trace.nodes.depth
    deepest = max(depths)
    for levels in range(deepest, 0, -1):
        is_short = sum(depth <= levels for depth in depths) * LINE_BYTES <= MAX_LOG_BYTES
        text = "\n".join(_lines(trace, levels, deepest)) if is_short else None
        if text is not None and len(text.encode()) <= MAX_LOG_BYTES:
            return text
    return cut_lines(list(_lines(trace, 0, deepest)))


def _lines(trace: Trace, levels: int, deepest: int) -> Iterator[str]:
    """The lines of a log down to a level, with a note if there are deeper ones."""
    if levels < deepest:
        yield f"(levels 0 to {levels} of {deepest}; the search has {trace.counts.nodes:,} nodes)"
    yield from log_lines(trace, levels)


def cut_lines(lines: list[str]) -> str:
    """Returns lines as one text of at most MAX_LOG_BYTES, without those in the middle."""
    first, last = lines[:-LAST_LINES], lines[-LAST_LINES:]
    text = "\n".join(lines)
    while first and len(text.encode()) > MAX_LOG_BYTES:
        del first[-max(1, len(first) // 10) :]
        text = "\n".join((*first, "(...)", *last))
    return text


#: The built-in strategies by name.
STRATEGIES: dict[str, Callable[[Turn], Iterable[Choice]]] = {
    name: partial(search, name) for name in BUILT_IN
}
