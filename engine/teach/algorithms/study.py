"""The parameters of one search, and the recorder of its trace.

An algorithm calls `enter` for each node, reports each event to the `Visit` that it gets, and calls
`leave` at the end. From the intervals of the children the visit computes the interval in which the
node's value must lie, which shows whether the value is exact or a bound.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from engine.teach.errors import NotPossible, TooLarge
from engine.teach.states.evaluators import Evaluator
from engine.teach.states.state import State
from engine.teach.trace import (
    MAX_TRACE_NODES,
    Bound,
    End,
    Nodes,
    Number,
    Skipped,
    StepKind,
    Steps,
    Value,
    View,
)

INF = math.inf
#: The deepest ply that a search may reach.
MAX_PLY = 64
#: The default limit of nodes in a search, those for move ordering included.
MAX_NODES = 1_000_000
V = TypeVar("V", bound=Value | None)

#: A cut-off rule: whether the search stops at a state with the given number of plies left.
CutOff = Callable[[State, float], bool]
#: A move order: the legal moves of a state in the order in which they are searched.
Order = Callable[["Study", State, Sequence[int], float], Sequence[int]]


def at_depth(state: State, depth: float) -> bool:
    """The default cut-off rule: the search stops when no plies are left."""
    return depth <= 0


@dataclass(slots=True)
class Record:
    """The growing rows of a trace; it drops nodes beyond `limit`."""

    limit: int = MAX_TRACE_NODES
    nodes: list[list[object]] = field(default_factory=list)
    skipped: list[tuple[int, str, int | None]] = field(default_factory=list)
    steps: list[tuple[StepKind, int, End, End]] = field(default_factory=list)
    truncated: bool = False

    def add(self, row: list[object]) -> int:
        """Adds a node and returns its row, or -1 if the record is full."""
        if len(self.nodes) >= self.limit:
            self.truncated = True
            return -1
        self.nodes.append(row)
        return len(self.nodes) - 1

    def step(self, what: StepKind, row: int, low: float, high: float) -> None:
        """Adds a step of a recorded node."""
        if row >= 0:
            self.steps.append((what, row, low_end(low), high_end(high)))

    def skip(self, row: int, move: str, below: int | None) -> None:
        """Adds a skipped child, or marks the record as truncated."""
        if row >= 0 and len(self.skipped) < self.limit:
            self.skipped.append((row, move, below))
        else:
            self.truncated = True

    def columns(self) -> tuple[Nodes, Skipped, Steps]:
        """Returns the record as the columns of a trace."""
        nodes, skipped = list(zip(*self.nodes, strict=True)), list(zip(*self.skipped, strict=True))
        return Nodes(*nodes), Skipped(*skipped), Steps(*zip(*self.steps, strict=True))


class Study:
    """One search: its evaluator, cut-off rule and move order, and its counts of nodes.

    `nodes_before` counts towards `max_nodes`: the nodes of the search that this one is part of.
    With `fresh` each root move is searched with a window of its own. `goal` is the least utility at
    which an optimistic search stops.
    """

    def __init__(
        self,
        evaluate: Evaluator,
        order: Order,
        cut_off: CutOff = at_depth,
        *,
        view: View = "root",
        record: Record | None = None,
        max_nodes: int = MAX_NODES,
        nodes_before: int = 0,
        fresh: bool = False,
        goal: Number = INF,
    ) -> None:
        self.evaluate = evaluate
        self.order = order
        self.cut_off = cut_off
        self.view = view
        self.record = record
        self.max_nodes = max_nodes
        self.nodes_before = nodes_before
        self.fresh = fresh
        self.goal = goal
        #: The number of visited nodes.
        self.visited = 0
        #: The number of leaves among them.
        self.leaves = 0
        #: The number of leaves at which the cut-off rule ended the search.
        self.stopped = 0
        #: The number of nodes that were searched only to order moves.
        self.ordering = 0
        #: The principal variation, once the root is left.
        self.line: tuple[int, ...] = ()
        self._open: list[Visit] = []

    def enter(
        self, state: State, move: int | None, kind: str, alpha: float = -INF, beta: float = INF
    ) -> "Visit":
        """Starts a visit of the state after a move of the current node (None at the root).

        Raises TooLarge beyond the limit of nodes or of plies.
        """
        self.visited += 1
        if self.nodes_before + self.visited + self.ordering > self.max_nodes:
            raise TooLarge(f"the search takes more than {self.max_nodes:,} nodes: reduce the depth")
        if state.ply > MAX_PLY:
            raise TooLarge(f"the search goes deeper than {MAX_PLY} plies: reduce the depth")
        visit = Visit(self, state, move, kind, self._open[-1] if self._open else None, alpha, beta)
        self._open.append(visit)
        return visit

    def window_below(self, kind: str, alpha: float, beta: float) -> tuple[float, float]:
        """Returns the window for a child of the current node.

        It is the node's own unless that is open to children.
        """
        return (-INF, INF) if self.opens_below(kind) else (alpha, beta)

    def opens_below(self, kind: str) -> bool:
        """Returns whether the children of the current node have an open window.

        A chance node needs exact values; a root may give each of its moves a fresh window.
        """
        return kind == "mean" or (self.fresh and len(self._open) == 1)

    def stops(self, state: State, depth: float) -> bool:
        """Returns whether the game is over here or the cut-off rule ends the search.

        The cut-off rule comes first: in plain Python the legal moves take far longer.
        """
        return self.cut_off(state, depth) or state.utility() is not None or not state.moves()

    def leaf_value(self, state: State) -> Value:
        """Returns the utility of a final state, the evaluator's value for any other."""
        utility = state.utility()
        return self.evaluate(state) if utility is None else utility

    def moves(self, state: State, depth: float) -> Sequence[int]:
        """Returns the legal moves in the order in which the search tries them."""
        return self.order(self, state, state.moves(), depth)

    def close(self, visit: "Visit") -> None:
        """Ends the current visit."""
        left = self._open.pop()
        assert left is visit, "nodes are left in the reverse order of entering"


