"""Who holds a seat."""

from engine.game import Game
from engine.search.job import Persona
from engine.view import SEATS
from server.codes import Code
from server.rooms.commands import AddAi, RemoveAi, Sit, Stand
from server.rooms.conditions import check_host, game_of, own_seat
from server.rooms.events import Occupant, RoomEvent, SeatLeft, SeatTaken
from server.rooms.matches import start_match
from server.rooms.model import AI_IDENTITY, CommandRejected, Moment, Room


def sit(room: Room, command: Sit, moment: Moment) -> list[RoomEvent]:
    if room.seats[command.seat] is not None:
        raise CommandRejected(Code.SEAT_TAKEN, "the seat is taken")
    if room.seat_of(moment.actor.identity) is not None:
        raise CommandRejected(Code.SEAT_ALREADY, "you have a seat already")
    occupant = Occupant(moment.actor.identity, moment.actor.name)
    return _take_seat(room, command.seat, occupant, moment)


def stand(room: Room, command: Stand, moment: Moment) -> list[RoomEvent]:
    seat = own_seat(room, moment.actor)
    if room.playing is not None:
        raise CommandRejected(
            Code.SEAT_LOCKED, "seats are kept while a match is running; you may resign"
        )
    return [SeatLeft(seat)]


def add_ai(room: Room, command: AddAi, moment: Moment) -> list[RoomEvent]:
    check_host(room, moment.actor)
    if room.seats[command.seat] is not None:
        raise CommandRejected(Code.SEAT_TAKEN, "the seat is taken")
    occupant = ai_occupant(game_of(room), command.level, command.persona)
    return _take_seat(room, command.seat, occupant, moment)


def remove_ai(room: Room, command: RemoveAi, moment: Moment) -> list[RoomEvent]:
    check_host(room, moment.actor)
    occupant = room.seats[command.seat]
    if occupant is None or occupant.kind != "ai":
        raise CommandRejected(Code.SEAT_EMPTY, "no AI holds that seat")
    if room.playing is not None:
        raise CommandRejected(Code.SEAT_LOCKED, "seats are kept while a match is running")
    return [SeatLeft(command.seat)]


def _take_seat(room: Room, seat: int, occupant: Occupant, moment: Moment) -> list[RoomEvent]:
    """The events of taking a seat, and of starting the match if it was the last free one."""
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
