"""Two searches of the same state, side by side in two columns."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from engine.teach.output.notation import relation, value_text, window_interval_text
from engine.teach.output.style import WIDTH
from engine.teach.trace import WINDOWED, Trace

#: The path of moves from the root.
Path = tuple[str, ...]
#: Searches with more visited nodes than this are compared by their results only.
MAX_COMPARED = 400
#: The narrowest and the widest column of a search.
COLUMNS = (12, 28)
#: The mark of a line where the columns differ.
DIFFERENT = "*"


@dataclass(slots=True)
class Column:
    """The cells of one search, with its value and window at each node, by the node's path."""

    trace: Trace
    cells: dict[Path, str] = field(default_factory=dict)
    children: dict[Path, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, trace: Trace) -> "Column":
        """Returns the cells of a search."""
        column = cls(trace)
        paths: list[Path] = []
        for row, parent in enumerate(trace.nodes.parent):
            paths.append((*paths[parent], trace.nodes.move[row]) if row else ())
            column._add(paths[-1], column._visited(row))
        for parent, move in zip(trace.skipped.parent, trace.skipped.move, strict=True):
            column._add((*paths[parent], move), "skipped")
        return column

    def _add(self, path: Path, cell: str) -> None:
        self.cells[path] = cell
        if path:
            self.children.setdefault(path[:-1], []).append(path[-1])

    def _visited(self, row: int) -> str:
        """The value of a visited node for MAX, how it relates to the true one, and the window."""
        nodes = self.trace.nodes
        value, sign, text = nodes.value[row], nodes.sign[row], relation(self.trace, row)
        if sign < 0 and value is not None and not isinstance(value, tuple):
            value = -value  # negamax, which never cuts: its values are no bounds
        cell = f"{text} {value_text(value)}"
        if self.trace.algorithm not in WINDOWED or nodes.kind[row] == "leaf":
            return cell
        return f"{cell} {window_interval_text(nodes.alpha[row], nodes.beta[row])}"


def format_comparison(left: Trace, right: Trace) -> str:
    """Returns the nodes and the results of two searches in two columns.

    A line that begins with * has a difference. A node in no column was not visited.
    """
    columns = Column.of(left), Column.of(right)
    rows = [("", _name(left), _name(right))]
    if max(len(column.trace.nodes.parent) for column in columns) <= MAX_COMPARED:
        rows += _node_rows(*columns)
    rows += _result_rows(left, right)
    longest = max(len(cell) for row in rows for cell in row[1:])
    width = max(COLUMNS[0], min(longest + 2, COLUMNS[1]))
    return "\n".join(_aligned(row, width) for row in rows) + "\n"


def _name(trace: Trace) -> str:
    return trace.algorithm if trace.form == "flat" else f"{trace.algorithm} ({trace.form})"


def _node_rows(left: Column, right: Column, path: Path = ()) -> Iterator[tuple[str, str, str]]:
    """Yields the rows of a node and of all nodes below it."""
    cells = left.cells.get(path, ""), right.cells.get(path, "")
    name = "  " * len(path) + (path[-1] if path else "root")
    yield _marked(name, cells), *cells
    names = [*left.children.get(path, ()), *right.children.get(path, ())]
    for move in dict.fromkeys(names):
        yield from _node_rows(left, right, (*path, move))


def _result_rows(left: Trace, right: Trace) -> Iterator[tuple[str, str, str]]:
    """Yields the rows of the values, of the chosen moves and of the counts."""
    pairs = {
        "value": (value_text(left.value), value_text(right.value)),
        "plays": ((left.line or ("-",))[0], (right.line or ("-",))[0]),
        "nodes": (f"{left.counts.nodes:,}", f"{right.counts.nodes:,}"),
        "leaves": (f"{left.counts.leaves:,}", f"{right.counts.leaves:,}"),
    }
    for name, cells in pairs.items():
        yield _marked(name, cells), *cells


def _marked(name: str, cells: tuple[str, str]) -> str:
    return f"{DIFFERENT if cells[0] != cells[1] else ' '} {name}"


def _aligned(row: tuple[str, str, str], width: int) -> str:
    first = WIDTH - 2 * width
    return f"{row[0][: first - 1]:{first}}{row[1]:{width}}{row[2]}".rstrip()
