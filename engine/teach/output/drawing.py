"""A searched tree as text: one line per node; leaves share their parent's line if they fit."""

from collections.abc import Container, Iterator

from engine.teach.output.notation import (
    SIDES,
    cut_text,
    interval_text,
    relation,
    value_text,
    window_interval_text,
)
from engine.teach.output.snapshot import Snapshot
from engine.teach.output.style import WIDTH, Line

#: Maximum number of skipped moves of a node that are all listed.
MAX_LISTED_MOVES = 12
#: Number of listed moves if there are more.
LISTED_MOVES = 6


def tree_lines(
    shown: Snapshot, expanded: set[int] | None = None, hidden: Container[int] = ()
) -> Iterator[Line]:
    """Yields the lines of a search as it stands.

    With `expanded`, only these rows show their children. The rows in `hidden` show no values.
    """
    if not shown.seen:
        return
    stack = [0]
    while stack:
        row = stack.pop()
        if row < 0:
            yield _skipped_line(shown, ~row)
            continue
        leaves = _inline_leaves(shown, row)
        is_open = expanded is None or row in expanded
        below = shown.entered_children(row)
        is_folded = bool(below) and not is_open
        yield _node_line(shown, row, leaves if is_open else "", is_folded, row in hidden)
        if not leaves and is_open:
            if shown.skipped_children(row) and shown.trace.nodes.reason[row] != "chosen":
                stack.append(~row)
            stack.extend(reversed(below))


def _node_line(
    shown: Snapshot, row: int, leaves: str, is_folded: bool = False, is_hidden: bool = False
) -> Line:
    nodes = shown.trace.nodes
    seen = shown.seen[row]
    kind = nodes.kind[row]
    side = "" if kind == "leaf" else SIDES.get(kind, kind)
    window = _window(shown, row, seen.is_done or is_hidden)
    value = "= ?" if is_hidden else _value_part(shown, row)
    name = nodes.move[row] if row else ""
    text = " ".join(filter(None, (name, side, value)))
    text += (" …" if is_folded else "") + (f": {leaves}" if leaves else "")
    is_current = row == shown.current and not shown.seen[0].is_done
    return Line(
        nodes.depth[row],
        text + (f"  {window}" if window else ""),
        "current" if is_current else "",
        tuple(filter(lambda mark: mark[0], ((side, kind), (window, "dim")))),
    )


def _value_part(shown: Snapshot, row: int) -> str:
    """The value of a node that is finished, otherwise the interval in which it lies."""
    nodes, seen = shown.trace.nodes, shown.seen[row]
    if not seen.is_done:
        is_vector = nodes.kind[row].startswith("p")
        return "…" if is_vector else f"in {interval_text(seen.low, seen.high)}"
    if nodes.reason[row] == "chosen":
        return f"chooses {shown.trace.line[0]}"
    plays = f", plays {shown.trace.line[0]}" if not row and shown.trace.line else ""
    known = " (table)" if nodes.reason[row] == "table" else ""
    return f"{relation(shown.trace, row)} {value_text(nodes.value[row])}{known}{plays}"


def _window(shown: Snapshot, row: int, is_first: bool) -> str:
    """The window that a node received first, or its current one; empty if it is open."""
    nodes, seen = shown.trace.nodes, shown.seen[row]
    if nodes.kind[row] == "leaf":
        return ""
    alpha, beta = (nodes.alpha[row], nodes.beta[row]) if is_first else (seen.alpha, seen.beta)
    return "" if alpha is beta is None else f"window {window_interval_text(alpha, beta)}"


def _inline_leaves(shown: Snapshot, row: int) -> str:
    """The children on one line, if all are leaves and fit; otherwise empty."""
    nodes = shown.trace.nodes
    rows = shown.entered_children(row)
    if not rows or any(nodes.kind[child] != "leaf" for child in rows):
        return ""
    parts = [", ".join(f"{nodes.move[child]} {_value_part(shown, child)}" for child in rows)]
    if shown.skipped_children(row):
        parts.append(_skipped_line(shown, row).text)
    text = "; ".join(parts)
    room = WIDTH - 3 * nodes.depth[row] - len(_node_line(shown, row, "").text) - 2
    return text if len(text) <= room and shown.current not in rows else ""


def _skipped_line(shown: Snapshot, row: int) -> Line:
    """The children that a node skips, and why."""
    skipped = shown.trace.skipped
    names = []
    for index in shown.skipped_children(row):
        below = skipped.below[index]
        names.append(skipped.move[index] + (f" (and {below} below)" if below else ""))
    if len(names) > MAX_LISTED_MOVES:
        names = [*names[:LISTED_MOVES], f"… ({len(names)} moves)"]
    cut = shown.seen[row].cut
    reason = f", {cut_text(*cut)}" if cut else ""
    return Line(shown.trace.nodes.depth[row] + 1, f"cut{reason}: skips {', '.join(names)}", "cut")
