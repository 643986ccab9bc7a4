"""The log of each node's bounds as one narrowing interval, as in the fifth founding text.

A node's bounds are the intersection of its interval and its window: the values that the node may
still have and that matter to the nodes above. They begin open, narrow with every child, and may
become empty; then the search leaves the node.
"""

from collections.abc import Iterator

from engine.teach.output.notation import window_interval_text
from engine.teach.output.style import Line
from engine.teach.trace import End, Trace

#: The lower and the upper bound of a node; None is open.
Bounds = tuple[End, End]
#: The bounds of a value of which nothing is known.
OPEN: Bounds = (None, None)


def bounds_lines(trace: Trace) -> Iterator[Line]:
    """Yields a line for each change of a node's bounds."""
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
