"""A mutable board, on which moves are played and taken back, as in the first teaching programs.

Elsewhere in this package a move returns a new state and leaves the old one unchanged. A board has
one current state, and a search must take back each move that it plays, in the reverse order. Chess
programs do that because a large board is faster to change than to copy.

This board keeps the earlier states on a stack, so that it works for every game: the rules need no
way to take a move back.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

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
        self,
        moves: Iterable[int],
        if_ongoing: Callable[[int], T],
        if_finished: Callable[[int], T],
    ) -> Iterator[tuple[int, T]]:
        """Yields each move with the answer of the function that fits the status after it.

        The board plays a move, calls the function, and takes the move back. It is lazy: it plays
        the next move only when the caller asks for the next pair.
        """
        for move in moves:
            self.play(move)
            answers = FinishedVisitor(move, if_ongoing, if_finished)
            answer = self.accept(answers)
            self.take_back()
            yield move, answer


class FinishedVisitor(StatusVisitor[T]):
    """Calls one function for a finished game and another for an ongoing one."""

    def __init__(
        self,
        move: int,
        if_ongoing: Callable[[int], T],
        if_finished: Callable[[int], T],
    ) -> None:
        self.move = move
        self.if_ongoing = if_ongoing
        self.if_finished = if_finished

    def won(self) -> T:
        return self.if_finished(self.move)

    def lost(self) -> T:
        return self.if_finished(self.move)

    def drawn(self) -> T:
        return self.if_finished(self.move)

    def ongoing(self) -> T:
        return self.if_ongoing(self.move)
