"""How events change a room.

`evolve` applies one event and is total: every stored log loads, if necessary as a frozen room that
can only be read. An event of a newer version freezes the room for good (`room.newer`), because this
version cannot tell what it changed. Later events are applied as far as possible.
"""

from collections.abc import Mapping, Sequence
from typing import assert_never

from msgspec.structs import replace

from engine.game import Game, GameError, GameFault, Position, PositionError
from engine.rules.errors import GameHung
from engine.view import SEATS
from server.codes import Code
from server.events import (
    CAPABILITIES,
    CLOCK,
    GAMES,
    AiTookOver,
    Barred,
    Configured,
    Created,
    Declined,
    Finished,
    Held,
    Moved,
    Muted,
    Occupant,
    Offered,
    Player,
    PlayerReturned,
    Released,
    Renamed,
    Required,
    RoomEvent,
    Said,
    SeatLeft,
    SeatTaken,
    Started,
    TimeAdded,
    TookBack,
    Unknown,
    Unmuted,
)
from server.ids import NOBODY, IdentityId, MatchId, RoomId
from server.questions import parse_question
from server.rooms import notation, positions
from server.rooms.clock_log import (
    changed_clock,
    moved_clock,
    next_turn_of,
    started_clock,
    taken_back_clock,
)
from server.rooms.matches import result_of
from server.rooms.model import (
    BOT_STAMPS,
    CHAT_STAMPS,
    RECENT_POSITIONS,
    SEAT_ORDERS,
    SNAPSHOT_CHAT_LINES,
    ChatLine,
    ChatStamp,
    FindGame,
    Match,
    NextOffer,
    Room,
    Substitution,
    TakebackOffer,
)
from server.rooms.turns import second_turn_ply
from server.series import add_result
from server.time_controls import TimeControlError, parse_control

#: Maximum number of people who may not sit in a room any more; the earliest may again.
MAX_BARRED = 64
#: The offers of this version that are open for a seat and have no fields of their own.
OFFERS = frozenset({"draw", "rematch"})


def initial_room(room_id: RoomId, event: RoomEvent, at_ms: int, find_game: FindGame) -> Room:
    """The room after the first event of its log, which is `created`.

    A first event of a newer version gives a frozen room without a game. Raises ValueError for any
    other event.
    """
    if isinstance(event, Unknown):
        return Room(
            id=room_id, v=1, game=None, game_id="unknown", options={}, visibility="unlisted",
            host=NOBODY, created_ms=at_ms, changed_ms=at_ms, frozen=Code.ROOM_NEWER,
        )  # fmt: skip
    if not isinstance(event, Created):
        raise ValueError(
            f"the log of room {room_id} starts with {type(event).__name__}, not with created"
        )
    game, frozen = _find(find_game, event.game, event.options)
    room = Room(
        id=room_id, v=1, game=game, game_id=event.game, options=event.options,
        visibility=event.visibility, host=IdentityId(event.host),
        created_ms=at_ms, changed_ms=at_ms, frozen=frozen,
        start=event.start, one_screen=event.one_screen, takeback=event.takeback,
        rated=event.rated, help=event.help,
    )  # fmt: skip
    return room if event.clock is None else _with_control(room, event.clock)


def _with_requirement(room: Room, what: str) -> Room:
    """The room whose log says once that it requires a capability of this version."""
    if what == GAMES:
        return replace(room, requires_games=True)
    return replace(room, requires_clock=True) if what == CLOCK else room


def _with_control(room: Room, text: str) -> Room:
    """The room with another time control, which a newer version may have written."""
    try:
        return replace(room, control=parse_control(text))
    except TimeControlError:
        return replace(room, frozen=Code.ROOM_NEWER)


def _find(
    find_game: FindGame, game_id: str, options: Mapping[str, str]
) -> tuple[Game | None, Code | None]:
    """The game with an id, None if this server does not have it; and the code that says why it
    cannot be played with these options, or None.
    """
    game = None
    try:
        game = find_game(game_id)
        game.check_options(options)
    except GameError:
        return game, Code.GAME_UNKNOWN if game is None else Code.OPTION_UNKNOWN
    except Exception:
        # A plug-in's file may raise anything while it is imported; the log must load even then.
        return game, Code.GAME_FAULT
    return game, None


