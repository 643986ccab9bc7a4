"""The rules of a room: which events a command makes, and how an event changes the room.

`decide` turns a command into events, or rejects it and changes nothing. `evolve` applies one event
and is total: every stored log loads, if necessary as a frozen room that can only be read.
"""

import unicodedata
from collections.abc import Callable, Sequence
from typing import assert_never

from msgspec.structs import replace

from engine.game import (
    Game,
    GameError,
    GameFault,
    IllegalMove,
    MalformedMove,
    OptionError,
    Position,
    PositionError,
)
from engine.rules.numbering import move_number
from engine.search.job import Persona
from server.protocol import messages as wire
from server.protocol.codes import Code
from server.protocol.messages import Occupant
from server.rooms import notation, permissions
from server.rooms.model import (
    AI_IDENTITY,
    CHAT_STAMPS,
    SEATS,
    SNAPSHOT_CHAT_LINES,
    Actor,
    AiFailure,
    AiMove,
    AiReply,
    ChatStamp,
    Command,
    CommandRejected,
    ForcedPass,
    Match,
    Room,
)
from server.rooms.permissions import NO_SEAT, Refusal

#: Returns a new id for a match.
NewId = Callable[[], str]
#: Returns the game with an id, or raises UnknownGame.
FindGame = Callable[[str], Game]


def create(actor: Actor, command: wire.Create, game: Game, new_id: NewId) -> list[wire.RoomEvent]:
    """The first events of a new room. Raises CommandRejected for invalid options or seats."""
    try:
        start = game.start(command.options)
    except OptionError as error:
        raise CommandRejected(Code.OPTION_UNKNOWN, str(error)) from error
    if sum(isinstance(seat, wire.MySeat) for seat in command.seats) > 1:
        raise CommandRejected(Code.SEAT_ALREADY, "a player may take one seat only")
    events: list[wire.RoomEvent] = [
        wire.Created(game.id, dict(start.options), command.visibility, actor.identity)
    ]
    seats: list[Occupant | None] = [None] * SEATS
    for number, seat_wish in enumerate(command.seats):
        match seat_wish:
            case wire.MySeat():
                seats[number] = Occupant(actor.identity, actor.name)
            case wire.AiSeat(level=level, persona=persona):
                seats[number] = _ai_occupant(game, level, persona)
            case wire.OpenSeat():
                continue
            case _:
                assert_never(seat_wish)
        events.append(wire.SeatTaken(number, seats[number]))  # type: ignore[arg-type]
    occupants = [seat for seat in seats if seat is not None]
    if len(occupants) == SEATS:
        events.append(_start_event(start, new_id(), 1, occupants))
    return events


def decide(room: Room, actor: Actor, command: Command, new_id: NewId) -> list[wire.RoomEvent]:
    """The events that a command makes, at least one.

    Raises CommandRejected when it is refused and GameFault when the rules fail.
    """
    match command:
        case wire.Move():
            return _move(room, actor, command)
        case AiMove():
            return _ai_move(room, actor, command)
        case ForcedPass():
            return _forced_pass(room, actor, command)
        case AiFailure():
            return _ai_failure(room, actor, command)
        case wire.Chat():
            return _chat(room, actor, command)
        case wire.Sit():
            return _sit(room, actor, command.seat, new_id)
        case wire.Stand():
            return _stand(room, actor)
        case wire.AddAi():
            return _add_ai(room, actor, command, new_id)
        case wire.RemoveAi():
            return _remove_ai(room, actor, command.seat)
        case wire.Resign():
            return _resign(room, actor)
        case wire.Abort():
            return _abort(room, actor)
        case wire.Claim():
            return _claim(room, actor)
        case wire.OfferDraw():
            return _offer_draw(room, actor)
        case wire.Accept():
            return _accept(room, actor, new_id)
        case AiReply():
            return _ai_reply(room, actor, command)
        case wire.Rematch():
            return _rematch(room, actor, new_id)
        case wire.Decline():
            return _decline(room, actor)
        case _:
            raise CommandRejected(
                Code.MESSAGE_UNKNOWN,
                f"{type(command).__name__} is not a command that changes a room",
            )


