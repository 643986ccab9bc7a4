"""The trace of a search, as columns that can be sent as JSON.

A trace distinguishes two pairs of numbers. A node receives its *window* (alpha, beta) from its
parent: only a value inside it matters to the nodes above. The *interval* (low, high) is what is
known about the node's own value; it starts open and narrows as children return. An end without a
limit is null.

`nodes` are in the order of their visits. `steps` are all events of the search, in order: a viewer
that applies the first n of them has the state of the search at that moment. The meaning of a step's
low and high depends on the step:

    step       event                         low, high
    enter      the search enters the node    the window that the node receives
    returned   the node returns its value    the updated interval of its parent
    narrowed   the node's window changes     the new window
    cut        the node's search stops       the window that cuts off
    leave      the node is finished          its interval, summarized by its value and bound
"""

import math
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

Number = int | float
#: One number, or one for each player.
Value = int | float | tuple[int | float, ...]

#: Maximum number of nodes that a trace holds.
MAX_TRACE_NODES = 20_000
#: Maximum number of steps in a trace: each node is entered, left and returned, and may narrow and
#: cut its parent once.
MAX_STEPS = 5 * MAX_TRACE_NODES
#: Maximum number of players, and so of utilities of a leaf.
MAX_PLAYERS = 8

#: Who chooses at a node: MAX, MIN, chance (mean), one of several players, or nobody (leaf).
Kind = Annotated[str, Meta(pattern="^(max|min|mean|leaf|p[1-8])$")]
#: What the value says about the true value: equal to it (exact), a lower bound, an upper bound, or
#: nothing, because there is no value (none).
Bound = Literal["exact", "lower", "upper", "none"]
#: Why a node ended: all children searched (all), empty window (cut), game over (leaf), cut-off rule
#: (depth), remembered from an earlier visit of the state (table), or a move chosen at random
#: (chosen).
Reason = Literal["all", "cut", "leaf", "depth", "table", "chosen"]
#: MAX's status: won, lost, drawn, or the game goes on.
Ending = Literal["won", "lost", "drawn", "ongoing"]
#: The events of a search; the table above explains them.
StepKind = Literal["enter", "returned", "narrowed", "cut", "leave"]
#: Whose values these are: the root player's, or (negamax) those of the side to move at each node.
View = Literal["root", "mover"]

#: The algorithms whose nodes have a window.
WINDOWED = (
    "alphabeta",
    "fail-soft",
    "fail-hard",
    "one-bound",
    "one-bound-early",
    "parent-bound",
    "strict",
    "accumulators",
    "optimistic",
)

Text = Annotated[str, Meta(max_length=4096)]
Name = Annotated[str, Meta(max_length=64)]
Count = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Vector = Annotated[tuple[int | float, ...], Meta(max_length=MAX_PLAYERS)]
OneValue = int | float | Vector | None
#: An end of a window or an interval: None where it is open. A lower end may be inf, an upper end
#: -inf, by an infinite utility.
End = int | float | None
Rows = Meta(max_length=MAX_TRACE_NODES)
StepRows = Meta(max_length=MAX_STEPS)


class Nodes(Struct, frozen=True, forbid_unknown_fields=True):
    """The visited nodes, one column per property; `parent` is a row number, -1 for the root."""

    parent: Annotated[tuple[int, ...], Rows]
    move: Annotated[tuple[Name, ...], Rows]
    kind: Annotated[tuple[Kind, ...], Rows]
    depth: Annotated[tuple[int, ...], Rows]
    alpha: Annotated[tuple[End, ...], Rows]
    beta: Annotated[tuple[End, ...], Rows]
    value: Annotated[tuple[OneValue, ...], Rows]
    bound: Annotated[tuple[Bound, ...], Rows]
    reason: Annotated[tuple[Reason, ...], Rows]
    #: Whose value it is: 1 is the player at the root, -1 (negamax only) the opponent.
    sign: Annotated[tuple[Literal[1, -1], ...], Rows]
    #: Who would choose here, also at a leaf.
    turn: Annotated[tuple[Kind, ...], Rows]
    #: What the end of the game means to MAX.
    status: Annotated[tuple[Ending, ...], Rows]


class Skipped(Struct, frozen=True, forbid_unknown_fields=True):
    """The children that were never searched.

    The columns are the parent's row, the move, and the number of nodes below (None if unknown).
    """

    parent: Annotated[tuple[int, ...], Rows] = ()
    move: Annotated[tuple[Name, ...], Rows] = ()
    below: Annotated[tuple[int | None, ...], Rows] = ()


class Steps(Struct, frozen=True, forbid_unknown_fields=True):
    """The events of the search, in order; the top of this file explains them."""

    what: Annotated[tuple[StepKind, ...], StepRows]
    node: Annotated[tuple[int, ...], StepRows]
    low: Annotated[tuple[End, ...], StepRows]
    high: Annotated[tuple[End, ...], StepRows]


class Counts(Struct, frozen=True, forbid_unknown_fields=True):
    """The nodes and leaves that were searched, and those of plain minimax for comparison.

    The counts of plain minimax are None if there are too many to count. `minimum_leaves` is Knuth
    and Moore's minimum, for uniform trees only. `ordering` counts the nodes that were searched only
    to order moves.
    """

    nodes: Count
    leaves: Count
    plain_nodes: Count | None = None
    plain_leaves: Count | None = None
    minimum_leaves: Count | None = None
    ordering: Count = 0


class Trace(Struct, frozen=True, forbid_unknown_fields=True):
    """The record of one search.

    `line` is the principal variation; its first move is the chosen move. It is empty if the game is
    over at the root. `meaning` says what the value means, in words.
    """

    title: Text
    position: Text
    algorithm: Name
    form: Name
    depth: int | None
    order: Text
    evaluator: Text
    seed: int
    view: View
    value: OneValue
    line: Annotated[tuple[Name, ...], Meta(max_length=128)]
    counts: Counts
    nodes: Nodes
    skipped: Skipped
    steps: Steps
    truncated: bool
    cut_off: Name = "depth"
    #: The player whose values these are: a number from 1, or 0 for the side to move at the root.
    player: int = 0
    #: Whether each root move has a window of its own, instead of the one that is handed down.
    fresh: bool = False
    meaning: Text = ""
    #: The game's id, or "" for a tree or a graph.
    game: Name = ""

    def value_for_parent(self, row: int) -> OneValue:
        """Returns a node's value from its parent's point of view.

        Negamax negates it if the side to move at the node is not the one at its parent.
        """
        nodes = self.nodes
        value, parent = nodes.value[row], nodes.parent[row]
        if isinstance(value, tuple) or value is None:
            return value
        return value if parent < 0 or nodes.sign[row] == nodes.sign[parent] else -value


def encode_json(answer: object) -> bytes:
    """Returns traces as JSON, with infinite utilities as the texts "inf" and "-inf"."""
    return msgspec.json.encode(finite(msgspec.to_builtins(answer)))


def finite(part: object) -> object:
    """Returns the same tree of built-in values, with text in place of infinite numbers."""
    if isinstance(part, float) and math.isinf(part):
        return "inf" if part > 0 else "-inf"
    if isinstance(part, list | tuple):
        return [finite(item) for item in part]
    if isinstance(part, dict):
        return {name: finite(item) for name, item in part.items()}
    return part