def evolve(room: Room, event: RoomEvent, at_ms: int, find_game: FindGame) -> Room:
    """The room after one more event.

    It never raises: if this server can no longer play the match, the room is frozen.
    """
    room = replace(room, v=room.v + 1, changed_ms=max(at_ms, room.changed_ms))
    match event:
        case Moved():
            return _evolve_moved(room, event)
        case Said():
            return _evolve_said(room, event, at_ms)
        case SeatTaken():
            return _evolve_seat_taken(room, event)
        case SeatLeft():
            return _with_seated_newcomers(_without_offers(_with_seat(room, event.seat, None)))
        case Started():
            return _evolve_started(_with_game(room, event, find_game), event)
        case Finished():
            if room.match is None or room.match.id != event.match:
                return room
            seats = tuple([_without_keeper(occupant) for occupant in room.seats])
            match = replace(room.match, over=result_of(event))
            series = add_result(room.series, room.match.seats, event.winner, event.how)
            return _without_offers(replace(room, seats=seats, match=match, series=series))
        case TookBack():
            return _evolve_took_back(room, event)
        case TimeAdded() | Held() | Released():
            return _evolve_clock(room, event)
        case AiTookOver() | PlayerReturned():
            return _evolve_substitution(room, event)
        case Renamed():
            return _evolve_renamed(room, event)
        case Offered():
            return _evolve_offered(room, event)
        case Declined():
            return _evolve_declined(room, event)
        case Configured():
            is_help_set = event.help is not None
            room = replace(
                room, thinking=event.thinking, help=event.help if is_help_set else room.help
            )
            return room if event.clock is None else _with_control(room, event.clock)
        case Muted():
            person = Player(event.identity, event.name)
            return replace(room, muted=(*_without(room.muted, event.identity), person))
        case Unmuted():
            return replace(room, muted=_without(room.muted, event.identity))
        case Barred():
            person = Player(event.identity, event.name)
            others = _without(room.barred, event.identity)[-(MAX_BARRED - 1) :]
            return replace(room, barred=(*others, person))
        case Created():
            return room
        case Required() if event.what in CAPABILITIES:
            return _with_requirement(room, event.what)
        case Required() | Unknown():
            return replace(room, frozen=Code.ROOM_NEWER)
        case _:
            assert_never(event)


def _evolve_said(room: Room, event: Said, at_ms: int) -> Room:
    """The room with another line of chat. The lines of people count for the rate limits."""
    line = ChatLine(
        room.v, at_ms, event.name, event.text, event.to, event.identity,
        event.by, event.answers, event.links,
    )  # fmt: skip
    room = replace(room, chat=_with_line(room.chat, line))
    if event.by:
        return room
    stamp = ChatStamp(IdentityId(event.identity), at_ms)
    if line.is_private:
        room = replace(room, private_stamps=_with_stamp(room.private_stamps, stamp, BOT_STAMPS))
    else:
        room = replace(room, chat_stamps=_with_stamp(room.chat_stamps, stamp, CHAT_STAMPS))
    if event.cheap or parse_question(event.text, room.has_ai) is None:
        return room
    return replace(room, question_stamps=_with_stamp(room.question_stamps, stamp, BOT_STAMPS))


def _with_line(chat: tuple[ChatLine, ...], line: ChatLine) -> tuple[ChatLine, ...]:
    """The lines in memory with one more: the last SNAPSHOT_CHAT_LINES that others see, and as many
    private ones, so that neither kind pushes out the other.
    """
    alike = [index for index, each in enumerate(chat) if each.is_private is line.is_private]
    if len(alike) >= SNAPSHOT_CHAT_LINES:
        chat = chat[: alike[0]] + chat[alike[0] + 1 :]
    return (*chat, line)


def _with_stamp(
    stamps: tuple[ChatStamp, ...], stamp: ChatStamp, limit: int
) -> tuple[ChatStamp, ...]:
    """The last `limit` stamps, with this one."""
    return (*stamps[-(limit - 1) :], stamp)


def _evolve_seat_taken(room: Room, event: SeatTaken) -> Room:
    """The room with the occupant of a seat, who is a newcomer unless it is the host or an AI."""
    room = _with_seated_newcomers(_with_seat(room, event.seat, event.occupant))
    identity = IdentityId(event.occupant.identity)
    if identity == room.host or room.seat_of(identity) is None or identity in room.newcomers:
        return room
    return replace(room, newcomers=(*room.newcomers, identity))


