"""The trace of a search: what the glass box shows, in columns, ready for the wire.

Two things are kept apart. The *window* (alpha, beta) is what the node was asked: only a value
inside it matters to the nodes above. The *interval* (low, high) is what is known about the node's
own value; it starts open and narrows as children return. A side of either that is not limited is
null.

`nodes` come in the order of their visits. `steps` are everything that happened: a viewer that folds
a prefix of them has the picture at that moment. What a step's low and high are depends on it:

    enter      the node is entered           the window that it is asked
    returned   the node comes back           the interval of its parent, now
    narrowed   the node's window changes     the new window
    cut        alpha >= beta: it stops       the empty window
    leave      the node is finished          its interval, which its value and bound sum up
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Number = int | float
#: One number, or one for each player.
Value = int | float | tuple[int | float, ...]

#: So many nodes of a search are in its trace.
MAX_TRACE_NODES = 20_000
#: Each node is entered, comes back, is left, and may be narrowed and cut by each child.
MAX_STEPS = 5 * MAX_TRACE_NODES
MAX_PLAYERS = 8

#: Who chooses at a node: max, min, chance (mean), a player of several, or nobody (leaf).
Kind = Annotated[str, Meta(pattern="^(max|min|mean|leaf|p[1-8])$")]
#: The true value is the value, at least it, at most it; none: there is no value.
Bound = Literal["exact", "lower", "upper", "none"]
#: Why a node was left: all children looked at, window closed, game over, cut-off rule, a move drawn
#: by lot.
Reason = Literal["all", "cut", "leaf", "depth", "chosen"]
What = Literal["enter", "returned", "narrowed", "cut", "leave"]
#: Whose values these are: of the player at the root, or (negamax) of the side to move at each node.
View = Literal["root", "mover"]

Text = Annotated[str, Meta(max_length=4096)]
Name = Annotated[str, Meta(max_length=64)]
Count = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Vector = Annotated[tuple[int | float, ...], Meta(max_length=MAX_PLAYERS)]
OneValue = int | float | Vector | None
Rows = Meta(max_length=MAX_TRACE_NODES)
StepRows = Meta(max_length=MAX_STEPS)


class Nodes(Struct, frozen=True, forbid_unknown_fields=True):
    """The visited nodes, a column for each thing to know; the parent is a row, -1 for the root."""

    parent: Annotated[tuple[int, ...], Rows]
    move: Annotated[tuple[Name, ...], Rows]
    kind: Annotated[tuple[Kind, ...], Rows]
    depth: Annotated[tuple[int, ...], Rows]
    alpha: Annotated[tuple[int | float | None, ...], Rows]
    beta: Annotated[tuple[int | float | None, ...], Rows]
    value: Annotated[tuple[OneValue, ...], Rows]
    bound: Annotated[tuple[Bound, ...], Rows]
    reason: Annotated[tuple[Reason, ...], Rows]
    #: Whose value it is: 1 of the player at the root, -1 (negamax only) of the other.
    sign: Annotated[tuple[Literal[1, -1], ...], Rows]


class Skipped(Struct, frozen=True, forbid_unknown_fields=True):
    """The children that were never looked at: their parent's row, the move, and how many nodes are
    below (if known).
    """

    parent: Annotated[tuple[int, ...], Rows] = ()
    move: Annotated[tuple[Name, ...], Rows] = ()
    below: Annotated[tuple[int | None, ...], Rows] = ()


class Steps(Struct, frozen=True, forbid_unknown_fields=True):
    """What happened, in order: see the top of this file."""

    what: Annotated[tuple[What, ...], StepRows]
    node: Annotated[tuple[int, ...], StepRows]
    low: Annotated[tuple[int | float | None, ...], StepRows]
    high: Annotated[tuple[int | float | None, ...], StepRows]


class Counts(Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes and leaves looked at, beside those of plain minimax (null: too many to count) and the
    least possible.

    The minimum is Knuth and Moore's, in leaves, and there for uniform trees only. `ordering` counts
    the nodes that were looked at to sort moves.
    """

    nodes: Count
    leaves: Count
    plain_nodes: Count | None = None
    plain_leaves: Count | None = None
    minimum_leaves: Count | None = None
    ordering: Count = 0


class Trace(Struct, frozen=True, forbid_unknown_fields=True):
    """One search. `line` is the best line that it found, its first move the choice; a finished root
    has none.
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
