"""A trace as text: an indented log of all steps, then the result. The trace is the only input."""

import textwrap
from collections import Counter
from collections.abc import Iterator

from engine.teach.trace import WINDOWED, Counts, Number, OneValue, Skipped, Trace

#: The width of the text, in columns.
WIDTH = 80
#: The deepest ply that is indented; deeper lines show the number of the ply instead.
DEEPEST_INDENT = 20
#: A trace with more visited nodes than this has no list of their names.
MAX_LISTED_NODES = 400
#: Why a node is a leaf of the search.
REASONS = {"leaf": "game over", "depth": "search ends here"}
#: The sides as the log names them; players p1, p2, … keep their names.
SIDES = {"max": "MAX", "min": "MIN", "mean": "MEAN"}


def format_trace(trace: Trace, *, log: bool = True) -> str:
    """Returns the trace as text: the task, the log (optional), the result, the nodes by name."""
    parts = [_head(trace)]
    if log:
        parts.append("\n".join(_log(trace)))
    parts.append("\n".join(_result(trace)))
    return "\n\n".join(parts) + "\n"


def number_text(number: Number) -> str:
    """Returns a number as text; a float has at most six significant digits: 101, 12.5, 3.33333."""
    # Adding 0.0 turns -0.0 into 0.0.
    return str(number) if isinstance(number, int) else f"{number + 0.0:.6g}"


def value_text(value: OneValue) -> str:
    """Returns a value as text: a number, the numbers of several players as <1, 2, 3>, or none."""
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return f"<{', '.join(map(number_text, value))}>"
    return number_text(value)


def interval_text(low: Number | None, high: Number | None) -> str:
    """Returns an interval as text: [3, 5], or (-inf, 5] without a lower limit."""
    left = "(-inf" if low is None else f"[{number_text(low)}"
    right = "inf)" if high is None else f"{number_text(high)}]"
    return f"{left}, {right}"


def window_text(alpha: Number | None, beta: Number | None) -> str:
    """Returns a window as text: alpha 10, beta inf."""
    low = "-inf" if alpha is None else number_text(alpha)
    high = "inf" if beta is None else number_text(beta)
    return f"alpha {low}, beta {high}"


def _head(trace: Trace) -> str:
    depth = "to the end" if trace.depth is None else f"depth {trace.depth}"
    form = "" if trace.form == "flat" else f" (form: {trace.form})"
    task = f"{trace.algorithm}{form}, {depth}, order {trace.order}, evaluator {trace.evaluator}"
    lines = [trace.title] if trace.title else []
    lines += [f"from {trace.position}", task]
    if trace.view == "mover":
        lines.append("scores are those of the side to move")
    return "\n".join(_wrapped(line) for line in lines)


def _log(trace: Trace) -> Iterator[str]:
    """Yields the lines of the log, step by step; some steps have no line."""
    nodes, steps = trace.nodes, trace.steps
    is_windowed = trace.algorithm in WINDOWED
    rows = zip(steps.what, steps.node, steps.low, steps.high, strict=True)
    skipped: dict[int, list[str]] = {}
    for parent, move in zip(trace.skipped.parent, trace.skipped.move, strict=True):
        skipped.setdefault(parent, []).append(move)
    for what, row, low, high in rows:
        pad = _pad(nodes.depth[row])
        is_leaf = nodes.kind[row] == "leaf"
        match what:
            case "enter":
                if row:
                    yield f"{pad}try {nodes.move[row]}"
                if not is_leaf:
                    side = SIDES.get(nodes.kind[row], nodes.kind[row])
                    yield (
                        f"{pad}{side}: {window_text(low, high)}" if is_windowed else f"{pad}{side}"
                    )
            case "returned":
                value = _value_for_parent(trace, row)
                limits = (
                    "" if isinstance(value, tuple) else f": value in {interval_text(low, high)}"
                )
                yield f"{pad}score {value_text(value)}{limits}"
            case "narrowed":
                yield f"{pad}  {window_text(low, high)}"
            case "cut":
                names = ", ".join(skipped.get(row, []))
                line = f"{pad}  cut-off, alpha >= beta; skipped: {names}"
                yield from textwrap.wrap(line, WIDTH, subsequent_indent=f"{pad}    ") or [line]
            case "leave" if is_leaf:
                reason = REASONS[nodes.reason[row]]
                yield f"{pad}leaf: score {value_text(nodes.value[row])}, {reason}"
            case "leave" if nodes.value[row] is not None:
                bound = {"exact": "exact", "lower": "or more", "upper": "or less"}[nodes.bound[row]]
                yield f"{pad}final score {value_text(nodes.value[row])}, {bound}"