def _with_seated_newcomers(room: Room) -> Room:
    """The room without the newcomers who have left their seats."""
    if not room.newcomers:
        return room
    seated = tuple([each for each in room.newcomers if room.seat_of(each) is not None])
    return replace(room, newcomers=seated)


def _without(people: tuple[Player, ...], identity: str) -> tuple[Player, ...]:
    return tuple([person for person in people if person.identity != identity])


def _with_game(room: Room, event: Started, find_game: FindGame) -> Room:
    """The room with the game and the options of a match, if the match has others than the room.

    What froze the room before concerned the other game, unless it was an event of a newer version.
    """
    if event.game is None:
        return room
    options = event.options or {}
    game, frozen = _find(find_game, event.game, options)
    if room.frozen is Code.ROOM_NEWER:
        frozen = room.frozen
    return replace(
        room, game=game, game_id=event.game, options=options, start=None, frozen=frozen
    )  # fmt: skip


def _evolve_started(room: Room, event: Started) -> Room:
    position, digest, frozen, turn = None, "", None, 0
    try:
        if room.game is not None:
            position = room.game.position(event.start, room.options)
            turn = _turn_of(position, event.seats)
            digest = position.digest()
    except (GameError, GameFault) as error:
        position, frozen = None, _freeze_code(error)
    if room.game is None or room.frozen is Code.ROOM_NEWER:
        frozen = room.frozen
    match = Match(
        MatchId(event.match), event.number, event.start, event.rules, event.seats, position, digest,
        room.v, room.changed_ms, first_seat=turn, turn=turn, turn_started_ms=room.changed_ms,
        thinking=event.thinking,
    )  # fmt: skip
    if event.clock is not None and event.clocks_ms is not None:
        room = _with_control(room, event.clock)
        if room.control is not None and room.frozen is not Code.ROOM_NEWER:
            started = started_clock(room.control, event, turn, room.changed_ms)
            match = replace(match, clock=started)
    else:
        room = replace(room, control=None)
    if room.frozen is Code.ROOM_NEWER:
        frozen = room.frozen
    # A new match is played by the current rules, which ends a freeze caused by an older match. A
    # missing game stays missing, and events of a newer version stay unknown.
    return replace(
        room,
        seats=(*event.seats, *(None,) * SEATS)[:SEATS],
        match=match,
        offers=(),
        takeback_offers=(),
        next_offer=None,
        frozen=frozen,
    )


def _evolve_offered(room: Room, event: Offered) -> Room:
    match = room.match
    if event.what == "takeback" and event.to_ply is not None and match is not None:
        requests = _with_ply(match.takeback_requests, event.seat, match.ply)
        takeback_offer = TakebackOffer(event.seat, event.to_ply)
        return replace(
            room,
            match=replace(match, takeback_requests=requests),
            takeback_offers=(*room.takeback_offers, takeback_offer),
        )
    if event.what == "next" and event.game is not None and event.seats in SEAT_ORDERS:
        offer = NextOffer(
            room.v, event.seat, event.game, event.options or {}, event.seats, event.level,
            event.title or event.game, event.options_text or "", event.clock,
        )  # fmt: skip
        return replace(room, next_offer=offer)
    if event.what not in OFFERS:  # from a newer version; no command of this version answers it
        return room
    if match is not None and event.what == "draw":
        plies = _with_ply(match.draw_offers, event.seat, match.ply)
        match = replace(match, draw_offers=plies)
    return replace(room, match=match, offers=(*room.offers, event.seat))


def _evolve_substitution(room: Room, event: AiTookOver | PlayerReturned) -> Room:
    """The room with another player on a seat of the running match."""
    match, seat = room.match, event.seat
    if match is None or match.id != event.match or match.over or seat not in range(SEATS):
        return room
    players = tuple(
        event.occupant if number == seat else player for number, player in enumerate(match.seats)
    )
    substitution = Substitution(event.ply, seat, event.occupant)
    match = replace(
        match, seats=players, substitutions=(*match.substitutions, substitution)
    )  # fmt: skip
    return _without_offers(replace(_with_seat(room, seat, event.occupant), match=match))


