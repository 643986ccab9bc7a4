"""What commands have in common: the conditions that they check, each with its code."""

from engine.game import Game, GameFault, Position
from server.codes import Code
from server.rooms.model import Actor, CommandRejected, Match, Room


def game_of(room: Room) -> Game:
    """The room's game. Raises CommandRejected if this server does not have it."""
    if room.game is None:
        raise CommandRejected(
            room.frozen or Code.ROOM_FROZEN, f"this server does not have the game {room.game_id}"
        )
    return room.game


def running_match(room: Room) -> Match:
    """The running match. Raises CommandRejected if there is none."""
    if room.match is None:
        raise CommandRejected(Code.MATCH_NONE, "the match begins when both seats are taken")
    if room.match.over is not None:
        raise CommandRejected(Code.MATCH_OVER, "the match is over")
    return room.match


def playable_position(room: Room, match: Match) -> Position:
    """The match's position. Raises CommandRejected if the match can only be read."""
    if room.frozen is not None or match.position is None:
        raise CommandRejected(
            room.frozen or Code.ROOM_FROZEN,
            "this match was played by other rules than this server has; it can only be read",
        )
    return match.position


def own_seat(room: Room, actor: Actor) -> int:
    """The actor's seat. Raises CommandRejected if the actor has none."""
    seat = room.seat_of(actor.identity)
    if seat is None:
        raise CommandRejected(Code.SEAT_NONE, "you have no seat in this room")
    return seat


def check_host(room: Room, actor: Actor) -> None:
    """Raises CommandRejected unless the actor is the host of the room."""
    if actor.identity != room.host:
        raise CommandRejected(Code.HOST_ONLY, "only the host of the room may do that")


def has_only_ai(room: Room) -> bool:
    """Whether AIs hold all seats."""
    return all(seat is not None and seat.kind == "ai" for seat in room.seats)


def side_name(room: Room, seat: int) -> str:
    """The name of a side in the room's game."""
    try:
        return game_of(room).board(room.options).seats[seat].name
    except (CommandRejected, GameFault, IndexError):
        return ("the first player", "the second player")[seat]
