"""The rules for moves, and for ending a match by resigning, aborting or a failure of the AI."""

from engine.game import GameFault, IllegalMove, MalformedMove, Position
from engine.rules.numbering import move_number
from server.codes import Code
from server.commands import Abort, AiFailure, AiMove, Command, Move, Resign, Tick
from server.events import Moved, RoomEvent
from server.rooms import permissions, positions
from server.rooms.matches import end_match, end_on_board
from server.rooms.model import Actor, ActorKind, CommandRejected, Match, Moment, Room, Rule
from server.rooms.permissions import (
    check,
    game_of,
    own_seat,
    playable_position,
    require_running_match,
)


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
    return _play(match, position, seat, command.move)


def ai_move(room: Room, command: AiMove, moment: Moment) -> list[RoomEvent]:
    match = require_running_match(room)
    position = _check_ai_turn(room, match, command, moment.actor)
    return _play(match, position, command.seat, command.move)


def ai_failure(room: Room, command: AiFailure, moment: Moment) -> list[RoomEvent]:
    match = require_running_match(room)
    _check_ai_turn(room, match, command, moment.actor)
    return [end_match(match, None, "failure", f"the AI could not move: {command.reason}"[:200])]


def tick(room: Room, command: Tick, moment: Moment) -> list[RoomEvent]:
    if moment.actor.kind is not ActorKind.SERVER:
        raise CommandRejected(Code.SEAT_NONE, "only the server may send this command")
    deadline_ms = room.next_deadline_ms(moment.settings.forced_pass_ms)
    if deadline_ms is None or max(moment.now_ms, command.at_ms) < deadline_ms:
        return []
    match, token = require_running_match(room), room.forced_pass()
    assert token is not None, "a pass is due"
    return _play(match, playable_position(room, match), match.turn, token, forced=True)


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


def _play(
    match: Match, position: Position, seat: int, token: str, forced: bool = False
) -> list[RoomEvent]:
    """Returns the events of a move: `moved`, and `finished` if the move ends the match."""
    try:
        step = positions.advance(position, token)
    except MalformedMove as error:
        raise CommandRejected(Code.MOVE_MALFORMED, str(error)) from error
    except IllegalMove as error:
        raise CommandRejected(Code.MOVE_ILLEGAL, str(error)) from error
    events: list[RoomEvent] = [
        Moved(
            match.id, match.ply, seat, step.token, step.digest, step.after.played() or None,
            number=move_number(position.game, match.ply, seat), forced=forced,
        )
    ]  # fmt: skip
    if step.outcome is not None:
        events.append(end_on_board(match, step.outcome))
    return events


def resign(room: Room, command: Resign, moment: Moment) -> list[RoomEvent]:
    check(permissions.resign(room, permissions.viewer_of(room, moment.actor.identity)))
    seat, match = own_seat(room, moment.actor, command.seat), require_running_match(room)
    return [end_match(match, 1 - seat, "resign", f"{side_name(room, seat)} resigned")]


def abort(room: Room, command: Abort, moment: Moment) -> list[RoomEvent]:
    check(permissions.abort(room, permissions.viewer_of(room, moment.actor.identity)))
    return [end_match(require_running_match(room), None, "abort", "the match was aborted")]


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
}
