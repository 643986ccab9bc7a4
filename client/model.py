"""A client's model of a room: an immutable value, which `apply(model, message)` updates.

This module does no I/O. The browser's model (client/web/shell/model.js) works in the same way.
Events are numbered v = 1, 2, 3, … An event that was applied already changes nothing. An event after
a gap only clears `in_sync`, which stays False until a snapshot arrives; a join from 0 requests one.
"""

from typing import TypeVar, assert_never, cast

import msgspec
from msgspec import Struct

from client.messages import LoggedEvent, RoomMessage
from engine.view import SEATS, MoveView, PositionView
from server.events import (
    AiTookOver,
    AnyEvent,
    Barred,
    Configured,
    Created,
    Declined,
    Finished,
    Held,
    Hidden,
    Moved,
    Muted,
    Occupant,
    Offered,
    Player,
    PlayerReturned,
    Released,
    Renamed,
    Required,
    Said,
    SeatLeft,
    SeatTaken,
    Started,
    TimeAdded,
    TookBack,
    Unmuted,
)
from server.protocol.messages import (
    Answer,
    ChatLine,
    ClockState,
    Joined,
    MatchResult,
    MatchState,
    May,
    Played,
    Presence,
    Proposal,
    RoomDescription,
    Snapshot,
    Substitution,
    Thinking,
    Turn,
    View,
)
from server.rooms.clock import Clock, hold, side_of
from server.series import Score, add_result, is_swapped, score_between
from server.time_controls import TimeControl, TimeControlError, parse_control

#: Maximum number of lines of chat in the model; older lines are dropped.
MAX_CHAT_LINES = 200
#: The offers that this client can answer, besides takebacks. A newer server may know others.
OFFERS = ("draw", "rematch")


class Model(Struct, frozen=True, kw_only=True):
    """A room at version v, as the viewer with the identity `me` sees it.

    `latest_view` and `turn` are the newest messages of their types; they may belong to an earlier
    ply. `frozen` is the code of the reason why the room cannot be played, or None. `offers` has the
    seats with an open offer of a draw or a rematch, `takebacks` the open requests to take moves
    back, and `present` tells for each seat whether it is connected. `gone_ms` has for a player who
    has gone the time until the opponent may claim the match, as of the last `presence`; it is empty
    when nobody has gone. `elsewhere` has the seats of those who are connected to the server, but
    not to the room. `may` names
    the commands that the server permits the viewer, besides those of `turn`; None if the server is
    of an earlier version, which does not send them. `thinking_setting` says who may see an AI's
    thinking during the next matches, and `has_help` whether people who play each other get help
    with positions. `muted` has the people whom the host has muted, `barred` those who may not sit
    in the room any more, and `chat_commands` the names of the bot's commands. `next_offer` is the
    open proposal of the next game, and `series` has the points of the players against each other,
    over all matches of the room.
    """

    room: str
    me: str = ""
    v: int = 0
    epoch: str = ""
    in_sync: bool = True
    description: RoomDescription | None = None
    frozen: str | None = None
    seats: tuple[Occupant | None, ...] = (None,) * SEATS
    match: MatchState | None = None
    offers: tuple[int, ...] = ()
    takebacks: tuple[Proposal, ...] = ()
    chat: tuple[ChatLine, ...] = ()
    latest_view: View | None = None
    turn: Turn | None = None
    thinking: Thinking | None = None
    present: tuple[bool, ...] = ()
    gone_ms: tuple[int | None, ...] = ()
    elsewhere: tuple[int, ...] = ()
    watching: int = 0
    may: tuple[str, ...] | None = ()
    thinking_setting: str = "all"
    has_help: bool = False
    chat_commands: tuple[str, ...] = ()
    muted: tuple[Player, ...] = ()
    barred: tuple[Player, ...] = ()
    next_offer: Proposal | None = None
    series: tuple[Score, ...] = ()
    clock: str | None = None

    @property
    def my_seat(self) -> int | None:
        """The seat that the viewer holds, or None; an AI seat is never the viewer's."""
        mine = (
            seat
            for seat, occupant in enumerate(self.seats)
            if occupant is not None and occupant.kind != "ai" and occupant.identity == self.me
        )
        return next(mine, None)

    @property
    def kept_seat(self) -> int | None:
        """The seat that an AI keeps for the viewer, who had gone; or None."""
        mine = (
            seat
            for seat, occupant in enumerate(self.seats)
            if occupant is not None and occupant.kept_for and occupant.kept_for.identity == self.me
        )
        return next(mine, None)

    @property
    def is_one_screen(self) -> bool:
        """Whether one player holds both seats."""
        return self.description is not None and self.description.one_screen

    @property
    def score(self) -> tuple[int, int] | None:
        """The half points of the players on both seats against each other; None without any."""
        return score_between(self.series, self.seats)

    @property
    def first_in_score(self) -> int:
        """The seat whose player the score names first: your own, or for others whoever sat first in
        the first match of the two.
        """
        if self.my_seat is not None and not self.is_one_screen:
            return self.my_seat
        return int(is_swapped(self.series, self.seats))

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
        """The view of the current position, or None until it has arrived."""
        latest = self.latest_view
        return latest.view if latest and self._is_current(latest.match, latest.ply) else None

    @property
    def moves(self) -> tuple[MoveView, ...]:
        """The viewer's legal moves; none when it is not their turn."""
        if not self.running or self.frozen is not None or self.turn is None:
            return ()
        return self.turn.moves if self._is_current(self.turn.match, self.turn.ply) else ()

    def permits(self, command: str) -> bool:
        """Whether the server permits the viewer this command; True if the server sends no list."""
        return self.may is None or command in self.may

    @property
    def claims_of_absence(self) -> tuple[str, ...]:
        """The claims against an opponent who has gone that the server permits the viewer now."""
        claims = ("claim_win", "call_draw", "let_ai_play")
        return tuple([name for name in claims if name in (self.may or ())])

    @property
    def claim(self) -> str | None:
        """The reason that lets the viewer claim a draw now, or None."""
        return self.turn.claim if self.moves and self.turn is not None else None

    def _is_current(self, match: str, ply: int) -> bool:
        return self.match is not None and match == self.match.id and ply == self.ply


