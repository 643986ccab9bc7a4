"""A trace as lines of JSON that are made while its search runs.

The first line is the head: the subject and the options of the search. Each chunk has, in columns,
the nodes, the values of the nodes that the search left, the skipped children and the steps since
the last chunk. The last line is the end: the counts, the value, its meaning and the principal
variation.

Where players of the game write a move otherwise than by its token, the head has the first moves as
they write them, lines after the last chunk have the others by row (those of skipped children by
their number), and the end has the principal variation in the column `written`. They come after the
search, because they would make it slower.

A skipped child of an explicit tree comes with what stands below it, in the column `subtree`: its
kind, its value if it is a leaf, and its children as (move, kind, value, children).

A chunk ends with a step "leave". So the columns of a node are final in its chunk, except those in
`left`: its value, bound and reason.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from engine.game import Position
from engine.teach.algorithms.explain import TITLES, Search, Size, counts_of
from engine.teach.algorithms.study import COLUMN, INF, Record
from engine.teach.output.written import listed, writer_of
from engine.teach.states.state import TreeState
from engine.teach.states.tree import Node, value_of, walk
from engine.teach.trace import End, StepKind, Value, finite

#: The number of each step in a chunk.
STEP_NUMBERS: Mapping[StepKind, int] = {
    "enter": 0,
    "returned": 1,
    "narrowed": 2,
    "cut": 3,
    "leave": 4,
}
#: The columns of `nodes` in a chunk.
NODE_COLUMNS = ("parent", "move", "kind", "depth", "alpha", "beta", "sign", "turn", "status")
#: The columns of `left` in a chunk, after the row.
LEFT_COLUMNS = ("value", "bound", "reason")
#: Maximum number of nodes of a tree whose skipped subtrees are sent: viewers draw no larger one.
MAX_SUBTREE_NODES = 300
#: Number of moves in a line of written ones.
WRITTEN_MOVES = 500
#: The columns that may have infinite numbers.
NUMBER_COLUMNS = ("alpha", "beta", "value")


#: A node that no search has visited: its kind, its value, and its children with their moves.
Subtree = tuple[str, object, list[Any]]


def ignore_leave() -> None:
    """Does nothing."""


@dataclass(slots=True)
class GrowingRecord(Record):
    """A record that calls `on_leave` after each recorded step "leave"."""

    on_leave: Callable[[], None] = ignore_leave
    #: The numbers of nodes, skipped children and steps at the last "leave".
    complete: tuple[int, int, int] = (0, 0, 0)

    def step(self, what: StepKind, row: int, low: float, high: float) -> None:
        """Adds a step of a recorded node."""
        Record.step(self, what, row, low, high)
        if what == "leave" and row >= 0:
            self.complete = len(self.nodes), len(self.skipped), len(self.steps)
            self.on_leave()


@dataclass(slots=True)
class TraceStream:
    """Makes the lines of a trace from the record of its search."""

    search: Search
    record: GrowingRecord
    position: Position | None = None
    #: The numbers of nodes, skipped children and steps in the chunks so far.
    sent: tuple[int, int, int] = field(default=(0, 0, 0))
    #: The root of a small explicit tree that is searched to its leaves; None for anything else.
    tree: Node | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        root, plan = self.search.root, self.search.plan
        if isinstance(root, TreeState) and plan.depth is None and plan.cut_off == "depth":
            nodes = sum(1 for _ in itertools.islice(walk(root.node), MAX_SUBTREE_NODES + 1))
            self.tree = root.node if nodes <= MAX_SUBTREE_NODES else None

    @property
    def is_empty(self) -> bool:
        """Whether no node has been left yet."""
        return not self.record.complete[0]

    @property
    def new_nodes(self) -> int:
        """The number of nodes in no chunk yet."""
        return self.record.complete[0] - self.sent[0]

    def head(self) -> bytes:
        """Returns the first line."""
        search, plan = self.search, self.search.plan
        head = {
            "title": search.title,
            "position": search.root.text(),
            "algorithm": plan.algorithm,
            "algorithm_title": TITLES.get(plan.algorithm, plan.algorithm),
            "form": plan.form,
            "depth": plan.depth,
            "order": plan.order,
            "evaluator": plan.evaluator,
            "seed": plan.seed,
            "view": search.study.view,
            "cut_off": plan.cut_off,
            "player": plan.player,
            "fresh": plan.fresh,
            **_game_fields(self.position),
            "max_nodes": plan.max_nodes,
            "max_trace": plan.max_trace,
        }
        return _line({"head": head})

    def chunk(self) -> bytes | None:
        """Returns the line with the records since the last chunk; None if there are none."""
        (node, skip, step), (nodes, skips, steps) = self.sent, self.record.complete
        if step == steps:
            return None
        self.sent = nodes, skips, steps
        events = self.record.steps[step:steps]
        left = [row for what, row, _, _ in events if what == "leave"]
        return _line(
            {
                "nodes": self._columns(range(node, nodes), NODE_COLUMNS),
                "left": {"row": left, **self._columns(left, LEFT_COLUMNS)},
                "skipped": self._skipped(self.record.skipped[skip:skips]),
                "steps": {
                    "what": [STEP_NUMBERS[what] for what, _, _, _ in events],
                    "node": [row for _, row, _, _ in events],
                    "low": [finite_end(low) for _, _, low, _ in events],
                    "high": [finite_end(high) for _, _, _, high in events],
                },
            }
        )

    def _columns(
        self, rows: "range | list[int]", names: tuple[str, ...]
    ) -> dict[str, list[object]]:
        nodes = self.record.nodes
        columns = {}
        for name in names:
            index = COLUMN[name]
            column = [nodes[row][index] for row in rows]
            columns[name] = list(map(finite, column)) if name in NUMBER_COLUMNS else column
        return columns

    def _skipped(self, rows: Sequence[tuple[int, str, int | None]]) -> dict[str, object]:
        """The columns of skipped children; of an explicit tree also what stands below them."""
        parents, moves, below = _columns(rows, 3)
        columns: dict[str, object] = {"parent": parents, "move": moves, "below": below}
        if self.tree is None or not rows:
            return columns
        return {**columns, "subtree": [self._subtree(row, move) for row, move, _ in rows]}

    def _subtree(self, row: int, move: str) -> Subtree:
        """What stands below a skipped child of a node."""
        path = [move]
        while row > 0:
            parent, label, *_ = self.record.nodes[row]
            assert isinstance(parent, int)
            path.append(str(label))
            row = parent
        assert self.tree is not None
        node = self.tree
        for label in reversed(path):
            node = node.branches()[node.labels().index(label)]
        return subtree_of(node)

    def written(self) -> Iterator[bytes]:
        """Yields lines with the moves as players write them, where that differs from the token.

        The moves near the root come first. Each line has the number of moves that follow it.
        """
        nodes, skipped = self.record.nodes, self.record.skipped
        writer = writer_of(self.search.root, nodes)
        if writer is None:
            return
        moves: list[tuple[str, int, Any, Any]] = [
            ("nodes", row, node[0], node[1]) for row, node in enumerate(nodes) if row
        ]
        parents = [parent for parent, _, _ in skipped]
        moves += [("skipped", index, *skipped[index][:2]) for index in listed(parents)]
        depths: list[Any] = [node[COLUMN["depth"]] for node in nodes]
        moves.sort(key=lambda move: depths[move[2]])
        for first in range(0, len(moves), WRITTEN_MOVES):
            columns: dict[str, dict[str, list[object]]] = {
                name: {"row": [], "move": []} for name in ("nodes", "skipped")
            }
            for name, row, parent, token in moves[first : first + WRITTEN_MOVES]:
                text = writer.write(parent, token)
                if text != token:
                    columns[name]["row"].append(row)
                    columns[name]["move"].append(text)
            rest = max(0, len(moves) - first - WRITTEN_MOVES)
            yield _line({"written": columns, "rest": rest})

    def end(self, value: Value | None, size: Size | None) -> bytes:
        """Returns the last line of a search that has ended; `size` is that of plain minimax."""
        search = self.search
        line, writer = search.line(), writer_of(search.root, search.record.nodes)
        return _end(
            counts=counts_of(search.study, size),
            value=finite(value),
            line=line,
            meaning=search.meaning(value),
            truncated=search.record.truncated,
            **({"written": writer.write_line(line)} if writer else {}),
        )

    def early_end(self, reason: str) -> bytes:
        """Returns the last line of a search that was stopped, with the reason as its meaning."""
        counts = counts_of(self.search.study, None)
        return _end(counts=counts, value=None, line=(), meaning=reason, truncated=True)


def subtree_of(node: Node) -> Subtree:
    """Returns the kind of a node, its value as JSON has it, and its children in the same form."""
    below = zip(node.labels(), node.branches(), strict=True)
    children = [(label, *subtree_of(child)) for label, child in below]
    return node.kind or "leaf", finite(value_of(node.utility)), children


def _game_fields(position: Position | None) -> dict[str, object]:
    """The fields of a head that only a game has."""
    if position is None:
        return {"game": "", "options": {}, "board": None, "start": None}
    fields = {
        "game": position.game.id,
        "options": position.options,
        "board": position.game.board(position.options),
        "start": position.view(),
    }
    notation = _first_moves(position)
    return {**fields, "notation": notation} if notation else fields


def _first_moves(position: Position) -> dict[str, str]:
    """The moves of the position as players write them, by token, where that differs."""
    if position.game.rules.notation is None:
        return {}
    written = {position.format_move(move): position.notation(move) for move in position.moves()}
    return {token: text for token, text in written.items() if text != token}


def finite_end(end: End) -> object:
    """Returns an end of a window as JSON has it."""
    return "inf" if end == INF else "-inf" if end == -INF else end


def _columns(rows: Sequence[tuple[object, ...]], count: int) -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(count)]


def _end(**fields: object) -> bytes:
    return _line({"end": fields})


def _line(content: object) -> bytes:
    return msgspec.json.encode(content) + b"\n"