def _value_for_parent(trace: Trace, row: int) -> OneValue:
    """A node's value from its parent's point of view.

    Negamax negates it if the side to move at the node is not the one at its parent.
    """
    value, sign, parent = trace.nodes.value[row], trace.nodes.sign, trace.nodes.parent[row]
    if isinstance(value, tuple) or value is None or sign[row] == sign[parent]:
        return value
    return -value


def _pad(depth: int) -> str:
    """The indentation of a node: two spaces a ply; below `DEEPEST_INDENT` the ply as a number."""
    return "  " * depth if depth <= DEEPEST_INDENT else "  " * DEEPEST_INDENT + f"[ply {depth}] "


def _result(trace: Trace) -> Iterator[str]:
    if trace.value is None and trace.line:
        yield f"choice: {trace.line[0]}"
    else:
        yield f"value: {value_text(trace.value)}"
        no_line = "none, chance decides" if trace.counts.nodes > 1 else "none, no move was searched"
        yield _wrapped(f"best line: {' '.join(trace.line) or no_line}")
        yield _wrapped(f"meaning: {trace.meaning}")
    yield f"searched: {_count_text(trace.counts.nodes, trace.counts.leaves)}"
    if trace.algorithm != "random":
        yield from _count_lines(trace.counts)
    if trace.truncated:
        yield f"the trace holds the first {len(trace.nodes.parent):,} nodes only"
    elif len(trace.nodes.parent) <= MAX_LISTED_NODES:
        yield from _node_lists(trace)


def _count_lines(counts: Counts) -> Iterator[str]:
    if counts.plain_nodes is None or counts.plain_leaves is None:
        yield "plain minimax: too many to count"
    else:
        yield f"plain minimax: {_count_text(counts.plain_nodes, counts.plain_leaves)}"
    if counts.minimum_leaves is not None:
        yield f"minimum with perfect move ordering: {counts.minimum_leaves:,} leaves"
    if counts.ordering:
        yield f"for move ordering: {counts.ordering:,} nodes"


def _count_text(nodes: int, leaves: int) -> str:
    return f"{nodes:,} node{'s' * (nodes != 1)}, {leaves:,} {'leaf' if leaves == 1 else 'leaves'}"


def _node_lists(trace: Trace) -> Iterator[str]:
    visited, skipped = node_names(trace)
    yield _wrapped(f"visited: {' '.join(visited) or 'the root only'}")
    rest = [
        f"{name} (and {below} below)" if below else name
        for name, below in zip(skipped, trace.skipped.below, strict=True)
    ]
    yield _wrapped(f"skipped: {', '.join(rest) or 'nothing'}")


def node_names(trace: Trace) -> tuple[list[str], list[str]]:
    """Returns the names of the visited nodes without the root, and those of the skipped ones.

    The name is the move if every move occurs only once, otherwise the path from the root.
    """
    moves = [*trace.nodes.move[1:], *trace.skipped.move]
    if max(Counter(moves).values(), default=1) == 1:
        return list(trace.nodes.move[1:]), list(trace.skipped.move)
    paths = [""]
    for parent, move in zip(trace.nodes.parent[1:], trace.nodes.move[1:], strict=True):
        paths.append(_path(paths[parent], move))
    skipped: Skipped = trace.skipped
    rest = [
        _path(paths[parent], move)
        for parent, move in zip(skipped.parent, skipped.move, strict=True)
    ]
    return paths[1:], rest


def _path(parent: str, move: str) -> str:
    return f"{parent}.{move}" if parent else move


def _wrapped(line: str) -> str:
    return textwrap.fill(line, WIDTH, subsequent_indent="    ", break_on_hyphens=False)
