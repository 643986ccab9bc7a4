"""States as one chosen player sees them: that player is MAX, and all others are MIN.

Minimax for player p takes p's utility at the leaves, the greatest value where p is to move, and the
least value elsewhere: all others play against p. With two players it is MAX's view from either
seat. With more it differs from max-n, where each player maximizes their own utility.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engine.game import Position
from engine.teach.errors import NotPossible
from engine.teach.states.state import GameState, Scale, State, Status, status_of_utility
from engine.teach.trace import Value


@dataclass(frozen=True, slots=True)
class StateForPlayer:
    """A state with the chosen player as MAX and all other players as MIN."""

    state: State
    #: The chosen player: 1 is MAX or p1, 2 is MIN or p2, …
    player: int

    @property
    def kind(self) -> str:
        kind = self.state.kind
        if kind in ("mean", "leaf"):
            return kind
        return "max" if player_of(kind) == self.player else "min"

    @property
    def players(self) -> int:
        return 1

    @property
    def ply(self) -> int:
        return self.state.ply

    def utility(self) -> Value | None:
        return self._own(self.state.utility())

    def status(self) -> Status:
        return status_of_utility(self.utility())

    def score(self, status: Status) -> Value:
        utility = self.utility()
        assert utility is not None, "only a leaf with a utility has a score"
        return utility

    def estimate(self) -> Value | None:
        return self._own(self.state.estimate())

    def pieces(self) -> tuple[Mapping[str, int], Mapping[str, int]] | None:
        pieces = self.state.pieces()
        return pieces if pieces is None or self.player == 1 else (pieces[1], pieces[0])

    def piece_names(self) -> frozenset[str]:
        return self.state.piece_names()

    def moves(self) -> Sequence[int]:
        return self.state.moves()

    def name(self, move: int) -> str:
        return self.state.name(move)

    def play(self, move: int) -> "StateForPlayer":
        return StateForPlayer(self.state.play(move), self.player)

    def text(self) -> str:
        return self.state.text()

    def below(self, move: int, depth: float) -> int | None:
        return self.state.below(move, depth)

    def _own(self, value: Value | None) -> Value | None:
        """The chosen player's part of a value; a single utility is MAX's, and MIN's is its
        negation."""
        if value is None:
            return None
        if isinstance(value, tuple):
            return value[self.player - 1]
        return value if self.player == 1 else -value


@dataclass(frozen=True, slots=True)
class GameForBoth:
    """A position of a game with utilities of their own for both players, p1 and p2.

    What one player wins need not be what the other loses.
    """

    #: The position as each player sees it, with their own utilities.
    views: tuple[GameState, GameState]

    @classmethod
    def at_root(cls, position: Position, scales: tuple[Scale, Scale]) -> "GameForBoth":
        """Returns the root state of a search from a position."""
        first, second = scales
        return cls((GameState.at_root(position, first, 0), GameState.at_root(position, second, 1)))

    @property
    def kind(self) -> str:
        return f"p{self.views[0].position.turn + 1}"

    @property
    def players(self) -> int:
        return 2

    @property
    def ply(self) -> int:
        return self.views[0].ply

    def utility(self) -> Value | None:
        return _for_both([view.utility() for view in self.views])

    def status(self) -> Status:
        return Status.ONGOING

    def score(self, status: Status) -> Value:
        utility = self.utility()
        assert utility is not None, "only a final state has a score"
        return utility

    def estimate(self) -> Value | None:
        return _for_both([view.estimate() for view in self.views])

    def pieces(self) -> tuple[Mapping[str, int], Mapping[str, int]] | None:
        return self.views[0].pieces()

    def piece_names(self) -> frozenset[str]:
        return self.views[0].piece_names()

    def moves(self) -> Sequence[int]:
        return self.views[0].moves()

    def name(self, move: int) -> str:
        return self.views[0].name(move)

    def play(self, move: int) -> "GameForBoth":
        first, second = self.views
        return GameForBoth((first.play(move), second.play(move)))

    def text(self) -> str:
        return self.views[0].text()

    def below(self, move: int, depth: float) -> int | None:
        return None


def _for_both(values: Sequence[Value | None]) -> Value | None:
    """The values of both players as a pair; None if the game goes on."""
    numbers = tuple(value for value in values if isinstance(value, int | float))
    return numbers if len(numbers) == len(values) else None


def mover_of(root: State) -> int:
    """Returns the player who is to move: 1, 2, …; 0 where nobody chooses."""
    if isinstance(root, GameState):
        return root.position.turn + 1
    return 0 if root.kind in ("mean", "leaf") else player_of(root.kind)


def player_of(kind: str) -> int:
    """Returns the player who chooses at a node: 1 for MAX and p1, 2 for MIN and p2, …"""
    return {"max": 1, "min": 2}.get(kind) or int(kind[1:])


def with_max_player(root: State, player: int) -> State:
    """Returns the root of a search with the chosen player as MAX, who need not be to move.

    Raises NotPossible if there is no such player.
    """
    count = max(2, root.players)
    if not 1 <= player <= count:
        raise NotPossible(f"the players are 1 to {count}, not {player}")
    if isinstance(root, GameState):
        return replace(root, max_seat=player - 1)
    return StateForPlayer(root, player)
