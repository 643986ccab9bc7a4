"""A trace as text: the task, a drawing or a log, the result. The trace is the only input."""

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from engine.teach.output.classic import classic_lines
from engine.teach.output.drawing import tree_lines
from engine.teach.output.notation import (
    SIDES,
    cut_text,
    interval_text,
    relation,
    value_text,
    window_interval_text,
    window_text,
)
from engine.teach.output.snapshot import snapshot
from engine.teach.output.style import PLAIN, WIDTH, Line, Style, outline
from engine.teach.output.written import in_notation
from engine.teach.states.state import State
from engine.teach.trace import WINDOWED, Counts, End, Number, Skipped, Trace

#: A trace with more visited and skipped nodes than this has no list of their names.
MAX_LISTED_NAMES = 100
#: The lower and the upper bound of a node; None is open.
Bounds = tuple[End, End]
#: The bounds of a value of which nothing is known.
OPEN: Bounds = (None, None)


def format_trace(
    trace: Trace, log: str = "steps", style: Style = PLAIN, root: State | None = None
) -> str:
    """Returns the trace as text: the task, the log of that name, and the result.

    The names of the nodes follow, unless the log is the drawn tree, which has them. With the state
    that was searched all moves are written as players write them, except in the classic log: it
    has tokens, as the first program's.
    """
    if root is not None and log != "classic":
        trace = in_notation(trace, root)
    lines = list(outline(LOGS[log](trace), PLAIN if log == "classic" else style))
    if log == "leaves":  # an exercise: the result is for the student to find
        return "\n".join([f"{trace.title}\n", *lines, ""])
    parts = [_head(trace)]
    if lines:
        parts.append("\n".join(lines))
    parts.append("\n".join(_result(trace, has_names=log != "tree")))
    return "\n\n".join(parts) + "\n"


def _drawn_lines(trace: Trace) -> Iterable[Line]:
    return tree_lines(snapshot(trace))


def _leaf_lines(trace: Trace) -> Iterable[Line]:
    inner = {row for row, kind in enumerate(trace.nodes.kind) if kind != "leaf"}
    return tree_lines(snapshot(trace), hidden=inner)


def _no_lines(trace: Trace) -> Iterable[Line]:
    return ()


def step_lines(trace: Trace) -> Iterator[Line]:
    """Yields the log of all steps: one line for a leaf, two for any other node, one for a cut."""
    return (line for _, line in step_events(trace))


def step_events(trace: Trace) -> Iterator[tuple[int, Line]]:
    """Yields the lines of the log, each with the number of steps up to it."""
    steps = trace.steps
    rows = list(zip(steps.what, steps.node, steps.low, steps.high, strict=True))
    skipped: dict[int, list[str]] = {}
    for parent, move in zip(trace.skipped.parent, trace.skipped.move, strict=True):
        skipped.setdefault(parent, []).append(move)
    for count, (what, row, low, high) in enumerate(rows, 1):
        match what:
            case "enter" if trace.nodes.kind[row] != "leaf":
                yield count, _entered(trace, row, low, high)
            case "returned":
                following = rows[count] if count < len(rows) else None
                has_narrowed = following is not None and following[0] == "narrowed"
                line = _returned(trace, row, low, high, following if has_narrowed else None)
                yield count + has_narrowed, line
            case "cut":
                moves = ", ".join(skipped.get(row, ()))
                text = f"cut-off, {cut_text(low, high)}; skipped: {moves}"
                yield count, Line(trace.nodes.depth[row] + 1, text, "cut")
            case "leave" if not row:
                yield count, Line(0, result_text(trace), "best")


def _entered(trace: Trace, row: int, low: Number | None, high: Number | None) -> Line:
    nodes = trace.nodes
    side = SIDES.get(nodes.kind[row], nodes.kind[row])
    text = f"{nodes.move[row]} {side}" if row else side
    if trace.algorithm in WINDOWED:
        text += f": {window_text(low, high)}"
    return Line(nodes.depth[row], text, "", ((side, nodes.kind[row]),))


def _returned(
    trace: Trace,
    row: int,
    low: Number | None,
    high: Number | None,
    narrowed: tuple[str, int, Number | None, Number | None] | None,
) -> Line:
    """The line of a value that returns to the parent: the parent's interval, its new window."""
    nodes = trace.nodes
    parent = nodes.parent[row]
    value = trace.value_for_parent(row)
    text = f"{nodes.move[row]} {relation(trace, row)} {value_text(value)}"
    if not isinstance(value, tuple):
        text += f": {nodes.move[parent] or 'root'} in {interval_text(low, high)}"
    if narrowed is not None:
        is_max = nodes.kind[parent] == "max"
        end = narrowed[2] if is_max else narrowed[3]
        text += f", {'alpha' if is_max else 'beta'} {value_text(end)}"
    return Line(nodes.depth[row], text)


