"""Explicit trees: a whole game as JSON (these types) or as text (`engine.teach.states.tree_text`).

A leaf has one utility, which is MAX's, or one for each player; a utility is a real number, or "inf"
or "-inf". Every other node says who chooses: max, min, mean (chance), or p1 to p8. For a search
that stops before the leaves, a node may have an estimate, and the pieces of both sides.
"""

import math
import re
from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from engine.teach.errors import TreeError
from engine.teach.trace import MAX_PLAYERS, Number, Value, encode_json

#: Maximum number of levels below the root.
MAX_LEVELS = 64
#: Maximum number of nodes of a tree.
MAX_TREE_NODES = 20_000
#: Maximum number of children of a node.
MAX_CHILDREN = 256
#: The longest tree, in bytes as JSON, in characters as text.
MAX_TREE_TEXT = 1 << 20
#: The greatest absolute value of a utility or an estimate.
MAX_NUMBER = 1_000_000_000
#: The name of a move or of a piece.
LABEL = re.compile(r"[^\s,:()\[\]<>|~#*]{1,24}")
#: The kinds of nodes in a tree whose leaves have a single utility each.
SINGLE_UTILITY_KINDS = ("max", "min", "mean")

Bounded = (
    Annotated[int, Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)]
    | Annotated[float, Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)]
)
#: Infinity in JSON, which has no number for it.
Infinite = Literal["inf", "-inf"]
Single = Bounded | Infinite
Utility = (
    Bounded
    | Infinite
    | Annotated[tuple[Bounded | Infinite, ...], Meta(min_length=2, max_length=MAX_PLAYERS)]
)
Pieces = dict[
    Annotated[str, Meta(min_length=1, max_length=24)],
    Annotated[int, Meta(ge=1, le=100)],
]
#: The pieces of MAX and those of MIN, by name.
Sides = tuple[Pieces, Pieces]

#: The infinite utilities, as JSON has them.
INFINITE: dict[str, float] = {"inf": math.inf, "-inf": -math.inf}


def value_of(utility: "Utility | None") -> Value | None:
    """Returns a utility or an estimate of a tree as numbers."""
    if isinstance(utility, tuple):
        return tuple(map(_number, utility))
    return None if utility is None else _number(utility)


def _number(utility: "Single") -> Number:
    return INFINITE[utility] if isinstance(utility, str) else utility