def _evolve_renamed(room: Room, event: Renamed) -> Room:
    """The room with another name on the seats that the identity holds or that are kept for it."""
    seats = tuple(
        [None if holder is None else _with_name(holder, event) for holder in room.seats]
    )  # fmt: skip
    match = room.running_match
    if match is None:
        return replace(room, seats=seats)
    players = tuple([_with_name(player, event) for player in match.seats])
    return replace(room, seats=seats, match=replace(match, seats=players))


def _with_name(occupant: Occupant, event: Renamed) -> Occupant:
    if occupant.own_name:
        return occupant
    if occupant.identity == event.identity and occupant.kind != "ai":
        return replace(occupant, name=event.name)
    keeper = occupant.kept_for
    if keeper is not None and keeper.identity == event.identity:
        return replace(occupant, kept_for=Player(keeper.identity, event.name))
    return occupant


def _without_keeper(occupant: Occupant | None) -> Occupant | None:
    """The occupant of a seat after a match: the player for whom an AI kept it."""
    if occupant is None or occupant.kept_for is None:
        return occupant
    return Occupant(occupant.kept_for.identity, occupant.kept_for.name)


def _evolve_declined(room: Room, event: Declined) -> Room:
    """The room without the opponent's offer; without one's own if the opponent has none."""
    if event.what in OFFERS:
        return replace(room, offers=())
    if event.what == "next":
        return replace(room, next_offer=None)
    if event.what != "takeback":
        return room
    own = tuple(offer for offer in room.takeback_offers if offer.seat == event.seat)
    return replace(room, takeback_offers=own if own != room.takeback_offers else ())


def _with_ply(plies: tuple[int, ...], seat: int, ply: int) -> tuple[int, ...]:
    """The plies with another one for a seat."""
    return tuple(ply if number == seat else before for number, before in enumerate(plies))


def _without_offers(room: Room) -> Room:
    return replace(room, offers=(), takeback_offers=(), next_offer=None)


def _evolve_moved(room: Room, event: Moved) -> Room:
    match = room.match
    if match is None or match.id != event.match:
        return room
    if room.frozen is not None and room.frozen is Code.ROOM_NEWER:
        return _evolve_moved_after_newer(room, match, event)
    position, turn, recent = match.position, match.turn, match.recent
    frozen: Code | None = room.frozen
    if position is not None:
        recent = (*recent[1 - RECENT_POSITIONS :], position)
        try:
            position = positions.replay(position, event.move)
            turn = _turn_of(position, match.seats)
            # A match may continue under changed rules only as long as they lead to the same
            # positions.
            if match.rules != position.game.digest and position.digest() != event.digest:
                position, frozen = None, Code.GAME_CHANGED
        except (GameError, GameFault) as error:
            position, frozen = None, _freeze_code(error)
        if position is None:
            recent = ()
    moves = (*match.moves, notation.played_move(event, room.game, position))
    clock = match.clock
    if clock is not None:
        next_turn = turn if position is not None else next_turn_of(event)
        clock = moved_clock(clock, event, next_turn, room.changed_ms)
    match = replace(
        match, moves=moves, position=position, digest=event.digest,
        turn=turn, turn_started_ms=room.changed_ms, recent=recent, clock=clock,
    )  # fmt: skip
    if room.newcomers and second_turn_ply(match) is not None:
        room = replace(room, newcomers=())
    if room.offers or room.takeback_offers:
        return replace(
            room, match=match, frozen=frozen, moved_v=room.v, takeback_offers=(),
            # An offer of a draw stands until the other side moves.
            offers=tuple(seat for seat in room.offers if seat == event.seat),
        )  # fmt: skip
    return replace(room, match=match, frozen=frozen, moved_v=room.v)


def _evolve_clock(room: Room, event: TimeAdded | Held | Released) -> Room:
    """The room with another time on the clock of its running match."""
    match = room.running_match
    if match is None or match.id != event.match or match.clock is None:
        return room
    return replace(room, match=replace(match, clock=changed_clock(match.clock, event)))