# --- moves --------------------------------------------------------------------------------------


def _move(room: Room, actor: Actor, command: wire.Move) -> list[wire.RoomEvent]:
    seat = _own_seat(room, actor)
    match = _running(room)
    if command.ply < match.ply:
        raise CommandRejected(
            Code.MOVE_STALE, f"ply {command.ply} is already played; the next is {match.ply}"
        )
    if command.ply > match.ply:
        raise CommandRejected(Code.MOVE_EARLY, f"the next ply is {match.ply}, not {command.ply}")
    position = _playable_position(room, match)
    if position.turn != seat:
        raise CommandRejected(
            Code.MOVE_NOT_YOUR_TURN, f"{_side_name(room, position.turn)} is to move"
        )
    return _play(match, position, seat, command.move)


def _ai_move(room: Room, actor: Actor, command: AiMove) -> list[wire.RoomEvent]:
    match = _running(room)
    position = _check_ai_turn(room, actor, match, command.match, command.seat, command.digest)
    return _play(match, position, command.seat, command.move)


def _ai_failure(room: Room, actor: Actor, command: AiFailure) -> list[wire.RoomEvent]:
    match = _running(room)
    _check_ai_turn(room, actor, match, command.match, command.seat, command.digest)
    return [
        wire.Finished(match.id, None, "failure", f"the AI could not move: {command.reason}"[:200])
    ]


def _forced_pass(room: Room, actor: Actor, command: ForcedPass) -> list[wire.RoomEvent]:
    match = _running(room)
    position = _playable_position(room, match)
    if actor.identity != AI_IDENTITY:
        raise CommandRejected(Code.SEAT_NONE, "only the server may send this command")
    due_pass = room.forced_pass()
    requested = (command.match, command.seat, command.digest, command.move)
    if (
        due_pass is None
        or (due_pass.match, due_pass.seat, due_pass.digest, due_pass.move) != requested
    ):
        raise CommandRejected(Code.MOVE_STALE, "the pass is for another position")
    return _play(match, position, command.seat, command.move, forced=True)


def _check_ai_turn(
    room: Room, actor: Actor, match: Match, match_id: str, seat: int, digest: str
) -> Position:
    """Returns the position.

    Raises CommandRejected unless an AI's answer for that match, seat and digest is still current.
    """
    position = _playable_position(room, match)
    if actor.identity != AI_IDENTITY:
        raise CommandRejected(Code.SEAT_NONE, "only the AI moves for the AI")
    if match.id != match_id or match.digest != digest or position.turn != seat:
        raise CommandRejected(Code.MOVE_STALE, "the AI's answer is for another position")
    if match.seats[seat].kind != "ai":
        raise CommandRejected(Code.MOVE_NOT_YOUR_TURN, "a person is to move")
    return position


def _play(
    match: Match, position: Position, seat: int, token: str, forced: bool = False
) -> list[wire.RoomEvent]:
    """The events of a move: `moved`, and `finished` if the move ends the match."""
    try:
        token, after, outcome = position.advance(token)
    except MalformedMove as error:
        raise CommandRejected(Code.MOVE_MALFORMED, str(error)) from error
    except IllegalMove as error:
        raise CommandRejected(Code.MOVE_ILLEGAL, str(error)) from error
    events: list[wire.RoomEvent] = [
        wire.Moved(
            match.id, match.ply, seat, token, after.digest(), after.played() or None,
            number=move_number(position.game, match.ply, seat), forced=forced,
        )
    ]  # fmt: skip
    if outcome is not None:
        events.append(wire.Finished(match.id, outcome.winner, "board", outcome.reason))
    return events


def _resign(room: Room, actor: Actor) -> list[wire.RoomEvent]:
    _check(permissions.resign(room, _viewer(room, actor)))
    seat, match = _own_seat(room, actor), _running(room)
    return [wire.Finished(match.id, 1 - seat, "resign", f"{_side_name(room, seat)} resigned")]


def _abort(room: Room, actor: Actor) -> list[wire.RoomEvent]:
    _check(permissions.abort(room, _viewer(room, actor)))
    return [wire.Finished(_running(room).id, None, "abort", "the match was aborted")]


