"""What the algorithms see: states that say who chooses, which moves there are and what a final one
is worth.

They know nothing else of any game. A game's position and a node of an explicit tree are both
states; a move is a number that means something to its state only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np

from engine.game import Position
from engine.rules.data import load_data
from engine.teach.trace import Number, Value
from engine.teach.tree import Node, Tree

_data = cache(load_data)


@dataclass(frozen=True, slots=True)
class Scale:
    """What the end of a game is worth to the player at the root; `by_distance` takes as much off
    for each ply to it.
    """

    lose: Number = -1
    draw: Number = 0
    win: Number = 1
    by_distance: Number = 0


class State(Protocol):
    """A state of some game."""

    @property
    def kind(self) -> str:
        """Who chooses here: "max" (whoever plays at the root of a game), "min", "mean", or "p1",
        "p2", …
        """

    @property
    def players(self) -> int:
        """How many utilities a final state has: 1, or one for each player."""

    @property
    def ply(self) -> int:
        """How many moves below the root this is."""

    def utility(self) -> Value | None:
        """What a final state is worth; None where the game goes on."""

    def estimate(self) -> Value | None:
        """What the game itself guesses that the state is worth, if it does."""

    def pieces(self) -> tuple[Mapping[str, int], Mapping[str, int]] | None:
        """How many pieces of each name MAX has, and MIN, if there are any."""

    def moves(self) -> Sequence[int]:
        """The legal moves, in the game's own order."""

    def name(self, move: int) -> str:
        """A move as text."""

    def play(self, move: int) -> "State":
        """The state after a legal move."""

    def text(self) -> str:
        """The state as text, different for different states."""

    def below(self, move: int, depth: float) -> int | None:
        """The number of nodes below the state after a move, down to a depth from here; None if that
        is not known.
        """


@dataclass(frozen=True, slots=True)
class GameState:
    """A position of a registered game, seen from one seat: MAX is the seat that was to move at the
    root.
    """

    position: Position
    us: int
    scale: Scale
    ply: int = 0
    players: int = 1

    @classmethod
    def at_root(cls, position: Position, scale: Scale) -> "GameState":
        return cls(position, position.turn, scale)

    @property
    def kind(self) -> str:
        return "max" if self.position.turn == self.us else "min"

    def utility(self) -> Value | None:
        outcome = self.position.outcome()
        if outcome is None:
            return None
        if outcome.winner is None:
            return self.scale.draw
        if outcome.winner == self.us:
            return self.scale.win - self.scale.by_distance * self.ply
        return self.scale.lose + self.scale.by_distance * self.ply

    def estimate(self) -> Value | None:
        game = self.position.game
        with np.errstate(over="ignore"):
            value = int(game.rules.evaluate(self.position.state, _data(game)))
        return value if self.position.turn == self.us else -value

    def pieces(self) -> tuple[Mapping[str, int], Mapping[str, int]] | None:
        kinds = self.position.game.board(self.position.options).kinds
        counts: tuple[dict[str, int], dict[str, int]] = ({}, {})
        view = self.position.view()
        for piece, count in [*((piece, 1) for piece in view.pieces.values()), *view.hands.items()]:
            kind = kinds[piece]
            if kind.side is not None:
                side = counts[kind.side != self.us]
                side[kind.name] = side.get(kind.name, 0) + count
        return counts if any(kind.side is not None for kind in kinds.values()) else None

    def moves(self) -> Sequence[int]:
        return self.position.moves()

    def name(self, move: int) -> str:
        return self.position.format_move(move)

    def play(self, move: int) -> "GameState":
        return GameState(self.position.play(move), self.us, self.scale, self.ply + 1)

    def text(self) -> str:
        return self.position.text()

    def below(self, move: int, depth: float) -> int | None:
        return None


@dataclass(frozen=True, slots=True)
class TreeState:
    """A node of an explicit tree, and the way to it."""

    node: Node
    players: int
    path: tuple[str, ...] = ()

    @classmethod
    def at_root(cls, tree: Tree) -> "TreeState":
        return cls(tree.root, tree.players)

    @property
    def kind(self) -> str:
        return self.node.kind or "leaf"

    @property
    def ply(self) -> int:
        return len(self.path)

    def utility(self) -> Value | None:
        return self.node.utility

    def estimate(self) -> Value | None:
        return self.node.estimate

    def pieces(self) -> tuple[Mapping[str, int], Mapping[str, int]] | None:
        return self.node.pieces

    def moves(self) -> Sequence[int]:
        return range(len(self.node.children))

    def name(self, move: int) -> str:
        return self.node.labels()[move]

    def play(self, move: int) -> "TreeState":
        return TreeState(self.node.branches()[move], self.players, (*self.path, self.name(move)))

    def text(self) -> str:
        return ".".join(self.path) or "root"

    def below(self, move: int, depth: float) -> int | None:
        return _size(self.node.branches()[move], depth - 1)


def _size(node: Node, depth: float) -> int:
    """The number of nodes below a node, down to a depth."""
    if depth <= 0:
        return 0
    return sum(1 + _size(child, depth - 1) for child in node.branches())