def _evolve_took_back(room: Room, event: TookBack) -> Room:
    """The room at an earlier ply of its match. Every open offer lapses."""
    match, ply = room.match, event.to_ply
    if match is None or match.id != event.match or match.over is not None:
        return room
    if not 0 <= ply < match.ply:
        return room
    position, turn, frozen = None, match.turn, room.frozen
    recent: tuple[Position, ...] = ()
    if room.game is not None and (match.position is not None or frozen is Code.ROOM_NEWER):
        try:
            position, recent = _positions_at(room.game, room.options, match, ply)
            turn = _turn_of(position, match.seats)
            if position.digest() != event.digest:
                position, frozen = None, frozen or Code.GAME_CHANGED
        except (GameError, GameFault) as error:
            position, frozen = None, frozen or _freeze_code(error)
    match = replace(
        match, moves=match.moves[:ply], position=position, digest=event.digest, recent=recent,
        turn=turn, turn_started_ms=room.changed_ms,
        # Nobody has to wait longer for the next offer than after an offer in this position.
        draw_offers=tuple(min(offered, ply) for offered in match.draw_offers),
        takeback_requests=(-1,) * SEATS,
        substitutions=tuple([_played_from(each, ply) for each in match.substitutions]),
    )  # fmt: skip
    if match.clock is not None:
        taken = None
        if position is not None:
            taken = taken_back_clock(match.clock, event, turn, room.changed_ms)
        match = replace(match, clock=taken)
    return replace(_without_offers(room), match=match, frozen=frozen)


def _played_from(substitution: Substitution, ply: int) -> Substitution:
    """The substitution after a takeback: its player plays from that ply on at the latest."""
    return replace(substitution, ply=min(substitution.ply, ply))


def position_at(room: Room, match: Match, ply: int) -> Position:
    """The position at an earlier ply of the room's match. Raises GameError and GameFault."""
    assert room.game is not None, "a match without its game has no position"
    return _positions_at(room.game, room.options, match, ply)[0]


def _positions_at(
    game: Game, options: Mapping[str, str], match: Match, ply: int
) -> tuple[Position, tuple[Position, ...]]:
    """The position at an earlier ply of a match, and the positions before it that are at hand.

    Raises GameError and GameFault.
    """
    back = match.ply - ply
    if back <= len(match.recent):
        return match.recent[-back], match.recent[:-back]
    line = [game.position(match.start, options)]
    for played in match.moves[:ply]:
        line.append(positions.replay(line[-1], played.move))
        del line[: -RECENT_POSITIONS - 1]
    return line[-1], tuple(line[:-1])


def _evolve_moved_after_newer(room: Room, match: Match, event: Moved) -> Room:
    """The room with a move that follows events of a newer version.

    The move list is truncated to the move's ply. The position is None if the known moves do not
    lead to the digest in the event.
    """
    before, ply = match.position, max(0, event.ply)
    position, turn = None, match.turn
    try:
        if ply < match.ply and room.game is not None:  # moves were taken back
            before = room.game.position(match.start, room.options)
            for played in match.moves[:ply]:
                before = before.replay(played.move)
        if before is not None and ply <= match.ply:
            position = before.replay(event.move)
            turn = _turn_of(position, match.seats)
    except (GameError, GameFault):
        position = None
    if position is not None and position.digest() != event.digest:
        position = None
    moves = (*match.moves[:ply], notation.played_move(event, room.game, position))
    match = replace(
        match, moves=moves, position=position, digest=event.digest,
        turn=turn, turn_started_ms=room.changed_ms, recent=(), clock=None,
    )  # fmt: skip
    offers = tuple(seat for seat in room.offers if seat == event.seat)
    return replace(room, match=match, offers=offers, takeback_offers=(), moved_v=room.v)


def _turn_of(position: Position, seats: Sequence[Occupant]) -> int:
    """The seat to move. Raises PositionError unless there are two seats and it is one of them."""
    turn = position.turn
    if len(seats) != SEATS or turn not in range(SEATS):
        raise PositionError(f"seat {turn} of {len(seats)} is to move")
    return turn


def _freeze_code(error: GameError | GameFault) -> Code:
    """The code that says why this error freezes the room."""
    if isinstance(error, GameHung):
        return Code.GAME_HUNG
    return Code.GAME_FAULT if isinstance(error, GameFault) else Code.GAME_CHANGED


def _with_seat(room: Room, seat: int, occupant: Occupant | None) -> Room:
    """The room with another occupant of a seat; unchanged for a seat that does not exist."""
    if seat not in range(SEATS):
        return room
    return replace(room, seats=(*room.seats[:seat], occupant, *room.seats[seat + 1 :]))
