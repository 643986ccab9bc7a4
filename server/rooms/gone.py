"""The rules for a match whose opponent has gone, and for the player who comes back."""

from msgspec.structs import replace

from server.commands import AiSeat, CallDraw, ClaimWin, Command, LetAiPlay, ReclaimSeat
from server.events import AiTookOver, Occupant, Player, PlayerReturned, RoomEvent
from server.rooms import permissions
from server.rooms.matches import end_match
from server.rooms.model import Moment, Room, Rule, Viewer
from server.rooms.moves import side_name
from server.rooms.permissions import (
    check,
    game_of,
    own_seat,
    require_running_match,
    viewer_of,
    viewer_with_absence,
)
from server.rooms.seats import DEFAULT_STRATEGY, wished_occupant


def claim_win(room: Room, command: ClaimWin, moment: Moment) -> list[RoomEvent]:
    check(permissions.claim_win(room, _claimant(room, moment)))
    seat = own_seat(room, moment.actor)
    return [_end_match(room, seat, seat, moment)]


def call_draw(room: Room, command: CallDraw, moment: Moment) -> list[RoomEvent]:
    check(permissions.call_draw(room, _claimant(room, moment)))
    return [_end_match(room, own_seat(room, moment.actor), None, moment)]


def let_ai_play(room: Room, command: LetAiPlay, moment: Moment) -> list[RoomEvent]:
    check(permissions.let_ai_play(room, _claimant(room, moment)))
    match, seat = require_running_match(room), 1 - own_seat(room, moment.actor)
    player = match.seats[seat]
    substitute = replace(_substitute(room), kept_for=Player(player.identity, player.name))
    return [AiTookOver(match.id, seat, match.ply, substitute)]


def reclaim_seat(room: Room, command: ReclaimSeat, moment: Moment) -> list[RoomEvent]:
    check(permissions.reclaim_seat(room, viewer_of(room, moment.actor.identity)))
    match, seat = require_running_match(room), room.kept_seat(moment.actor.identity)
    assert seat is not None, "without a kept seat there is a reason to refuse"
    name = room.player_name(moment.actor.identity) or moment.actor.name
    player = Occupant(moment.actor.identity, name)
    return [PlayerReturned(match.id, seat, match.ply, player)]


def _claimant(room: Room, moment: Moment) -> Viewer:
    return viewer_with_absence(room, moment.actor.identity, moment.find_absence)


def _end_match(room: Room, seat: int, winner: int | None, moment: Moment) -> RoomEvent:
    """Returns the event that ends the match because the opponent of a seat has gone."""
    reason = f"{side_name(room, 1 - seat)} left the match"
    return end_match(require_running_match(room), winner, "gone", reason, moment.received_ms)


def _substitute(room: Room) -> Occupant:
    """The AI that plays on for a player: at the middle level of the game, or by a strategy in a
    game without levels.
    """
    game = game_of(room)
    is_by_strategy = game.rules.SEARCH == "teach"
    wish = AiSeat(strategy=DEFAULT_STRATEGY) if is_by_strategy else AiSeat((game.levels + 1) // 2)
    return wished_occupant(game, room.options, wish, room.seats)


#: The rules of this module.
RULES: dict[type[Command], Rule] = {
    ClaimWin: claim_win,
    CallDraw: call_draw,
    LetAiPlay: let_ai_play,
    ReclaimSeat: reclaim_seat,
}
