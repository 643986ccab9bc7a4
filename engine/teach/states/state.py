"""States: the interface through which the algorithms see a game.

A state has a side that chooses, its legal moves, and its utility if it is final. A game's position
and a node of an explicit tree are both states. A move is a number that only its own state can
interpret.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, cached_property
from typing import Protocol

from engine.game import Game, Position
from engine.game import State as Words
from engine.rules.call import RulesCall
from engine.rules.data import load_data
from engine.teach.states.tree import Node, Tree, value_of, walk
from engine.teach.trace import Number, Value
from engine.view import BoardView, Kind

_data = cache(load_data)


@dataclass(frozen=True, slots=True)
class Scale:
    """The utility of a finished game for the player at the root.

    Each ply from the root subtracts `by_distance` from a win and adds it to a loss.
    """

    lose: Number = -1
    draw: Number = 0
    win: Number = 1
    by_distance: Number = 0


class Status(Enum):
    """Whether the game goes on, or what its end means to one side."""

    WON = "won"
    LOST = "lost"
    DRAWN = "drawn"
    ONGOING = "ongoing"

    @property
    def reversed(self) -> "Status":
        """The same end for the opponent."""
        return {Status.WON: Status.LOST, Status.LOST: Status.WON}.get(self, self)


def status_of_utility(utility: Value | None) -> Status:
    """Returns MAX's status at a leaf that has nothing but a utility: more than 0 is a win.

    A state without a utility goes on; so does one with a utility for each player, where no single
    side wins.
    """
    if utility is None or isinstance(utility, tuple):
        return Status.ONGOING
    if utility == 0:
        return Status.DRAWN
    return Status.WON if utility > 0 else Status.LOST


class State(Protocol):
    """A state of a game."""

    @property
    def kind(self) -> str:
        """Who chooses: "max" (in a game the player at the root), "min", "mean", "p1", "p2", …"""

    @property
    def players(self) -> int:
        """The number of utilities of a final state: 1, or one for each player."""

    @property
    def ply(self) -> int:
        """The number of moves from the root to this state."""

    def utility(self) -> Value | None:
        """Returns the utility of a final state, None for any other."""

    def status(self) -> Status:
        """Returns MAX's status."""

    def score(self, status: Status) -> Value:
        """Returns the utility that this final state has if it ended with this status for MAX.

        A leaf with a utility of its own has this utility, whatever the status.
        """

    def estimate(self) -> Value | None:
        """Returns the game's own static evaluation of the state, None if there is none."""

    def pieces(self) -> tuple[Mapping[str, int], Mapping[str, int]] | None:
        """Returns the number of pieces by name, MAX's and MIN's; None if no piece has a side."""

    def piece_names(self) -> frozenset[str]:
        """Returns the names that pieces may have here or later."""

    def moves(self) -> Sequence[int]:
        """Returns the legal moves in the order of the rules."""

    def name(self, move: int) -> str:
        """Returns a move as text."""

    def play(self, move: int) -> "State":
        """Returns the state after a legal move."""

    def text(self) -> str:
        """Returns the state as text, different for different states."""

    def below(self, move: int, depth: float) -> int | None:
        """Returns the number of nodes below the state after a move; None if it is unknown.

        Only nodes at most `depth` plies below this state count.
        """


def colourless_name(board: BoardView, kind: Kind) -> str:
    """Returns the name of a kind of piece without its colour: "king" for "white king".

    A piece that has only the name of its side is called by its shape: "disc".
    """
    name = kind.name.rpartition(" ")[2]
    return kind.shape if name in {seat.name.lower() for seat in board.seats} else name


def mover_status(state: State) -> Status:
    """Returns the status of the side to move, the only one that the rules of a game give."""
    return state.status() if state.kind == "max" else state.status().reversed


#: Maximum number of states whose moves a search remembers.
MAX_REMEMBERED_STATES = 50_000


class RememberingGame(Game):
    """A game that computes the result and the moves of a state once.

    Different orders of the same moves lead to the same position, and the legal moves in plain
    Python take longer than everything else that a search of chess does.
    """

    __slots__ = ("_known", "original")

    def __init__(self, original: Game) -> None:
        super().__init__(original.module, original.digest)
        self.original = original
        self._known: dict[Words, tuple[int, list[int]]] = {}

    def result_and_moves(self, state: Words) -> tuple[int, list[int]]:
        """Returns the same as the original game; the caller must not change the list."""
        known = self._known.get(state)
        if known is None:
            known = self.original.result_and_moves(state)
            if len(self._known) < MAX_REMEMBERED_STATES:
                self._known[state] = known
        return known


#: The estimates of one search by state: many lines lead to the same position, and an evaluation in
#: plain Python takes longer than everything else.
Estimates = dict[Words, int]
#: Maximum number of estimates that a search remembers.
MAX_ESTIMATES = 50_000


