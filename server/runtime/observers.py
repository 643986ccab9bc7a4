"""What listens to the rooms of a node: the lobby, the engines, the metrics."""

from collections.abc import Callable, Sequence

import structlog

from server.ports import Engines
from server.process.metrics import Metrics
from server.rooms.events import (
    Finished,
    Moved,
    RoomEvent,
    SeatLeft,
    SeatTaken,
    Started,
)
from server.rooms.model import Room
from server.runtime.log import Cause, Committed

log = structlog.get_logger()

RoomCommit = Committed[Room, RoomEvent]
#: Called in the event loop after every commit in an open room of this node, in the order of its
#: log. It does no I/O and returns soon.
Observer = Callable[[RoomCommit], None]

#: Events that change the board.
BOARD_EVENTS = frozenset({Moved, Started, Finished})
#: Events that change who holds a seat.
SEAT_EVENTS = frozenset({SeatTaken, SeatLeft, Started})


def changes_board(events: Sequence[RoomEvent]) -> bool:
    """Returns whether one of the events changes the board."""
    return not BOARD_EVENTS.isdisjoint(map(type, events))


def changes_seats(events: Sequence[RoomEvent]) -> bool:
    """Returns whether one of the events changes who holds a seat."""
    return not SEAT_EVENTS.isdisjoint(map(type, events))


class Observers:
    """The observers of all rooms of a node.

    A node may die between a commit and its observers. What must not be missed is owed by the room's
    state and found again when it is due.
    """

    def __init__(self) -> None:
        self._observers: tuple[Observer, ...] = ()

    def subscribe(self, observer: Observer) -> Callable[[], None]:
        """Calls `observer` after every commit, until the returned function is called."""
        self._observers = (*self._observers, observer)

        def unsubscribe() -> None:
            self._observers = tuple(one for one in self._observers if one is not observer)

        return unsubscribe

    def on_commit(self, commit: RoomCommit) -> None:
        """Calls all observers. One that fails keeps neither the room nor the others from it."""
        for observer in self._observers:
            try:
                observer(commit)
            except Exception:
                log.exception("observer failed", room=commit.after.id, v=commit.after.v)


def announcing_to(engines: Engines) -> Observer:
    """An observer that tells the engines which games an AI is about to play."""

    def expect_game(commit: RoomCommit) -> None:
        if changes_seats(commit.events) and commit.after.has_ai:
            engines.expect(commit.after.game_id)

    return expect_game


def counting_in(metrics: Metrics) -> Observer:
    """An observer that counts the moves that this node commits."""

    def count_moves(commit: RoomCommit) -> None:
        if commit.cause is Cause.COMMITTED:
            metrics.moves += isinstance(commit.events[0], Moved)

    return count_moves
