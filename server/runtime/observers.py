"""The observers of a node's rooms, which are called after each commit: engines and metrics."""

from collections.abc import Callable, Sequence

import structlog

from server.commands import Hint
from server.events import (
    AiTookOver,
    Configured,
    Finished,
    Held,
    Moved,
    PlayerReturned,
    Released,
    Renamed,
    RoomEvent,
    SeatLeft,
    SeatTaken,
    Started,
    TimeAdded,
    TookBack,
)
from server.ports import Engines, Follower
from server.process.metrics import Metrics
from server.rooms.model import Room
from server.runtime.log import Cause, Committed

log = structlog.get_logger()

RoomCommit = Committed[Room, RoomEvent]
#: Called in the event loop after every commit in an open room of this node, in the order of its
#: log. It does no I/O and does not block.
Observer = Callable[[RoomCommit], None]
#: Called in the event loop with a request for a hint that the room has accepted. It does no I/O and
#: does not block.
HintObserver = Callable[[Room, Follower, Hint], None]

#: Events that change the board, or who may move.
BOARD_EVENTS = frozenset({Moved, TookBack, Started, Finished, AiTookOver, PlayerReturned})
#: Events that change who holds a seat, or the name of the holder. At the end of a match an AI
#: leaves the seats that it kept.
SEAT_EVENTS = frozenset(
    {SeatTaken, SeatLeft, Started, Finished, AiTookOver, PlayerReturned, Renamed}
)

#: Events that change the clock of a match, or of the next ones, and not the board.
CLOCK_EVENTS = frozenset({Configured, TimeAdded, Held, Released})


def changes_board(events: Sequence[RoomEvent]) -> bool:
    """Returns whether one of the events changes the board."""
    return not BOARD_EVENTS.isdisjoint(map(type, events))


def changes_seats(events: Sequence[RoomEvent]) -> bool:
    """Returns whether one of the events changes who holds a seat."""
    return not SEAT_EVENTS.isdisjoint(map(type, events))


def changes_clock(events: Sequence[RoomEvent]) -> bool:
    """Returns whether one of the events changes a clock and not the board."""
    return not CLOCK_EVENTS.isdisjoint(map(type, events))


def changes_game(events: Sequence[RoomEvent]) -> bool:
    """Returns whether one of the events starts a match of another game, or with other options."""
    return any(type(event) is Started and event.game is not None for event in events)


class Observers:
    """The observers of all rooms of a node.

    A node may die between a commit and the calls of its observers. So work that must not be lost is
    derived from the room's state, and starts again when the room is due.
    """

    def __init__(self) -> None:
        self._observers: tuple[Observer, ...] = ()
        self._hint_observers: tuple[HintObserver, ...] = ()

    def subscribe(self, observer: Observer) -> Callable[[], None]:
        """Calls `observer` after every commit, until the returned function is called."""
        self._observers = (*self._observers, observer)

        def unsubscribe() -> None:
            self._observers = tuple(o for o in self._observers if o is not observer)

        return unsubscribe

    def subscribe_hints(self, observer: HintObserver) -> None:
        """Calls `observer` with each request for a hint that a room accepts on this node."""
        self._hint_observers = (*self._hint_observers, observer)

    def on_hint(self, room: Room, follower: Follower, hint: Hint) -> None:
        """Passes a request for a hint to the observers."""
        for observer in self._hint_observers:
            observer(room, follower, hint)

    def on_commit(self, commit: RoomCommit) -> None:
        """Calls all observers. If one fails, the room and the other observers go on."""
        for observer in self._observers:
            try:
                observer(commit)
            except Exception:
                log.exception("observer failed", room=commit.after.id, v=commit.after.v)


def engine_observer(engines: Engines) -> Observer:
    """Returns an observer that announces to the engines the games that an AI is about to play."""

    def expect_game(commit: RoomCommit) -> None:
        if changes_seats(commit.events) and commit.after.needs_search:
            engines.expect(commit.after.game_id)

    return expect_game


def metrics_observer(metrics: Metrics) -> Observer:
    """Returns an observer that counts the moves that this node commits."""

    def count_moves(commit: RoomCommit) -> None:
        if commit.cause is Cause.COMMITTED:
            metrics.moves += isinstance(commit.events[0], Moved)

    return count_moves