def apply(model: Model, message: RoomMessage) -> Model:
    """Returns the model after a message; messages about other rooms change nothing."""
    if message.room != model.room:
        return model
    replace = msgspec.structs.replace
    match message:
        case Joined():
            return replace(
                model,
                description=message.description,
                frozen=message.frozen,
                epoch=message.epoch,
                may=message.may,
                chat_commands=message.chat_commands,
            )
        case May():
            return replace(model, may=message.may)
        case Snapshot():
            return _apply_snapshot(model, message)
        case LoggedEvent():
            return _apply_logged_event(model, message)
        case View():
            if not _is_newer(message, model.latest_view):
                return model
            return replace(model, latest_view=message)
        case Turn():
            return replace(model, turn=message) if _is_newer(message, model.turn) else model
        case Thinking():
            is_current = (
                model.match is not None
                and message.match == model.match.id
                and message.ply >= model.ply
            )
            return replace(model, thinking=message) if is_current else model
        case Answer():
            return model
        case Presence():
            return replace(
                model, present=message.seats, watching=message.watching, gone_ms=message.gone_ms,
                elsewhere=message.elsewhere,
            )  # fmt: skip
        case _:
            assert_never(message)


def _apply_snapshot(model: Model, snapshot: Snapshot) -> Model:
    """Replaces the room; it also drops the earlier views, because v may have gone back."""
    return msgspec.structs.replace(
        model,
        v=snapshot.v,
        in_sync=True,
        seats=snapshot.seats,
        match=snapshot.match,
        offers=snapshot.offers,
        takebacks=tuple(each for each in snapshot.proposals if each.what == "takeback"),
        next_offer=next((each for each in snapshot.proposals if each.what == "next"), None),
        chat=snapshot.chat[-MAX_CHAT_LINES:],
        latest_view=None,
        turn=None,
        thinking=None,
        thinking_setting=snapshot.thinking,
        has_help=snapshot.help,
        muted=snapshot.muted,
        barred=snapshot.barred,
        series=snapshot.series,
        clock=snapshot.clock,
    )


def _without(people: tuple[Player, ...], identity: str) -> tuple[Player, ...]:
    return tuple(person for person in people if person.identity != identity)


