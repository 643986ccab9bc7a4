"""Caches of the moves and views that the rules compute, shared by all matches.

Matches of a game begin alike, and the rules take more time than the rest of a move. They are pure
functions, so equal positions have equal views, moves and successors.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from msgspec import Struct

from engine.game import Outcome, Position
from engine.view import MoveView, PositionView

V = TypeVar("V")

#: Capacity of each cache, in results.
CAPACITY = 1024


class Step(Struct, frozen=True):
    """A legal move: its plain token, the position after it, and the outcome if the match ends."""

    token: str
    after: Position
    digest: str
    outcome: Outcome | None


class _Cache(Generic[V]):
    """A cache of the newest results of a computation. It does not store exceptions, nor results for
    a key that cannot be hashed: a rules file may have mutable states.
    """

    def __init__(self) -> None:
        self._results: dict[Hashable, V] = {}

    def find(self, key: Hashable) -> V | None:
        try:
            return self._results.get(key)
        except TypeError:
            return None

    def get(self, key: Hashable, compute: Callable[[], V]) -> V:
        result = self.find(key)
        return self.put(key, compute()) if result is None else result

    def put(self, key: Hashable, result: V) -> V:
        try:
            self._results[key] = result
        except TypeError:
            return result
        if len(self._results) > CAPACITY:
            del self._results[next(iter(self._results))]
        return result


_steps: _Cache[Step] = _Cache()
_views: _Cache[PositionView] = _Cache()
_move_views: _Cache[tuple[MoveView, ...]] = _Cache()


def advance(position: Position, text: str) -> Step:
    """Plays the legal move that a text denotes. Raises the errors of `Position.advance`."""
    key = (*_key(position), text)
    step = _steps.find(key)
    if step is None:
        token, after, outcome = position.advance(text)
        step = _steps.put(key, Step(token, after, after.digest(), outcome))
        if token != text:
            _steps.put((*_key(position), token), step)
    return step


def replay(position: Position, token: str) -> Position:
    """The position after a move of a log. Raises the errors of `Position.replay`."""
    step = _steps.find((*_key(position), token))
    return position.replay(token) if step is None else step.after


def view(position: Position) -> PositionView:
    """The view of a position. Raises GameFault when the rules fail."""
    return _views.get((*_key(position), position.last), position.view)


def move_views(position: Position) -> tuple[MoveView, ...]:
    """The legal moves as sequences of clicks. Raises GameFault when the rules fail."""
    return _move_views.get(_key(position), lambda: tuple(position.move_views()))


def _key(position: Position) -> tuple[Hashable, ...]:
    """The parts of a position that decide its moves; repetitions in its past end some games."""
    return (position.game, *position.options.items(), position.state, position.past)