# --- draws --------------------------------------------------------------------------------------


def _claim(room: Room, actor: Actor) -> list[wire.RoomEvent]:
    seat = _own_seat(room, actor)
    match = _running(room)
    position = _playable_position(room, match)
    reason = position.claim() if position.turn == seat else None
    if reason is None:
        raise CommandRejected(
            Code.CLAIM_NONE,
            "there is no draw to claim: it must be your turn, and the rules must allow it",
        )
    return [wire.Finished(match.id, None, "claim", reason)]


def _offer_draw(room: Room, actor: Actor) -> list[wire.RoomEvent]:
    _check(permissions.offer_draw(room, _viewer(room, actor)))
    seat, match = _own_seat(room, actor), _running(room)
    return [_agree_draw(match)] if 1 - seat in room.offers else [wire.Offered(seat, "draw")]


def _accept(room: Room, actor: Actor, new_id: NewId) -> list[wire.RoomEvent]:
    _check(permissions.accept(room, _viewer(room, actor)))
    return (
        [_agree_draw(room.playing)] if room.playing is not None else _rematch(room, actor, new_id)
    )


def _ai_reply(room: Room, actor: Actor, command: AiReply) -> list[wire.RoomEvent]:
    match = _running(room)
    if actor.identity != AI_IDENTITY:
        raise CommandRejected(Code.SEAT_NONE, "only the AI answers for the AI")
    if match.id != command.match or room.ai_to_answer_draw() != command.seat:
        raise CommandRejected(Code.OFFER_NONE, "the offer is not open any more")
    return [_agree_draw(match)] if command.accept else [wire.Declined(command.seat, "draw")]


def _agree_draw(match: Match) -> wire.Finished:
    return wire.Finished(match.id, None, "agreement", "both sides agreed to it")


# --- seats --------------------------------------------------------------------------------------


def _sit(room: Room, actor: Actor, seat: int, new_id: NewId) -> list[wire.RoomEvent]:
    _check(permissions.sit(room, _viewer(room, actor), seat))
    return _take_seat(room, seat, Occupant(actor.identity, actor.name), new_id)


def _stand(room: Room, actor: Actor) -> list[wire.RoomEvent]:
    _check(permissions.stand(room, _viewer(room, actor)))
    return [wire.SeatLeft(_own_seat(room, actor))]


def _add_ai(room: Room, actor: Actor, command: wire.AddAi, new_id: NewId) -> list[wire.RoomEvent]:
    _check(permissions.add_ai(room, _viewer(room, actor), command.seat))
    occupant = _ai_occupant(_game(room), command.level, command.persona)
    return _take_seat(room, command.seat, occupant, new_id)


def _remove_ai(room: Room, actor: Actor, seat: int) -> list[wire.RoomEvent]:
    _check(permissions.remove_ai(room, _viewer(room, actor), seat))
    return [wire.SeatLeft(seat)]


def _take_seat(room: Room, seat: int, occupant: Occupant, new_id: NewId) -> list[wire.RoomEvent]:
    """The events of taking a seat, and of starting the match if it was the last free one."""
    game = _game(room)
    seats = [*room.seats[:seat], occupant, *room.seats[seat + 1 :]]
    events: list[wire.RoomEvent] = [wire.SeatTaken(seat, occupant)]
    occupants = [holder for holder in seats if holder is not None]
    if len(occupants) == SEATS:
        start = game.start(room.options)
        events.append(_start_event(start, new_id(), _next_number(room), occupants))
    return events


def _rematch(room: Room, actor: Actor, new_id: NewId) -> list[wire.RoomEvent]:
    viewer = _viewer(room, actor)
    _check(permissions.rematch(room, viewer))
    if not permissions.starts_rematch(room, viewer):
        return [wire.Offered(_own_seat(room, actor))]
    occupants = [holder for holder in reversed(room.seats) if holder is not None]
    start = _game(room).start(room.options)
    return [_start_event(start, new_id(), _next_number(room), occupants)]