def bounds_lines(trace: Trace) -> Iterator[Line]:
    """Yields a line for each change of a node's bounds, as in the fifth founding text.

    A node's bounds are the intersection of its interval and its window: the values that the node
    may still have and that matter to the nodes above. They begin open, narrow with every child, and
    may become empty; then the search leaves the node.
    """
    nodes, steps = trace.nodes, trace.steps
    windows: dict[int, Bounds] = {}
    intervals: dict[int, Bounds] = {}
    shown: dict[int, Bounds] = {}
    for what, node, low, high in zip(steps.what, steps.node, steps.low, steps.high, strict=True):
        row = nodes.parent[node] if what == "returned" else node
        if nodes.kind[row] == "leaf":
            continue
        if what in ("enter", "narrowed"):
            windows[row] = low, high
        elif what in ("returned", "leave"):
            intervals[row] = low, high
        bounds = meet(windows[row], intervals.get(row, OPEN))
        if shown.get(row) != bounds and what != "leave":
            shown[row] = bounds
            name = nodes.move[row] or "root"
            text = f"{name} {window_interval_text(*bounds)}{' empty' if is_empty(bounds) else ''}"
            yield Line(nodes.depth[row], text)


def meet(left: Bounds, right: Bounds) -> Bounds:
    """Returns the bounds that two pairs of bounds have in common."""
    lows = [bounds[0] for bounds in (left, right) if bounds[0] is not None]
    highs = [bounds[1] for bounds in (left, right) if bounds[1] is not None]
    return max(lows, default=None), min(highs, default=None)


def is_empty(bounds: Bounds) -> bool:
    """Returns whether the lower bound is greater than the upper one."""
    low, high = bounds
    return low is not None and high is not None and low > high


#: The logs by name: each returns the lines that show a search.
LOGS: dict[str, Callable[[Trace], Iterable[Line]]] = {
    "tree": _drawn_lines,
    "steps": step_lines,
    "classic": classic_lines,
    "bounds": bounds_lines,
    "leaves": _leaf_lines,
    "none": _no_lines,
}


def result_text(trace: Trace) -> str:
    """Returns the result in a few words: MAX = 10, plays A."""
    kind = trace.nodes.kind[0]
    side = SIDES.get(kind, kind)
    if trace.value is None:
        return f"{side} chooses {trace.line[0]}"
    play = f", plays {trace.line[0]}" if trace.line else ""
    return f"{side} = {value_text(trace.value)}{play}"


def counts_text(trace: Trace) -> str:
    """Returns the number of nodes and leaves beside those of plain minimax: 19 of 31 nodes, …"""
    counts = trace.counts
    if counts.plain_nodes is None or counts.plain_nodes == counts.nodes:
        return _count_text(counts.nodes, counts.leaves)
    return (
        f"{counts.nodes:,} of {counts.plain_nodes:,} nodes,"
        f" {counts.leaves:,} of {counts.plain_leaves:,} leaves"
    )


def task_text(trace: Trace) -> str:
    """Returns how the search was made: its algorithm, form, depth, order, evaluator, windows."""
    depth = "to the end" if trace.depth is None else f"depth {trace.depth}"
    form = "" if trace.form == "flat" else f" (form: {trace.form})"
    fresh = ", a fresh window for each root move" if trace.fresh else ""
    order = f"order {trace.order}, evaluator {trace.evaluator}"
    return f"{trace.algorithm}{form}, {depth}, {order}{fresh}"


def _head(trace: Trace) -> str:
    lines = [trace.title] if trace.title else []
    lines += [f"from {trace.position}", task_text(trace)]
    if trace.view == "mover":
        lines.append("scores are those of the side to move")
    return "\n".join(_wrapped(line) for line in lines)


def _result(trace: Trace, has_names: bool) -> Iterator[str]:
    if trace.value is None and trace.line:
        yield f"choice: {trace.line[0]}"
    else:
        yield f"value: {value_text(trace.value)}"
        no_line = "none, chance decides" if trace.counts.nodes > 1 else "none, no move was searched"
        yield _wrapped(f"meaning: {trace.meaning}")
        yield _wrapped(f"best line: {' '.join(trace.line) or no_line}")
    yield f"searched: {_count_text(trace.counts.nodes, trace.counts.leaves)}"
    if trace.algorithm != "random":
        yield from _count_lines(trace.counts)
    if trace.truncated:
        yield f"the trace holds the first {len(trace.nodes.parent):,} nodes only"
    elif has_names and len(trace.nodes.parent) + len(trace.skipped.parent) <= MAX_LISTED_NAMES:
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
