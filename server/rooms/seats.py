"""The rules for taking and leaving seats."""

from engine.game import Game
from engine.search.job import Persona
from engine.view import SEATS
from server.codes import Code
from server.ids import IdentityId
from server.rooms import permissions
from server.rooms.commands import AddAi, Command, RemoveAi, Rename, Sit, Stand
from server.rooms.events import Occupant, Renamed, RoomEvent, SeatLeft, SeatTaken
from server.rooms.matches import start_match
from server.rooms.model import AI_IDENTITY, ActorKind, CommandRejected, Moment, Room, Rule
from server.rooms.permissions import check, game_of, own_seat, viewer_of


def sit(room: Room, command: Sit, moment: Moment) -> list[RoomEvent]:
    check(permissions.sit(room, viewer_of(room, moment.actor.identity), command.seat))
    occupant = Occupant(moment.actor.identity, moment.actor.name)
    return _take_seat(room, command.seat, occupant, moment)


def stand(room: Room, command: Stand, moment: Moment) -> list[RoomEvent]:
    check(permissions.stand(room, viewer_of(room, moment.actor.identity)))
    return [SeatLeft(own_seat(room, moment.actor))]


def add_ai(room: Room, command: AddAi, moment: Moment) -> list[RoomEvent]:
    check(permissions.add_ai(room, viewer_of(room, moment.actor.identity), command.seat))
    occupant = ai_occupant(game_of(room), command.level, command.persona)
    return _take_seat(room, command.seat, occupant, moment)


def remove_ai(room: Room, command: RemoveAi, moment: Moment) -> list[RoomEvent]:
    check(permissions.remove_ai(room, viewer_of(room, moment.actor.identity), command.seat))
    return [SeatLeft(command.seat)]


def rename(room: Room, command: Rename, moment: Moment) -> list[RoomEvent]:
    """Returns the event of another name; none if the identity has no seat, or its seat shows it."""
    if moment.actor.kind is not ActorKind.SERVER:
        raise CommandRejected(Code.SEAT_NONE, "only the server may send this command")
    if room.player_name(IdentityId(command.identity)) in (None, command.name):
        return []
    return [Renamed(command.identity, command.name)]


def _take_seat(room: Room, seat: int, occupant: Occupant, moment: Moment) -> list[RoomEvent]:
    """Returns the events of taking a seat, and of starting the match if no seat is free then."""
    game = game_of(room)
    seats = [*room.seats[:seat], occupant, *room.seats[seat + 1 :]]
    events: list[RoomEvent] = [SeatTaken(seat, occupant)]
    occupants = [holder for holder in seats if holder is not None]
    if len(occupants) == SEATS:
        events.append(start_match(room, game, occupants, moment))
    return events


def ai_occupant(game: Game, level: int | None, persona: Persona | None) -> Occupant:
    """The occupant of an AI seat, which has either a level or a persona."""
    if persona is not None and level is None:
        return Occupant(AI_IDENTITY, f"AI {persona}", "ai", persona=persona)
    if level is None or persona is not None:
        raise CommandRejected(
            Code.LEVEL_UNKNOWN, "an AI takes a seat either at a level or as a persona"
        )
    if level > game.levels:
        raise CommandRejected(Code.LEVEL_UNKNOWN, f"{game.title} has levels 1 to {game.levels}")
    return Occupant(AI_IDENTITY, f"AI level {level}", "ai", level)


#: The rules of this module.
RULES: dict[type[Command], Rule] = {
    Sit: sit,
    Stand: stand,
    AddAi: add_ai,
    RemoveAi: remove_ai,
    Rename: rename,
}