def _decline(room: Room, actor: Actor) -> list[wire.RoomEvent]:
    _check(permissions.decline(room, _viewer(room, actor)))
    seat = _own_seat(room, actor)
    return [wire.Declined(seat, "draw" if room.playing is not None else "rematch")]


def _start_event(
    start: Position, match_id: str, number: int, seats: Sequence[Occupant]
) -> wire.Started:
    return wire.Started(match_id, number, start.text(), start.game.digest, tuple(seats))


def _ai_occupant(game: Game, level: int | None, persona: Persona | None) -> Occupant:
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


# --- chat ---------------------------------------------------------------------------------------


def _chat(room: Room, actor: Actor, command: wire.Chat) -> list[wire.RoomEvent]:
    text = clean_text(command.text)
    if not text:
        raise CommandRejected(Code.CHAT_EMPTY, "the line is empty")
    if command.to == "spectators" and room.seat_of(actor.identity) is not None:
        raise CommandRejected(Code.SEAT_ALREADY, "players talk to the whole room")
    return [wire.Said(actor.identity, actor.name, text, command.to)]


def clean_text(text: str) -> str:
    """The text on one line, without invisible characters.

    Control, bidirectional and other format characters could make a page show false text.
    """
    visible = "".join(
        c if unicodedata.category(c)[0] not in "CZ" else " " if c.isspace() else "" for c in text
    )
    return " ".join(visible.split())


# --- preconditions of commands ------------------------------------------------------------------


def _viewer(room: Room, actor: Actor) -> permissions.Viewer:
    return permissions.viewer_of(room, actor.identity)


def _check(refusal: Refusal | None) -> None:
    """Raises CommandRejected if there is a reason to refuse the command."""
    if refusal is not None:
        raise CommandRejected(*refusal)


def _game(room: Room) -> Game:
    """The room's game. Raises CommandRejected if this server does not have it."""
    _check(permissions.no_game(room))
    assert room.game is not None
    return room.game


def _running(room: Room) -> Match:
    """The running match. Raises CommandRejected if there is none."""
    match = room.playing
    if match is None:
        _check(permissions.not_running(room))
    assert match is not None
    return match


def _playable_position(room: Room, match: Match) -> Position:
    """The match's position. Raises CommandRejected if the match can only be read."""
    if room.frozen is not None or match.position is None:
        raise CommandRejected(
            room.frozen or Code.ROOM_FROZEN,
            "this match was played by other rules than this server has; it can only be read",
        )
    return match.position


def _own_seat(room: Room, actor: Actor) -> int:
    """The actor's seat. Raises CommandRejected if the actor has none."""
    seat = room.seat_of(actor.identity)
    if seat is None:
        raise CommandRejected(*NO_SEAT)
    return seat


def _next_number(room: Room) -> int:
    """The number of the room's next match, from 1."""
    return 1 if room.match is None else room.match.number + 1


def _side_name(room: Room, seat: int) -> str:
    """The name of a side in the room's game."""
    try:
        return _game(room).board(room.options).seats[seat].name
    except (CommandRejected, GameFault, IndexError):
        return ("the first player", "the second player")[seat]


# --- events -------------------------------------------------------------------------------------


def initial_room(room_id: str, event: wire.RoomEvent, at_ms: int, find_game: FindGame) -> Room:
    """The room after the first event of its log, which is `created`.

    Raises ValueError for any other event.
    """
    if not isinstance(event, wire.Created):
        raise ValueError(
            f"the log of room {room_id} starts with {type(event).__name__}, not with created"
        )
    game, frozen = None, None
    try:
        game = find_game(event.game)
        game.check_options(event.options)
    except GameError:
        frozen = Code.GAME_UNKNOWN if game is None else Code.OPTION_UNKNOWN
    except Exception:
        # A plug-in's file may raise anything while it is imported. The log must load all the same.
        frozen = Code.GAME_FAULT
    return Room(
        id=room_id, v=1, game=game, game_id=event.game, options=event.options,
        visibility=event.visibility, host=event.host,
        created_ms=at_ms, changed_ms=at_ms, frozen=frozen,
    )  # fmt: skip