def _apply_logged_event(model: Model, message: LoggedEvent) -> Model:
    """Applies the next event; ignores an old one; clears `in_sync` for one after a gap."""
    if message.v <= model.v:
        return model
    if message.v > model.v + 1 or not model.in_sync:
        return msgspec.structs.replace(model, in_sync=False)
    return msgspec.structs.replace(
        _apply_event(model, message.v, message.at, message.event), v=message.v
    )


def _apply_event(model: Model, v: int, at: int, event: AnyEvent) -> Model:
    replace = msgspec.structs.replace
    match event:
        case Created() | Required() | Hidden():
            return model
        case Configured():
            has_help = model.has_help if event.help is None else event.help
            clock = model.clock if event.clock is None else _control(event.clock)
            return replace(model, thinking_setting=event.thinking, has_help=has_help, clock=clock)
        case SeatTaken():
            return replace(model, seats=_with_seat(model.seats, event.seat, event.occupant))
        case SeatLeft():
            seats = _with_seat(model.seats, event.seat, None)
            return replace(model, seats=seats, offers=(), takebacks=(), next_offer=None)
        case Started():
            match_state = MatchState(
                id=event.match,
                number=event.number,
                start=event.start,
                rules=event.rules,
                seats=event.seats,
                moves=(),
                thinking=event.thinking,
                clock=_started_clock(event, at),
            )
            return replace(
                model, seats=event.seats, match=match_state, offers=(), takebacks=(),
                next_offer=None, thinking=None, clock=event.clock,
            )  # fmt: skip
        case Moved():
            return _apply_moved(model, event, at)
        case TookBack():
            return _apply_took_back(model, event, at)
        case TimeAdded() | Held() | Released():
            return _apply_clock(model, event)
        case Finished():
            return _apply_finished(model, event)
        case Offered(what="takeback", to_ply=int()):
            request = Proposal(event.seat, event.what, event.to_ply)
            return replace(model, takebacks=(*model.takebacks, request))
        case Offered(what="next", game=str(), seats=(0, 1) | (1, 0)):
            offer = Proposal(
                event.seat, event.what, None, v, event.game, event.options or {}, event.seats,
                event.level, event.title or event.game, event.options_text or "", event.clock,
            )  # fmt: skip
            return replace(model, next_offer=offer)
        case Declined(what="next"):
            return replace(model, next_offer=None)
        case Declined(what="takeback"):
            return replace(model, takebacks=_after_decline(model.takebacks, event.seat))
        case Offered() | Declined() if event.what not in OFFERS:
            return model
        case Offered():
            return replace(model, offers=(*model.offers, event.seat))
        case Declined():
            return replace(model, offers=())
        case AiTookOver() | PlayerReturned():
            return _apply_substitution(model, event)
        case Renamed():
            return _apply_renamed(model, event)
        case Muted():
            person = Player(event.identity, event.name)
            return replace(model, muted=(*_without(model.muted, event.identity), person))
        case Unmuted():
            return replace(model, muted=_without(model.muted, event.identity))
        case Barred():
            person = Player(event.identity, event.name)
            return replace(model, barred=(*_without(model.barred, event.identity), person))
        case Said():
            line = ChatLine(
                v, at, event.name, event.text, event.to, event.identity,
                event.by, event.answers, event.links,
            )  # fmt: skip
            return replace(model, chat=(*model.chat, line)[-MAX_CHAT_LINES:])
        case _:
            assert_never(event)


def _apply_moved(model: Model, event: Moved, at: int) -> Model:
    if model.match is None or event.match != model.match.id:
        return model
    seat = event.seat if event.seat != event.ply % 2 else None
    played = Played(event.move, event.text, event.number, event.forced, seat)
    moves = (*model.match.moves[: event.ply], played)
    # A move makes the other side's draw offer lapse.
    offers = tuple(seat for seat in model.offers if seat == event.seat)
    match = msgspec.structs.replace(model.match, moves=moves)
    if match.clock is not None:
        match = msgspec.structs.replace(match, clock=_pressed(match, match.clock, event, at))
    return msgspec.structs.replace(model, match=match, offers=offers, takebacks=())


def _started_clock(event: Started, at: int) -> ClockState | None:
    """The clock of a match that starts; None without one, and for one of a newer server."""
    if event.clock is None or event.clocks_ms is None:
        return None
    control = control_of(event.clock)
    counts = control is not None and control.counts
    count = control.count_of(0) if control is not None else 0
    return ClockState(
        control=event.clock,
        left_ms=event.clocks_ms,
        since_ms=at,
        stages=(0, 0) if counts else None,
        periods=(count, count) if counts else None,
        first_ms=event.first_ms,
    )


