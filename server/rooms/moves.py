"""The rules for moves and the clocks that they press, and for ending a match by resigning,
aborting, time or a failure of the AI.
"""

from msgspec import Struct
from msgspec.structs import replace

from engine.game import GameFault, IllegalMove, MalformedMove, Position
from engine.rules.numbering import move_number
from server.codes import Code
from server.commands import (
    Abort,
    AddTime,
    AiFailure,
    AiMove,
    Command,
    Hold,
    Move,
    Resign,
    Tick,
)
from server.events import Held, Moved, Released, RoomEvent, TimeAdded
from server.rooms import clock, permissions, positions
from server.rooms.clock import Clock, SideClock
from server.rooms.matches import clocks_of, end_match, end_on_board
from server.rooms.model import Actor, ActorKind, CommandRejected, Match, Moment, Room, Rule
from server.rooms.permissions import (
    ADDED_MS,
    check,
    game_of,
    own_seat,
    playable_position,
    require_running_match,
)
from server.rooms.refusals import OUT_OF_TIME


def move(room: Room, command: Move, moment: Moment) -> list[RoomEvent]:
    seat = own_seat(room, moment.actor, command.seat)
    match = require_running_match(room)
    if command.ply < match.ply:
        raise CommandRejected(
            Code.MOVE_STALE, f"ply {command.ply} is already played; the next is {match.ply}"
        )
    if command.ply > match.ply:
        raise CommandRejected(Code.MOVE_EARLY, f"the next ply is {match.ply}, not {command.ply}")
    position = playable_position(room, match)
    if match.turn != seat:
        raise CommandRejected(Code.MOVE_NOT_YOUR_TURN, f"{side_name(room, match.turn)} is to move")
    return _play(match, position, seat, command.move, _time_of(match, moment))


def ai_move(room: Room, command: AiMove, moment: Moment) -> list[RoomEvent]:
    match = require_running_match(room)
    position = _check_ai_turn(room, match, command, moment.actor)
    time = _time_of(match, moment)
    if time is not None and command.spent_ms is not None:
        time = replace(time, spent_ms=max(0, min(command.spent_ms, time.passed_ms)))
    return _play(match, position, command.seat, command.move, time)


def ai_failure(room: Room, command: AiFailure, moment: Moment) -> list[RoomEvent]:
    match = require_running_match(room)
    _check_ai_turn(room, match, command, moment.actor)
    reason = f"the AI could not move: {command.reason}"[:200]
    return [end_match(match, None, "failure", reason, moment.received_ms)]


def tick(room: Room, command: Tick, moment: Moment) -> list[RoomEvent]:
    if moment.actor.kind is not ActorKind.SERVER:
        raise CommandRejected(Code.SEAT_NONE, "only the server may send this command")
    deadline_ms = room.next_deadline_ms(moment.settings.forced_pass_ms)
    if deadline_ms is None or max(moment.now_ms, command.at_ms) < deadline_ms:
        return []
    match, token = require_running_match(room), room.forced_pass()
    if token is None:
        return [_fall(room, match, deadline_ms)]
    return _play(match, playable_position(room, match), match.turn, token, forced=True)


def _fall(room: Room, match: Match, deadline_ms: int) -> RoomEvent:
    """Returns the event that ends a match because the side to move has no time left.

    The opponent wins, if any series of moves could (FIDE Laws, 6.9). A side that never finished its
    first turn did not show up: the match has no result.
    """
    assert match.clock is not None, "a flag is due"
    side = side_name(room, match.turn)
    if not all(match.clock.opened):
        return end_match(match, None, "noshow", f"{side} did not move in time", deadline_ms)
    opponent = 1 - match.turn
    if playable_position(room, match).can_win(opponent):
        return end_match(match, opponent, "flag", f"{side} ran out of time", deadline_ms)
    reason = f"{side} ran out of time, but {side_name(room, opponent)} cannot win any more"
    return end_match(match, None, "flag", reason, deadline_ms)


def _check_ai_turn(room: Room, match: Match, command: AiMove | AiFailure, actor: Actor) -> Position:
    """Returns the match's position.

    Raises CommandRejected unless the AI's answer is for this position.
    """
    position = playable_position(room, match)
    if actor.kind is not ActorKind.AI:
        raise CommandRejected(Code.SEAT_NONE, "only the AI moves for the AI")
    current = (match.id, match.digest, match.turn)
    if (command.match, command.digest, command.seat) != current:
        raise CommandRejected(Code.MOVE_STALE, "the AI's answer is for another position")
    if match.seats[command.seat].kind != "ai":
        raise CommandRejected(Code.MOVE_NOT_YOUR_TURN, "a person is to move")
    return position


class _MoveTime(Struct, frozen=True):
    """The time of a move: what passed since the turn began, and what of it the clock counts."""

    passed_ms: int
    spent_ms: int


