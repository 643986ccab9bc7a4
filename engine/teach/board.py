"""A board on which moves are played and taken back, as the first teaching programs did it.

Everywhere else a move gives a new state and the old one stays as it was: nothing can be forgotten,
and a state can be shared. A board has one current state. A search that plays a move on it must
take it back, in the reverse order, whatever happens in between. Chess programs do that because
a large board is faster to change than to copy.

This board keeps the states that it has passed on a stack, so that every game has it: the rules need
no way to take a move back.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from engine.teach.state import State, Status

T = TypeVar("T")


class StatusVisitor(ABC, Generic[T]):
    """Answers for each status that a board can have, from MAX's point of view."""

    @abstractmethod
    def won(self) -> T:
        """Answers for a game that MAX has won."""

    @abstractmethod
    def lost(self) -> T:
        """Answers for a game that MAX has lost."""

    @abstractmethod
    def drawn(self) -> T:
        """Answers for a draw."""

    @abstractmethod
    def ongoing(self) -> T:
        """Answers for a game that is not over."""


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
        when_it_goes_on: Callable[[int], T],
        when_it_is_finished: Callable[[int], T],
    ) -> Iterator[tuple[int, T]]:
        """Yields each move with the answer of one of the functions, called after the move.

        The board plays each move, asks, and takes the move back. It is lazy: a move is played
        when the caller asks for the next pair. A caller that has enough asks for no more.
        """
        for move in moves:
            self.play(move)
            answers = FinishedOrNot(move, when_it_goes_on, when_it_is_finished)
            answer = self.accept(answers)
            self.take_back()
            yield move, answer


class FinishedOrNot(StatusVisitor[T]):
    """A visitor that gives all ends of a game to one function, and the rest to the other."""

    def __init__(
        self,
        move: int,
        when_it_goes_on: Callable[[int], T],
        when_it_is_finished: Callable[[int], T],
    ) -> None:
        self.move = move
        self.when_it_goes_on = when_it_goes_on
        self.when_it_is_finished = when_it_is_finished

    def won(self) -> T:
        return self.when_it_is_finished(self.move)

    def lost(self) -> T:
        return self.when_it_is_finished(self.move)

    def drawn(self) -> T:
        return self.when_it_is_finished(self.move)

    def ongoing(self) -> T:
        return self.when_it_goes_on(self.move)