def _pressed(match: MatchState, clock: ClockState, event: Moved, at: int) -> ClockState | None:
    """The clock after a move; None if the event has no times."""
    if event.clock_ms is None:
        return None
    seat, next_seat = event.seat, event.seat if event.goes_on else 1 - event.seat
    used_ms = clock.used_ms - clock.move_ms + (event.spent_ms or 0) if event.goes_on else 0
    return msgspec.structs.replace(
        clock,
        left_ms=_with_number(clock.left_ms, seat, event.clock_ms),
        since_ms=at,
        running=_running(match, next_seat),
        used_ms=used_ms,
        move_ms=0,
        stages=_with_number(clock.stages, seat, event.stage),
        periods=_with_number(clock.periods, seat, event.periods),
    )


def _running(match: MatchState, turn: int) -> int | None:
    """The seat to move if both sides have finished their first turn; None before."""
    movers = [_mover(played, ply) for ply, played in enumerate(match.moves)]
    followers = [*movers[1:], turn][: len(movers)]
    ended = {mover for mover, after in zip(movers, followers, strict=True) if mover != after}
    return turn if len(ended) == SEATS else None


def _mover(played: Played, ply: int) -> int:
    return ply % 2 if played.seat is None else played.seat


def _apply_clock(model: Model, event: TimeAdded | Held | Released) -> Model:
    """The model with another time on the clock of its match."""
    match = model.match
    if match is None or match.id != event.match or match.over is not None or match.clock is None:
        return model
    clock, replace = match.clock, msgspec.structs.replace
    match event:
        case TimeAdded() if event.seat in range(SEATS):
            left_ms = clock.left_ms[event.seat] + event.ms
            clock = replace(clock, left_ms=_with_number(clock.left_ms, event.seat, left_ms))
        case Held():
            clock = _held(clock, event)
        case Released():
            clock = replace(
                clock, held=None, left_ms=event.clocks_ms, since_ms=event.from_ms,
                stages=event.stages, periods=event.periods,
            )  # fmt: skip
    return replace(model, match=replace(match, clock=clock))


def _held(state: ClockState, event: Held) -> ClockState:
    """The clock that stands: the side to move is charged up to then."""
    clock = clock_of(state)
    if clock is None:
        return msgspec.structs.replace(state, held=event.why)
    clock = hold(clock, event.why, event.since_ms)
    first, second = clock.sides
    counts = clock.control.counts
    return msgspec.structs.replace(
        state, held=clock.held, left_ms=(first.left_ms, second.left_ms), since_ms=clock.since_ms,
        used_ms=clock.turn_ms, move_ms=clock.move_ms,
        stages=(first.stage, second.stage) if counts else None,
        periods=(first.periods, second.periods) if counts else None,
    )  # fmt: skip


def control_of(text: str | None) -> TimeControl | None:
    """The time control with this text in the log; None for none, and for one of a newer server."""
    try:
        return None if text is None else parse_control(text)
    except TimeControlError:
        return None


def clock_of(state: ClockState | None) -> Clock | None:
    """The clock of a match; None without one, and for a time control of a newer server."""
    control = None if state is None else control_of(state.control)
    if state is None or control is None:
        return None
    first, second = (
        side_of(
            state.left_ms[seat],
            (
                None if state.stages is None else state.stages[seat],
                None if state.periods is None else state.periods[seat],
            ),
        )
        for seat in range(SEATS)
    )
    has_begun = state.running is not None
    return Clock(
        control, (first, second), state.running or 0, state.since_ms, state.used_ms, state.move_ms,
        opened=(has_begun, has_begun), held=state.held, first_ms=state.first_ms,
    )  # fmt: skip


def _control(text: str) -> str | None:
    """The text of a time control; None for none."""
    return None if text == "-" else text


Pair = TypeVar("Pair", bound=tuple[int, int] | None)


def _with_number(pair: Pair, seat: int, number: int | None) -> Pair:
    """The pair with another number for a seat; unchanged if the event has none."""
    if pair is None or number is None:
        return pair
    return cast(Pair, (number, pair[1]) if seat == 0 else (pair[0], number))