def evolve(room: Room, event: wire.RoomEvent, at_ms: int) -> Room:
    """The room after one more event.

    It never raises: a log that this server can no longer play makes a frozen room.
    """
    room = replace(room, v=room.v + 1, changed_ms=max(at_ms, room.changed_ms))
    match event:
        case wire.Moved():
            return _evolve_moved(room, event)
        case wire.Said():
            line = wire.ChatLine(room.v, at_ms, event.name, event.text, event.to)
            stamps = (*room.chat_stamps[-(CHAT_STAMPS - 1) :], ChatStamp(event.identity, at_ms))
            return replace(
                room, chat=(*room.chat[-(SNAPSHOT_CHAT_LINES - 1) :], line), chat_stamps=stamps
            )
        case wire.SeatTaken():
            return _with_seat(room, event.seat, event.occupant)
        case wire.SeatLeft():
            return replace(_with_seat(room, event.seat, None), offers=())
        case wire.Started():
            return _evolve_started(room, event)
        case wire.Finished():
            if room.match is None:
                return room
            over = wire.MatchResult(event.winner, event.how, event.reason)
            return replace(room, match=replace(room.match, over=over), offers=())
        case wire.Offered():
            return _evolve_offered(room, event)
        case wire.Declined():
            return replace(room, offers=())
        case wire.Created():
            return room
        case _:
            assert_never(event)


def _evolve_started(room: Room, event: wire.Started) -> Room:
    position, digest, frozen = None, "", None
    try:
        if room.game is not None:
            position = _check_turn(room.game.position(event.start, room.options), event.seats)
            digest = position.digest()
    except (GameError, GameFault) as error:
        position, frozen = None, _freeze_code(error)
    match = Match(
        event.match, event.number, event.start, event.rules, event.seats, position, digest,
        room.v, room.changed_ms, first_seat=position.turn if position is not None else 0,
    )  # fmt: skip
    # A new match is played by today's rules, so a freeze caused by an older match ends. A missing
    # game stays missing.
    return replace(
        room,
        seats=(*event.seats, *(None,) * SEATS)[:SEATS],
        match=match,
        offers=(),
        frozen=frozen if room.game is not None else room.frozen,
    )


def _evolve_offered(room: Room, event: wire.Offered) -> Room:
    match = room.match
    if match is not None and event.what == "draw":
        plies = tuple(
            match.ply if seat == event.seat else ply for seat, ply in enumerate(match.draw_offers)
        )
        match = replace(match, draw_offers=plies)
    return replace(room, match=match, offers=(*room.offers, event.seat))


def _evolve_moved(room: Room, event: wire.Moved) -> Room:
    match = room.match
    if match is None or match.id != event.match:
        return room
    position, frozen = match.position, room.frozen
    if position is not None:
        try:
            position = _check_turn(position.replay(event.move), match.seats)
            # A match may continue under changed rules only as long as they lead to the same
            # positions.
            if match.rules != position.game.digest and position.digest() != event.digest:
                position, frozen = None, Code.GAME_CHANGED
        except (GameError, GameFault) as error:
            position, frozen = None, _freeze_code(error)
    moves = (*match.moves, notation.played_move(event, room.game, position))
    match = replace(match, moves=moves, position=position, digest=event.digest)
    if room.offers:  # an offer stands until the other side moves
        room = replace(room, offers=tuple(seat for seat in room.offers if seat == event.seat))
    return replace(room, match=match, frozen=frozen)


def _check_turn(position: Position, seats: Sequence[Occupant]) -> Position:
    """Returns the position. Raises PositionError unless one of these seats is to move."""
    if len(seats) != SEATS or position.turn not in range(SEATS):
        raise PositionError(f"seat {position.turn} of {len(seats)} is to move")
    return position


def _freeze_code(error: GameError | GameFault) -> Code:
    """The code that says why this error freezes the room."""
    return Code.GAME_FAULT if isinstance(error, GameFault) else Code.GAME_CHANGED


def _with_seat(room: Room, seat: int, occupant: Occupant | None) -> Room:
    """The room with another occupant of a seat; unchanged for a seat that does not exist."""
    if seat not in range(SEATS):
        return room
    return replace(room, seats=(*room.seats[:seat], occupant, *room.seats[seat + 1 :]))