class Visit:
    """A node on the current path: its window, the interval of its value, its best line so far."""

    def __init__(
        self,
        study: Study,
        state: State,
        move: int | None,
        kind: str,
        parent: "Visit | None",
        alpha: float,
        beta: float,
    ) -> None:
        self.study, self.state, self.move, self.kind, self.parent = study, state, move, kind, parent
        self.alpha, self.beta = alpha, beta
        self.low, self.high = -INF, INF
        self.line: tuple[int, ...] = ()
        self.child: Visit | None = None
        self._lows: list[float] = []
        self._highs: list[float] = []
        self.row = -1
        record = study.record
        if record is not None:
            name = parent.state.name(move) if parent is not None and move is not None else ""
            parent_row = -1 if parent is None else parent.row
            window = (low_end(alpha), high_end(beta))
            side = (self._sign, state.kind, "ongoing")
            self.row = record.add(
                [parent_row, name, kind, state.ply, *window, None, "none", "all", *side]
            )
            record.step("enter", self.row, alpha, beta)

    def returned(self) -> None:
        """Narrows the interval by that of the child that has just returned."""
        child, record = self.child, self.study.record
        assert child is not None
        if record is None:
            return
        low, high = (
            (child.low, child.high) if self._sign == child._sign else (-child.high, -child.low)
        )
        self._lows.append(low)
        self._highs.append(high)
        self.low, self.high = self._interval(len(self._lows) == len(self.state.moves()))
        record.step("returned", child.row, self.low, self.high)

    def prefer(self) -> None:
        """Makes the child that has just returned the best so far."""
        assert self.child is not None
        assert self.child.move is not None
        self.line = (self.child.move, *self.child.line)

    def narrow(self, alpha: float, beta: float) -> None:
        """Sets the window to (alpha, beta)."""
        if (alpha, beta) != (self.alpha, self.beta):
            self.alpha, self.beta = alpha, beta
            if self.study.record is not None:
                self.study.record.step("narrowed", self.row, alpha, beta)

    def cut(self, rest: Sequence[int], depth: float) -> None:
        """Records a cut-off: the remaining moves are not searched."""
        if self.study.record is not None and rest:
            self.study.record.step("cut", self.row, self.alpha, self.beta)
            self._note("reason", "cut")
            self.skip(rest, depth)

    def skip(self, moves: Sequence[int], depth: float) -> None:
        """Records moves that are not searched."""
        if self.study.record is not None:
            for move in moves:
                self.study.record.skip(
                    self.row, self.state.name(move), self.state.below(move, depth)
                )

    def stop(self, value: V) -> V:
        """Leaves a leaf of the search, where the game is over or the cut-off rule applies."""
        self.study.leaves += 1
        if not isinstance(value, tuple) and value is not None:
            self.low = self.high = value
        is_over = self.state.utility() is not None
        self.study.stopped += not is_over
        self._note("reason", "leaf" if is_over else "depth")
        self._note("status", self.state.status().value if is_over else "ongoing")
        self._note("kind", "leaf")
        return self.leave(value)

    def recall(self, value: V, low: float, high: float, line: tuple[int, ...]) -> V:
        """Leaves a state that a table remembers, with its interval and its best line."""
        self.low, self.high, self.line = low, high, line
        self._note("reason", "table")
        return self.leave(value)

    def leave(self, value: V) -> V:
        """Leaves the node with its value and returns the value."""
        self.study.close(self)
        if self.parent is None:
            self.study.line = self.line
        else:
            self.parent.child = self
        if self.study.record is not None:
            self._note("value", value)
            self._note("bound", self._bound(value))
            self.study.record.step("leave", self.row, self.low, self.high)
        return value

    def choose(self, move: int) -> None:
        """Records a move that is chosen at random, without a search."""
        self.line = (move,)
        self._note("reason", "chosen")

    @property
    def _sign(self) -> int:
        """-1 where values are the opponent's (negamax at a MIN node), 1 otherwise."""
        return -1 if self.study.view == "mover" and self.state.kind == "min" else 1

    def _interval(self, is_last: bool) -> tuple[float, float]:
        """The interval of the node's value, from the intervals of the children that have returned.

        The other children may still have any value.
        """
        if self.kind == "max" or self._sign < 0:
            return max(self._lows), max(self._highs) if is_last else INF
        if self.kind == "min":
            return min(self._lows) if is_last else -INF, min(self._highs)
        return (
            (mean(self._lows), mean(self._highs))
            if is_last and self.kind == "mean"
            else (-INF, INF)
        )

    def _bound(self, value: Value | None) -> Bound:
        """How the value relates to the true value."""
        if value is None:
            return "none"
        if isinstance(value, tuple) or self.low == self.high == value:
            return "exact"
        assert not self.low < value < self.high, f"{value} lies inside [{self.low}, {self.high}]"
        return "lower" if value <= self.low else "upper"

    def _note(self, column: str, entry: object) -> None:
        if self.study.record is not None and self.row >= 0:
            self.study.record.nodes[self.row][COLUMN[column]] = entry


#: The index of each column in a row of `Record.nodes`.
COLUMN = {name: index for index, name in enumerate(Nodes.__struct_fields__)}


def mean(values: Sequence[float]) -> float:
    """Returns the arithmetic mean, correctly rounded; an int if the mean is whole.

    Raises NotPossible for the mean of inf and -inf, which is no number.
    """
    if any(math.isinf(value) for value in values):
        result = sum(values)
        if math.isnan(result):
            raise NotPossible("inf and -inf have no mean: a chance node needs other utilities")
        return result
    result = math.fsum(values) / len(values)
    return int(result) if result.is_integer() else result


def low_end(limit: float) -> End:
    """Returns the lower end of a window or an interval as the trace has it: None if it is open."""
    return None if limit == -INF else limit


def high_end(limit: float) -> End:
    """Returns the upper end of a window or an interval as the trace has it: None if it is open."""
    return None if limit == INF else limit