def _apply_took_back(model: Model, event: TookBack, at: int) -> Model:
    """Removes the moves; their views, legal moves and searches no longer count."""
    match, ply = model.match, event.to_ply
    if match is None or event.match != match.id or match.over or not 0 <= ply < len(match.moves):
        return model
    substitutions = tuple(
        msgspec.structs.replace(each, ply=min(each.ply, ply)) for each in match.substitutions
    )
    turn = _mover(match.moves[ply], ply)
    match = msgspec.structs.replace(match, moves=match.moves[:ply], substitutions=substitutions)
    if match.clock is not None and event.clocks_ms is not None:
        clock = msgspec.structs.replace(
            match.clock,
            left_ms=event.clocks_ms,
            since_ms=max(at, match.clock.since_ms),
            running=_running(match, turn),
            used_ms=event.used_ms,
            move_ms=0,
            stages=event.stages,
            periods=event.periods,
        )
        match = msgspec.structs.replace(match, clock=clock)
    return msgspec.structs.replace(
        model,
        match=match,
        offers=(),
        takebacks=(),
        latest_view=None,
        turn=None,
        thinking=None,
    )


def _after_decline(takebacks: tuple[Proposal, ...], seat: int) -> tuple[Proposal, ...]:
    """The open requests without the opponent's; without one's own if the opponent has none."""
    own = tuple(request for request in takebacks if request.seat == seat)
    return own if own != takebacks else ()


def _apply_finished(model: Model, event: Finished) -> Model:
    if model.match is None or event.match != model.match.id:
        return model
    clock = model.match.clock
    if clock is not None and event.clocks_ms is not None:
        clock = msgspec.structs.replace(
            clock, left_ms=event.clocks_ms, running=None, used_ms=0, move_ms=0, held=None
        )
    match = msgspec.structs.replace(
        model.match,
        over=MatchResult(event.winner, event.how, event.reason, event.points),
        clock=clock,
    )
    seats = tuple(_without_keeper(occupant) for occupant in model.seats)
    series = add_result(model.series, match.seats, event.winner, event.how)
    return msgspec.structs.replace(
        model, seats=seats, match=match, offers=(), takebacks=(), next_offer=None, series=series
    )


def _without_keeper(occupant: Occupant | None) -> Occupant | None:
    """The occupant of a seat after a match: the player for whom an AI kept it."""
    player = occupant.kept_for if occupant is not None else None
    return Occupant(player.identity, player.name) if player is not None else occupant


def _apply_substitution(model: Model, event: AiTookOver | PlayerReturned) -> Model:
    match = model.match
    if match is None or event.match != match.id or match.over is not None:
        return model
    substitution = Substitution(event.ply, event.seat, event.occupant)
    match = msgspec.structs.replace(
        match,
        seats=tuple(
            event.occupant if seat == event.seat else player
            for seat, player in enumerate(match.seats)
        ),
        substitutions=(*match.substitutions, substitution),
    )
    seats = _with_seat(model.seats, event.seat, event.occupant)
    return msgspec.structs.replace(model, seats=seats, match=match, offers=(), takebacks=())


def _apply_renamed(model: Model, event: Renamed) -> Model:
    seats = tuple(
        _with_name(holder, event) if holder is not None else None for holder in model.seats
    )
    match = model.match
    if match is not None and match.over is None:
        players = tuple(_with_name(player, event) for player in match.seats)
        match = msgspec.structs.replace(match, seats=players)
    return msgspec.structs.replace(model, seats=seats, match=match)


def _with_name(occupant: Occupant, event: Renamed) -> Occupant:
    if occupant.own_name:
        return occupant
    player = occupant.kept_for
    if occupant.identity == event.identity and occupant.kind != "ai":
        return msgspec.structs.replace(occupant, name=event.name)
    if player is not None and player.identity == event.identity:
        return msgspec.structs.replace(occupant, kept_for=Player(player.identity, event.name))
    return occupant


def _with_seat(
    seats: tuple[Occupant | None, ...], seat: int, occupant: Occupant | None
) -> tuple[Occupant | None, ...]:
    return tuple(occupant if number == seat else before for number, before in enumerate(seats))


def _is_newer(message: View | Turn, latest: View | Turn | None) -> bool:
    return latest is None or message.v >= latest.v