@dataclass(frozen=True)
class GameState:
    """A position of a registered game.

    MAX is the seat that the rules name, or else the one that was to move at the root.
    """

    position: Position
    max_seat: int
    scale: Scale
    ply: int = 0
    players: int = 1
    #: The estimates of all states of the search.
    estimates: Estimates = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def at_root(cls, position: Position, scale: Scale, max_seat: int | None = None) -> "GameState":
        """Returns the root state of a search from a position.

        MAX is the given seat; without one, that of the rules, or else the side to move.
        """
        if max_seat is None:
            max_seat = position.game.maximizer(position.state)
        game = RememberingGame(position.game)
        root = Position(game, position.options, position.state, position.last, position.past)
        return cls(root, position.turn if max_seat is None else max_seat, scale)

    @cached_property
    def kind(self) -> str:
        return "max" if self.position.turn == self.max_seat else "min"

    def utility(self) -> Value | None:
        status = self.status()
        return None if status is Status.ONGOING else self.score(status)

    def status(self) -> Status:
        outcome = self.position.outcome()
        if outcome is None:
            return Status.ONGOING
        if outcome.winner is None:
            return Status.DRAWN
        return Status.WON if outcome.winner == self.max_seat else Status.LOST

    def score(self, status: Status) -> Value:
        if (points := self.points()) is not None:
            maximizer = self.position.game.maximizer(self.position.state)
            if maximizer is None:
                return points[self.max_seat]
            return sum(points) if maximizer == self.max_seat else -sum(points)
        if status is Status.WON:
            return self.scale.win - self.scale.by_distance * self.ply
        if status is Status.LOST:
            return self.scale.lose + self.scale.by_distance * self.ply
        return self.scale.draw

    def points(self) -> tuple[int, int] | None:
        """Returns the points of both seats in a finished state, where utilities come from them.

        That is so in a game with SEARCH "teach". In any other game the winner decides the utility.
        """
        if self.position.game.rules.SEARCH != "teach":
            return None
        outcome = self.position.outcome()
        return None if outcome is None else outcome.points

    def estimate(self) -> Value | None:
        state = self.position.state
        value = self.estimates.get(state)
        if value is None:
            game = self.position.game
            original = game.original if isinstance(game, RememberingGame) else game
            with RulesCall(game.id, "evaluate"):
                value = int(game.rules.evaluate(state, _data(original)))
            if len(self.estimates) < MAX_ESTIMATES:
                self.estimates[state] = value
        return value if self.kind == "max" else -value

    def pieces(self) -> tuple[Mapping[str, int], Mapping[str, int]] | None:
        board = self.position.game.board(self.position.options)
        counts: tuple[dict[str, int], dict[str, int]] = ({}, {})
        view = self.position.view()
        for piece, count in [*((piece, 1) for piece in view.pieces.values()), *view.hands.items()]:
            kind = board.kinds[piece]
            if kind.side is not None:
                side = counts[kind.side != self.max_seat]
                name = colourless_name(board, kind)
                side[name] = side.get(name, 0) + count
        return counts if any(kind.side is not None for kind in board.kinds.values()) else None

    def piece_names(self) -> frozenset[str]:
        board = self.position.game.board(self.position.options)
        kinds = [kind for kind in board.kinds.values() if kind.side is not None]
        return frozenset(colourless_name(board, kind) for kind in kinds)

    def moves(self) -> Sequence[int]:
        return self.position.moves()

    def name(self, move: int) -> str:
        return self.position.format_move(move)

    def play(self, move: int) -> "GameState":
        after = self.position.play(move)
        return GameState(after, self.max_seat, self.scale, self.ply + 1, estimates=self.estimates)

    def text(self) -> str:
        return self.position.text()

    def below(self, move: int, depth: float) -> int | None:
        return None


@dataclass(frozen=True, slots=True)
class TreeState:
    """A node of an explicit tree, and the path to it."""

    node: Node
    players: int
    path: tuple[str, ...] = ()

    @classmethod
    def at_root(cls, tree: Tree) -> "TreeState":
        """Returns the root state of a search of a tree."""
        return cls(tree.root, tree.players)

    @property
    def kind(self) -> str:
        return self.node.kind or "leaf"

    @property
    def ply(self) -> int:
        return len(self.path)

    def utility(self) -> Value | None:
        return value_of(self.node.utility)

    def status(self) -> Status:
        return status_of_utility(self.utility())

    def score(self, status: Status) -> Value:
        utility = self.utility()
        assert utility is not None, "only a leaf with a utility has a score"
        return utility

    def estimate(self) -> Value | None:
        return value_of(self.node.estimate)

    def pieces(self) -> tuple[Mapping[str, int], Mapping[str, int]] | None:
        return self.node.pieces

    def piece_names(self) -> frozenset[str]:
        sides = [side for _, _, node in walk(self.node) for side in node.pieces or ()]
        return frozenset(name for side in sides for name in side)

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
    """The number of nodes at most `depth` plies below a node."""
    if depth <= 0:
        return 0
    return sum(1 + _size(child, depth - 1) for child in node.branches())
