"""What a client knows about a room, as a value: `apply(model, message)` returns the next one.

This module does no I/O, and the browser's model does the same. Events count v = 1, 2, 3, … without
a gap. An event that was applied already changes nothing. An event after a gap changes nothing but
`in_step`, which stays False until a snapshot arrives: join from 0 to request one.
"""

from typing import assert_never

import msgspec
from msgspec import Struct

from client.messages import Happened, RoomMessage
from engine.view import MoveView, PositionView
from server.protocol.messages import (
    AnyEvent,
    ChatLine,
    Created,
    Declined,
    Finished,
    Hidden,
    Joined,
    MatchResult,
    MatchState,
    Moved,
    Occupant,
    Offered,
    Played,
    Presence,
    RoomDescription,
    Said,
    SeatLeft,
    SeatTaken,
    Snapshot,
    Started,
    Thinking,
    Turn,
    View,
)

#: Lines of chat to keep.
MAX_CHAT_LINES = 200


class Model(Struct, frozen=True, kw_only=True):
    """A room as `me` (an identity) sees it at version v."""

    room: str
    me: str = ""
    v: int = 0
    epoch: str = ""
    in_step: bool = True
    description: RoomDescription | None = None
    frozen: str | None = None
    seats: tuple[Occupant | None, ...] = (None, None)
    match: MatchState | None = None
    offers: tuple[int, ...] = ()
    chat: tuple[ChatLine, ...] = ()
    drawn: View | None = None
    turn: Turn | None = None
    thinking: Thinking | None = None
    present: tuple[bool, ...] = ()
    watching: int = 0

    @property
    def my_seat(self) -> int | None:
        """The seat that I hold, or None; AI seats belong to nobody."""
        mine = (
            n
            for n, who in enumerate(self.seats)
            if who is not None and who.kind != "ai" and who.identity == self.me
        )
        return next(mine, None)

    @property
    def ply(self) -> int:
        """The number of plies played in the match."""
        return len(self.match.moves) if self.match else 0

    @property
    def running(self) -> bool:
        """Whether a match is in progress."""
        return self.match is not None and self.match.over is None

    @property
    def view(self) -> PositionView | None:
        """The drawing of the current position, or None until it has arrived."""
        return (
            self.drawn.view
            if self.drawn and self._is_now(self.drawn.match, self.drawn.ply)
            else None
        )

    @property
    def moves(self) -> tuple[MoveView, ...]:
        """My legal moves; none when it is not my turn."""
        playable = self.running and self.frozen is None
        now = playable and self.turn is not None and self._is_now(self.turn.match, self.turn.ply)
        return self.turn.moves if now and self.turn is not None else ()

    @property
    def claim(self) -> str | None:
        """The reason for which I may claim a draw now, or None."""
        return self.turn.claim if self.moves and self.turn is not None else None

    def _is_now(self, match: str, ply: int) -> bool:
        return self.match is not None and match == self.match.id and ply == self.ply


def apply(model: Model, message: RoomMessage) -> Model:
    """The room after a message; messages about other rooms change nothing."""
    if message.room != model.room:
        return model
    replace = msgspec.structs.replace
    match message:
        case Joined():
            return replace(
                model, description=message.description, frozen=message.frozen, epoch=message.epoch
            )
        case Snapshot():
            return _restored(model, message)
        case Happened():
            return _followed(model, message)
        case View():
            return replace(model, drawn=message) if _is_newer(message, model.drawn) else model
        case Turn():
            return replace(model, turn=message) if _is_newer(message, model.turn) else model
        case Thinking():
            current = (
                model.match is not None
                and message.match == model.match.id
                and message.ply >= model.ply
            )
            return replace(model, thinking=message) if current else model
        case Presence():
            return replace(model, present=message.seats, watching=message.watching)
        case _:
            assert_never(message)


def _restored(model: Model, snapshot: Snapshot) -> Model:
    """The room of a snapshot; earlier drawings are void, because v may have gone back."""
    return msgspec.structs.replace(
        model,
        v=snapshot.v,
        in_step=True,
        seats=snapshot.seats,
        match=snapshot.match,
        offers=snapshot.offers,
        chat=snapshot.chat[-MAX_CHAT_LINES:],
        drawn=None,
        turn=None,
        thinking=None,
    )


def _followed(model: Model, happened: Happened) -> Model:
    """Applies the next event; an old one is dropped, one after a gap clears `in_step`."""
    if happened.v <= model.v:
        return model
    if happened.v > model.v + 1 or not model.in_step:
        return msgspec.structs.replace(model, in_step=False)
    return msgspec.structs.replace(
        _evolved(model, happened.v, happened.at, happened.event), v=happened.v
    )


def _evolved(model: Model, v: int, at: int, event: AnyEvent) -> Model:
    replace = msgspec.structs.replace
    match event:
        case Created() | Hidden():
            return model
        case SeatTaken():
            return replace(model, seats=_with_seat(model.seats, event.seat, event.occupant))
        case SeatLeft():
            return replace(model, seats=_with_seat(model.seats, event.seat, None), offers=())
        case Started():
            match_state = MatchState(
                id=event.match,
                number=event.number,
                start=event.start,
                rules=event.rules,
                seats=event.seats,
                moves=(),
            )
            return replace(model, seats=event.seats, match=match_state, offers=(), thinking=None)
        case Moved():
            return _moved(model, event)
        case Finished():
            return _finished(model, event)
        case Offered():
            return replace(model, offers=(*model.offers, event.seat))
        case Declined():
            return replace(model, offers=())
        case Said():
            line = ChatLine(v=v, at=at, name=event.name, text=event.text, to=event.to)
            return replace(model, chat=(*model.chat, line)[-MAX_CHAT_LINES:])
        case _:
            assert_never(event)


def _moved(model: Model, event: Moved) -> Model:
    if model.match is None or event.match != model.match.id:
        return model
    played = Played(event.move, event.text, event.number, event.forced)
    moves = (*model.match.moves[: event.ply], played)
    offers = tuple(
        seat for seat in model.offers if seat == event.seat
    )  # the other side's draw offer has lapsed
    return msgspec.structs.replace(
        model, match=msgspec.structs.replace(model.match, moves=moves), offers=offers
    )


def _finished(model: Model, event: Finished) -> Model:
    if model.match is None or event.match != model.match.id:
        return model
    match = msgspec.structs.replace(
        model.match, over=MatchResult(event.winner, event.how, event.reason)
    )
    return msgspec.structs.replace(model, match=match, offers=())


def _with_seat(
    seats: tuple[Occupant | None, ...], seat: int, occupant: Occupant | None
) -> tuple[Occupant | None, ...]:
    return tuple(occupant if n == seat else who for n, who in enumerate(seats))


def _is_newer(message: View | Turn, known: View | Turn | None) -> bool:
    return known is None or message.v >= known.v