def _time_of(match: Match, moment: Moment) -> _MoveTime | None:
    """The time that a move took until it arrived; None in a match without a clock."""
    if match.clock is None:
        return None
    passed_ms = max(0, moment.received_ms - match.clock.since_ms)
    return _MoveTime(passed_ms, passed_ms)


def _play(
    match: Match,
    position: Position,
    seat: int,
    token: str,
    time: _MoveTime | None = None,
    forced: bool = False,
) -> list[RoomEvent]:
    """Returns the events of a move: `moved`, and `finished` if the move ends the match.

    `time` is None without a clock, and for a forced pass, which costs nobody time.
    """
    try:
        step = positions.advance(position, token)
    except MalformedMove as error:
        raise CommandRejected(Code.MOVE_MALFORMED, str(error)) from error
    except IllegalMove as error:
        raise CommandRejected(Code.MOVE_ILLEGAL, str(error)) from error
    moved = Moved(
        match.id, match.ply, seat, step.token, step.digest, step.after.played() or None,
        number=move_number(position.game, match.ply, seat), forced=forced,
    )  # fmt: skip
    sides = None
    if match.clock is not None:
        moved, sides = _press(moved, match, match.clock, step.after.turn, time)
    events: list[RoomEvent] = [moved]
    if step.outcome is not None:
        events.append(end_on_board(match, step.outcome, sides))
    return events


def _press(
    moved: Moved, match: Match, running: Clock, next_turn: int, time: _MoveTime | None
) -> tuple[Moved, tuple[SideClock, SideClock]]:
    """Returns the event with the mover's clock, and the clocks of both sides after the move.

    Raises CommandRejected if the time of a person was over before the move arrived.
    """
    side, spent_ms, credit_ms = running.sides[running.turn], 0, 0
    if time is not None:
        can_fall = match.seats[moved.seat].kind != "ai"
        pressed = clock.press(running, time.spent_ms, next_turn != moved.seat, can_fall)
        if pressed is None:
            raise CommandRejected(*OUT_OF_TIME)
        side, spent_ms = pressed.side, pressed.spent_ms
        credit_ms = running.move_ms + time.passed_ms - spent_ms
    counts = clock.counts_of(running.control, side)
    event = replace(
        moved, clock_ms=side.left_ms, spent_ms=spent_ms, credit_ms=credit_ms,
        stage=counts.stage, periods=counts.periods, goes_on=next_turn == moved.seat,
    )  # fmt: skip
    other = running.sides[1 - moved.seat]
    return event, (side, other) if moved.seat == 0 else (other, side)


def resign(room: Room, command: Resign, moment: Moment) -> list[RoomEvent]:
    check(permissions.resign(room, permissions.viewer_of(room, moment.actor.identity)))
    seat, match = own_seat(room, moment.actor, command.seat), require_running_match(room)
    reason = f"{side_name(room, seat)} resigned"
    return [end_match(match, 1 - seat, "resign", reason, moment.received_ms)]


def abort(room: Room, command: Abort, moment: Moment) -> list[RoomEvent]:
    check(permissions.abort(room, permissions.viewer_of(room, moment.actor.identity)))
    match = require_running_match(room)
    return [end_match(match, None, "abort", "the match was aborted", moment.received_ms)]


def add_time(room: Room, command: AddTime, moment: Moment) -> list[RoomEvent]:
    check(permissions.add_time(room, permissions.viewer_of(room, moment.actor.identity)))
    match, seat = require_running_match(room), own_seat(room, moment.actor)
    return [TimeAdded(match.id, 1 - seat, ADDED_MS)]


def hold(room: Room, command: Hold, moment: Moment) -> list[RoomEvent]:
    """Returns the events by which the time from `since_ms` until now costs nobody; none if no clock
    runs, or if the side to move had fallen before.
    """
    if moment.actor.kind is not ActorKind.SERVER:
        raise CommandRejected(Code.SEAT_NONE, "only the server may send this command")
    match, flag_ms = room.running_match, room.flag_ms()
    if match is None or match.id != command.match or match.clock is None or flag_ms is None:
        return []
    since_ms = max(command.since_ms, match.clock.since_ms)
    if since_ms >= min(flag_ms, moment.now_ms):
        return []
    held = clock.hold(match.clock, command.why, since_ms)
    stages, periods = clock.pairs_of(held)
    return [
        Held(match.id, command.why, since_ms),
        Released(match.id, clocks_of(held.sides), moment.now_ms, stages, periods),
    ]


def side_name(room: Room, seat: int) -> str:
    """The name of a side in the room's game."""
    try:
        return game_of(room).board(room.options).seats[seat].name
    except (CommandRejected, GameFault, IndexError):
        return ("the first player", "the second player")[seat]


#: The rules of this module.
RULES: dict[type[Command], Rule] = {
    Move: move,
    AiMove: ai_move,
    AiFailure: ai_failure,
    Tick: tick,
    Resign: resign,
    Abort: abort,
    AddTime: add_time,
    Hold: hold,
}
