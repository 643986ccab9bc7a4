"""The state of a search after some of its steps, as a viewer of a trace shows it."""

from dataclasses import dataclass, field

from engine.teach.trace import Number, Trace


@dataclass(slots=True)
class Seen:
    """The state of a node that the search has entered: its window, its interval, its end."""

    alpha: Number | None
    beta: Number | None
    low: Number | None = None
    high: Number | None = None
    is_done: bool = False
    #: The empty window of a cut-off, or None.
    cut: tuple[Number | None, Number | None] | None = None


@dataclass(slots=True)
class Snapshot:
    """The nodes that the search has entered so far, one per row, and the current row.

    `children` has the rows of all children in the order of their visits, also of those that the
    search enters later; `skipped` has the indexes of the skipped children in `trace.skipped`.
    """

    trace: Trace
    seen: list[Seen] = field(default_factory=list)
    current: int = 0
    children: dict[int, list[int]] = field(default_factory=dict)
    skipped: dict[int, list[int]] = field(default_factory=dict)

    def path(self) -> set[int]:
        """Returns the rows from the root to the current node."""
        rows, row = set(), self.current
        while row >= 0:
            rows.add(row)
            row = self.trace.nodes.parent[row]
        return rows

    def entered_children(self, row: int) -> list[int]:
        """Returns the rows of the children that the search has entered."""
        return [child for child in self.children.get(row, ()) if child < len(self.seen)]

    def skipped_children(self, row: int) -> list[int]:
        """Returns the indexes in `trace.skipped` of the children that were skipped so far."""
        seen = self.seen[row]
        return self.skipped.get(row, []) if seen.cut or seen.is_done else []


def snapshot(trace: Trace, count: int | None = None) -> Snapshot:
    """Returns the search after its first `count` steps; by default after all of them."""
    shown = Snapshot(trace)
    for row, parent in enumerate(trace.nodes.parent[1:], 1):
        shown.children.setdefault(parent, []).append(row)
    for index, parent in enumerate(trace.skipped.parent):
        shown.skipped.setdefault(parent, []).append(index)
    for index in range(len(trace.steps.what) if count is None else count):
        advance(shown, index)
    return shown


def advance(shown: Snapshot, index: int) -> None:
    """Applies the step with that index; the caller has applied all steps before it."""
    steps = shown.trace.steps
    row, low, high = steps.node[index], steps.low[index], steps.high[index]
    match steps.what[index]:
        case "enter":
            shown.seen.append(Seen(low, high))
            shown.current = row
        case "returned":
            shown.current = shown.trace.nodes.parent[row]
            parent = shown.seen[shown.current]
            parent.low, parent.high = low, high
        case "narrowed":
            shown.seen[row].alpha, shown.seen[row].beta = low, high
        case "cut":
            shown.seen[row].cut = low, high
        case "leave":
            seen = shown.seen[row]
            seen.low, seen.high, seen.is_done = low, high, True