class Node(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A node has a kind and children; a leaf has neither.

    The evaluator values a leaf that has no utility.
    """

    kind: Annotated[str, Meta(pattern="^(max|min|mean|p[1-8])$")] | None = None
    children: "Annotated[tuple[Utility | Node, ...], Meta(max_length=MAX_CHILDREN)]" = ()
    #: The name of the move that leads here; an empty one means its number among its siblings.
    move: str = ""
    utility: Utility | None = None
    estimate: Utility | None = None
    pieces: Sides | None = None

    def branches(self) -> "tuple[Node, ...]":
        """Returns the children as nodes; a bare utility is a leaf."""
        return tuple(
            child if isinstance(child, Node) else Node(utility=child) for child in self.children
        )

    def labels(self) -> tuple[str, ...]:
        """Returns the names of the moves to the children."""
        return tuple(
            child.move if isinstance(child, Node) and child.move else str(number)
            for number, child in enumerate(self.children, 1)
        )


class Tree(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A tree and its title."""

    root: Node
    title: Annotated[str, Meta(max_length=80)] = ""

    @property
    def players(self) -> int:
        """The number of utilities of a leaf."""
        return max((_width(node) for _, _, node in walk(self.root)), default=1)


_decoder = msgspec.json.Decoder(Tree)


def walk(root: Node) -> Iterator[tuple[int, tuple[str, ...], Node]]:
    """Yields each node with its level and its path of labels: parents first, children in order."""
    stack: list[tuple[int, tuple[str, ...], Node]] = [(0, (), root)]
    while stack:
        level, path, node = stack.pop()
        yield level, path, node
        below = zip(node.labels(), node.branches(), strict=True)
        stack.extend(reversed([(level + 1, (*path, label), child) for label, child in below]))


def decode_tree(content: bytes) -> Tree:
    """Parses a tree from JSON; raises TreeError with the reason if it is not one."""
    if len(content) > MAX_TREE_TEXT:
        raise TreeError(f"a tree has at most {MAX_TREE_TEXT} bytes")
    try:
        tree = _decoder.decode(content)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise TreeError(f"not a tree: {error}") from error
    return check_tree(tree)


def encode_tree(tree: Tree) -> bytes:
    """Returns the tree as JSON that `decode_tree` reads back."""
    return encode_json(tree)


def check_tree(tree: Tree) -> Tree:
    """Returns the same tree if it is valid; raises TreeError with the first invalid node."""
    if not tree.title.isprintable():
        raise TreeError("a title is a line of text")
    widths: set[int] = set()
    kinds: set[str] = set()
    for count, (level, path, node) in enumerate(walk(tree.root), 1):
        if count > MAX_TREE_NODES or level > MAX_LEVELS:
            raise TreeError(
                f"a tree has at most {MAX_TREE_NODES} nodes on {MAX_LEVELS} levels below the root"
            )
        problem = _problem_of(node)
        if problem:
            raise TreeError(f"the node {'.'.join(path) or 'at the root'} {problem}")
        kinds |= {node.kind} if node.kind else set()
        widths |= {width for value in (node.utility, node.estimate) if (width := _count(value))}
    if len(widths) > 1:
        raise TreeError(
            "all leaves must have the same number of utilities, not "
            + " and ".join(map(str, sorted(widths)))
        )
    _check_players(kinds - {"mean"}, max(widths, default=1))
    return tree


def _problem_of(node: Node) -> str:
    """What is wrong with a node, as the end of a sentence; empty if it is valid."""
    labels = node.labels()
    if bool(node.kind) != bool(node.children):
        return "must have a kind and children, or neither"
    if node.kind and node.utility is not None:
        return "has children and a utility: only a leaf has a utility"
    if not node.kind and node.utility is None and node.estimate is None and node.pieces is None:
        return "is a leaf without a utility, an estimate or pieces"
    if len(set(labels)) < len(labels):
        return "has two moves of the same name"
    if len(labels) > MAX_CHILDREN:
        return f"has more than {MAX_CHILDREN} children"
    invalid = [
        label
        for label in (*labels, *(name for side in node.pieces or () for name in side))
        if not is_name(label)
    ]
    return (
        f"has the name {invalid[0][:24]!r}:"
        " a name is 1 to 24 characters without spaces or ,:()[]<>|~#*"
        if invalid
        else ""
    )


def is_name(text: str) -> bool:
    """Returns whether the text can be the name of a move or of a piece."""
    return bool(LABEL.fullmatch(text)) and text.isprintable()


def _check_players(kinds: set[str], width: int) -> None:
    if width == 1:
        players = sorted(kinds - set(SINGLE_UTILITY_KINDS))
        if players:
            raise TreeError(
                f"player {players[0]} needs utilities for each player, such as <1, -1>;"
                " with a single utility the kinds are max and min"
            )
        return
    allowed = {f"p{player}" for player in range(1, width + 1)}
    if kinds - allowed:
        names = ", ".join(sorted(allowed))
        raise TreeError(
            f"with {width} utilities per leaf, a node's kind is {names} or mean,"
            f" not {min(kinds - allowed)}"
        )


def _count(value: Utility | None) -> int:
    """The number of utilities in a value."""
    if value is None:
        return 0
    return len(value) if isinstance(value, tuple) else 1


def _width(node: Node) -> int:
    return max(_count(node.utility), _count(node.estimate), 1)


def uniform(kinds: tuple[str, ...], branching: int, utilities: tuple[Number, ...]) -> Node:
    """Returns a tree whose nodes have equally many children and whose leaves are equally deep.

    `kinds` holds one kind per level, `utilities` one number per leaf, from left to right.
    """
    if len(utilities) != branching ** len(kinds):
        raise TreeError(
            f"{branching} children on {len(kinds)} levels make {branching ** len(kinds)} leaves"
        )
    if not kinds:
        return Node(utility=utilities[0])
    part = len(utilities) // branching
    parts = (utilities[i * part : (i + 1) * part] for i in range(branching))
    return Node(kinds[0], tuple(uniform(kinds[1:], branching, leaves) for leaves in parts))
