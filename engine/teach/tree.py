"""Explicit trees: a game that is written down whole, as JSON (these types) or as text
(`engine.teach.tree_text`).

A leaf has one utility, for MAX, or one for each player. Every other node says who chooses there:
max, min, mean (chance), or p1 to p8. A node may carry an estimate, and the pieces of both sides,
for searches that stop before the leaves.
"""

import re
from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from engine.teach.errors import TreeError
from engine.teach.trace import MAX_PLAYERS, Number, Value

MAX_LEVELS = 64
MAX_TREE_NODES = 20_000
MAX_CHILDREN = 256
MAX_TREE_TEXT = 1 << 20
MAX_NUMBER = 1_000_000_000
LABEL = re.compile(r"[^\s,:()\[\]<>|~#*]{1,24}")
SIDES = ("max", "min", "mean")

Bounded = (
    Annotated[int, Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)]
    | Annotated[float, Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)]
)
Utility = Bounded | Annotated[tuple[Bounded, ...], Meta(min_length=2, max_length=MAX_PLAYERS)]
Pieces = dict[
    Annotated[str, Meta(min_length=1, max_length=24)],
    Annotated[int, Meta(ge=1, le=100)],
]
#: The pieces of MAX and those of MIN, by name.
Sides = tuple[Pieces, Pieces]


class Node(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A node: with a kind and children, or a leaf with a utility; a leaf without one is left to the
    evaluator.
    """

    kind: Annotated[str, Meta(pattern="^(max|min|mean|p[1-8])$")] | None = None
    children: "Annotated[tuple[Utility | Node, ...], Meta(max_length=MAX_CHILDREN)]" = ()
    #: The move that leads here; without it, its number among its siblings.
    move: str = ""
    utility: Utility | None = None
    estimate: Utility | None = None
    pieces: Sides | None = None

    def branches(self) -> "tuple[Node, ...]":
        """The children; a bare utility stands for a leaf."""
        return tuple(
            child if isinstance(child, Node) else Node(utility=child) for child in self.children
        )

    def labels(self) -> tuple[str, ...]:
        """The names of the moves to the children."""
        return tuple(
            child.move if isinstance(child, Node) and child.move else str(number)
            for number, child in enumerate(self.children, 1)
        )


class Tree(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A tree and what it is called."""

    root: Node
    title: Annotated[str, Meta(max_length=80)] = ""

    @property
    def players(self) -> int:
        """How many utilities a leaf has."""
        return max((_width(node) for _, _, node in walk(self.root)), default=1)


_decoder = msgspec.json.Decoder(Tree)


def walk(root: Node) -> Iterator[tuple[int, tuple[str, ...], Node]]:
    """Every node with its level and the labels that lead to it: parents first, children in order."""
    stack: list[tuple[int, tuple[str, ...], Node]] = [(0, (), root)]
    while stack:
        level, path, node = stack.pop()
        yield level, path, node
        below = zip(node.labels(), node.branches(), strict=True)
        stack.extend(reversed([(level + 1, (*path, label), child) for label, child in below]))


def decode_tree(content: bytes) -> Tree:
    """The tree that a JSON text holds; TreeError says what is wrong with it."""
    if len(content) > MAX_TREE_TEXT:
        raise TreeError(f"a tree has at most {MAX_TREE_TEXT} bytes")
    try:
        tree = _decoder.decode(content)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise TreeError(f"not a tree: {error}") from error
    return check_tree(tree)


def encode_tree(tree: Tree) -> bytes:
    return msgspec.json.encode(tree)


def check_tree(tree: Tree) -> Tree:
    """The same tree, if it is one: TreeError names the first node that breaks a rule."""
    if not tree.title.isprintable():
        raise TreeError("a title is a line of text")
    widths: set[int] = set()
    kinds: set[str] = set()
    for count, (level, path, node) in enumerate(walk(tree.root), 1):
        if count > MAX_TREE_NODES or level > MAX_LEVELS:
            raise TreeError(
                f"a tree has at most {MAX_TREE_NODES} nodes on {MAX_LEVELS} levels below the root"
            )
        wrong = _wrong_with(node)
        if wrong:
            raise TreeError(f"the node {'.'.join(path) or 'at the root'} {wrong}")
        kinds |= {node.kind} if node.kind else set()
        widths |= {width for value in (node.utility, node.estimate) if (width := _count(value))}
    if len(widths) > 1:
        raise TreeError(
            f"every leaf has the same number of utilities, not {' and '.join(map(str, sorted(widths)))}"
        )
    _check_players(kinds - {"mean"}, max(widths, default=1))
    return tree


def _wrong_with(node: Node) -> str:
    labels = node.labels()
    if bool(node.kind) != bool(node.children):
        return "has a kind and children, or neither"
    if node.kind and node.utility is not None:
        return "has children and a utility: only a leaf has a utility"
    if not node.kind and node.utility is None and node.estimate is None and node.pieces is None:
        return "is a leaf without a utility, an estimate or pieces"
    if len(set(labels)) < len(labels):
        return "has two moves of the same name"
    if len(labels) > MAX_CHILDREN:
        return f"has more than {MAX_CHILDREN} children"
    bad = [
        label
        for label in (*labels, *(name for side in node.pieces or () for name in side))
        if not is_name(label)
    ]
    return (
        f"has the name {bad[0][:24]!r}: a name is 1 to 24 characters without spaces or ,:()[]<>|~#*"
        if bad
        else ""
    )


def is_name(text: str) -> bool:
    """Can a move or a piece be called that?"""
    return bool(LABEL.fullmatch(text)) and text.isprintable()


def _check_players(kinds: set[str], width: int) -> None:
    if width == 1:
        players = sorted(kinds - set(SIDES))
        if players:
            raise TreeError(
                f"player {players[0]} needs utilities for each player: <1, -1>; with one, say max and min"
            )
        return
    allowed = {f"p{player}" for player in range(1, width + 1)}
    if kinds - allowed:
        offer = ", ".join(sorted(allowed))
        raise TreeError(
            f"with {width} utilities a leaf, who chooses is {offer} or mean, not {min(kinds - allowed)}"
        )


def _count(value: Value | None) -> int:
    if value is None:
        return 0
    return len(value) if isinstance(value, tuple) else 1


def _width(node: Node) -> int:
    return max(_count(node.utility), _count(node.estimate), 1)


def uniform(kinds: tuple[str, ...], branching: int, utilities: tuple[Number, ...]) -> Node:
    """A tree in which each node has as many children, and each leaf is as deep: `kinds` by level,
    leaves in order.
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
