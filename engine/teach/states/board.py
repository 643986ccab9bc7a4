"""A mutable board, on which moves are played and taken back, as in the first teaching programs.

Elsewhere in this package a move returns a new state and leaves the old one unchanged. A board has
one current state, and a search must take back each move that it plays, in the reverse order. Chess
programs do that because a large board is faster to change than to copy.

This board keeps the earlier states on a stack, so that it works for every game: the rules need no
way to take a move back.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from engine.teach.states.state import State, Status

T = TypeVar("T")


class StatusVisitor(ABC, Generic[T]):
    """Has a method for each status of a board, from MAX's point of view."""

    @abstractmethod
    def won(self) -> T:
        """Returns the answer for a game that MAX has won."""

    @abstractmethod
    def lost(self) -> T:
        """Returns the answer for a game that MAX has lost."""

    @abstractmethod
    def drawn(self) -> T:
        """Returns the answer for a draw."""

    @abstractmethod
    def ongoing(self) -> T:
        """Returns the answer for a game that is not over."""


class Board:
    """One board: `play` changes it, `take_back` changes it back."""

    def __init__(self, state: State) -> None:
        self._states = [state]

    @property
    def state(self) -> State:
        """The current state."""
        return self._states[-1]

    def play(self, move: int) -> None:
        """Plays a legal move."""
        self._states.append(self.state.play(move))

    def take_back(self) -> None:
        """Takes the last move back."""
        assert len(self._states) > 1, "there is a move to take back"
        self._states.pop()

    def accept(self, visitor: StatusVisitor[T]) -> T:
        """Calls the visitor's method for the status of the board, and returns its answer."""
        match self.state.status():
            case Status.WON:
                return visitor.won()
            case Status.LOST:
                return visitor.lost()
            case Status.DRAWN:
                return visitor.drawn()
            case Status.ONGOING:
                return visitor.ongoing()

    def map(
        self, moves: Sequence[int], each: Callable[[int], None], accumulator: "Accumulating"
    ) -> Sequence[int]:
        """Plays each move, calls the function on the board after it, and takes the move back.

        It ends when the accumulator, which the function fills, has enough. Returns the moves that
        were not played.
        """
        for count, move in enumerate(moves, 1):
            self.play(move)
            each(move)
            self.take_back()
            if accumulator.has_enough:
                return moves[count:]
        return ()


class Accumulating(Protocol):
    """What a map over the moves is for: it says when no further move matters."""

    @property
    def has_enough(self) -> bool:
        """Whether no further move matters."""
