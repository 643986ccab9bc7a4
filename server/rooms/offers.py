"""The rules for draws, takebacks, rematches and the next game: claims, offers, and answers to
offers.
"""

from typing import cast

from msgspec.structs import replace

from engine.game import Game, GameFault, UnknownGame
from engine.rules.errors import GameHung
from engine.search.job import Persona
from server.codes import Code
from server.commands import (
    Accept,
    AiReply,
    AiSeat,
    Claim,
    Command,
    Decline,
    NextGame,
    OfferDraw,
    Rematch,
    Takeback,
)
from server.events import (
    CLOCK,
    GAMES,
    STRATEGIES,
    Declined,
    Finished,
    Occupant,
    Offered,
    Required,
    RoomEvent,
    Started,
    TookBack,
)
from server.rooms import clock, permissions, refusals, takebacks
from server.rooms.evolve import position_at
from server.rooms.matches import check_control, clocks_of, end_match, start_match
from server.rooms.model import (
    SEAT_ORDERS,
    ActorKind,
    CommandRejected,
    FindGame,
    Match,
    Moment,
    NextOffer,
    Room,
    Rule,
)
from server.rooms.permissions import (
    check,
    game_of,
    own_seat,
    playable_position,
    require_running_match,
    viewer_of,
)
from server.rooms.seats import DEFAULT_STRATEGY, wished_occupant
from server.rooms.starts import check_start
from server.time_controls import format_control


def claim(room: Room, command: Claim, moment: Moment) -> list[RoomEvent]:
    seat = own_seat(room, moment.actor)
    match = require_running_match(room)
    position = playable_position(room, match)
    reason = position.claim() if match.turn == seat else None
    if reason is None:
        raise CommandRejected(
            Code.CLAIM_NONE,
            "there is no draw to claim: it must be your turn, and the rules must allow it",
        )
    return [end_match(match, None, "claim", reason, moment.received_ms)]


def offer_draw(room: Room, command: OfferDraw, moment: Moment) -> list[RoomEvent]:
    check(permissions.offer_draw(room, viewer_of(room, moment.actor.identity)))
    seat, match = own_seat(room, moment.actor), require_running_match(room)
    agrees = 1 - seat in room.offers or room.one_screen
    return [_agree_draw(match, moment)] if agrees else [Offered(seat, "draw")]


def takeback(room: Room, command: Takeback, moment: Moment) -> list[RoomEvent]:
    check(permissions.takeback(room, viewer_of(room, moment.actor.identity)))
    seat, match = own_seat(room, moment.actor), require_running_match(room)
    to_ply = takebacks.takeback_ply(room, match, seat)
    assert to_ply is not None, "without a move to take back the command is refused"
    if not to_ply < command.ply <= match.ply:
        raise CommandRejected(
            Code.MOVE_STALE, f"the position is another one: {match.ply} plies are played"
        )
    if takebacks.takes_back_at_once(room, match, seat):
        return [_take_back(room, match, to_ply, seat, moment)]
    return [Offered(seat, "takeback", to_ply)]


def _take_back(room: Room, match: Match, to_ply: int, seat: int, moment: Moment) -> TookBack:
    """Returns the event of a takeback that a seat wanted."""
    position = position_at(room, match, to_ply)
    event = TookBack(match.id, to_ply, seat, position.digest())
    if match.clock is None:
        return event
    # An AI is charged its own search only, which is over when it moves: it may still wait for one.
    is_ai = match.seats[match.clock.turn].kind == "ai"
    at_ms = match.clock.since_ms if is_ai else moment.received_ms
    taken = clock.take_back(match.clock, to_ply, position.turn, at_ms)
    stages, periods = clock.pairs_of(taken)
    return replace(
        event, clocks_ms=clocks_of(taken.sides), stages=stages, periods=periods,
        used_ms=taken.turn_ms,
    )  # fmt: skip


def accept(room: Room, command: Accept, moment: Moment) -> list[RoomEvent]:
    viewer = viewer_of(room, moment.actor.identity)
    check(permissions.accept(room, viewer, command.what))
    opponent = 1 - own_seat(room, moment.actor)
    offer = takebacks.takeback_offer_of(room, opponent)
    is_other_open = opponent in room.offers and command.what in (None, "draw", "rematch")
    if offer is not None and not is_other_open:
        match = require_running_match(room)
        if command.ply not in (None, match.ply):
            check(refusals.NO_OFFER_BY_OPPONENT)
        return [_take_back(room, match, offer.to_ply, opponent, moment)]
    if room.running_match is not None:
        return [_agree_draw(room.running_match, moment)]
    return rematch(room, command, moment) if is_other_open else _accept_next(room, command, moment)


def ai_reply(room: Room, command: AiReply, moment: Moment) -> list[RoomEvent]:
    match = require_running_match(room)
    if moment.actor.kind is not ActorKind.AI:
        raise CommandRejected(Code.SEAT_NONE, "only the AI answers for the AI")
    if match.id != command.match or room.ai_to_answer_draw() != command.seat:
        raise CommandRejected(Code.OFFER_NONE, "the offer is not open any more")
    return [_agree_draw(match, moment)] if command.accept else [Declined(command.seat, "draw")]


def _agree_draw(match: Match, moment: Moment) -> Finished:
    reason = "both sides agreed to it"
    return end_match(match, None, "agreement", reason, moment.received_ms)


def rematch(room: Room, command: Rematch | Accept, moment: Moment) -> list[RoomEvent]:
    viewer = viewer_of(room, moment.actor.identity)
    check(permissions.rematch(room, viewer))
    if not permissions.starts_rematch(room, viewer):
        return [Offered(own_seat(room, moment.actor))]
    occupants = [holder for holder in reversed(room.seats) if holder is not None]
    return [start_match(room, game_of(room), occupants, moment)]


def decline(room: Room, command: Decline, moment: Moment) -> list[RoomEvent]:
    check(permissions.decline(room, viewer_of(room, moment.actor.identity), command.what))
    seat = own_seat(room, moment.actor)
    return [Declined(seat, command.what or _open_offer(room))]


def _open_offer(room: Room) -> str:
    """What is declined by a player who does not say what."""
    if room.offers:
        return permissions.draw_or_rematch(room)
    return "takeback" if room.takeback_offers else "next"


# --- the next game ------------------------------------------------------------------------------


def next_game(room: Room, command: NextGame, moment: Moment) -> list[RoomEvent]:
    viewer = viewer_of(room, moment.actor.identity)
    check(permissions.next_game(room, viewer))
    if command.seats not in SEAT_ORDERS:
        raise CommandRejected(
            Code.MESSAGE_MALFORMED, "seats names each seat once: [0, 1] or [1, 0]"
        )
    if command.level is not None and not room.has_ai:
        check(refusals.NO_AI)
    game = _find(moment.find_game, command.game)
    options = dict(check_start(game, command.options, None).options)
    text = None if command.clock is None else format_control(check_control(command.clock))
    offer = NextOffer(
        room.v + 1, viewer.seat or 0, game.id, options, command.seats, command.level, game.title,
        game.options_text(options), text,
    )  # fmt: skip
    # Made before the opponent is asked: a match that cannot start is refused at once.
    events = _start_next(room, game, offer, moment)
    if permissions.starts_at_once(room, viewer):
        return events
    offered = Offered(
        offer.seat, "next", game=offer.game, options=options, seats=offer.seats,
        level=offer.level, title=offer.title, options_text=offer.options_text or None,
        clock=text,
    )  # fmt: skip
    return [offered, *_clock_requirement(room, text)]


def _clock_requirement(room: Room, text: str | None) -> list[RoomEvent]:
    """The event that follows the first one of a room that names a clock: to a program that does not
    define clocks it makes the room `room.newer`.
    """
    is_first = text not in (None, format_control(None)) and not room.requires_clock
    return [Required(CLOCK)] if is_first else []


def _accept_next(room: Room, command: Accept, moment: Moment) -> list[RoomEvent]:
    offer = room.next_offer
    if offer is None or command.v != offer.v:
        check(refusals.NEXT_REPLACED)
    assert offer is not None, "no offer is a reason to refuse"
    return _start_next(room, _find(moment.find_game, offer.game), offer, moment)


def _find(find_game: FindGame, game_id: str) -> Game:
    """The game with an id. Raises CommandRejected without one, and GameFault for a broken one."""
    try:
        return find_game(game_id)
    except UnknownGame as error:
        raise CommandRejected(Code.GAME_UNKNOWN, str(error)) from error
    except GameHung:
        raise
    except Exception as error:  # a plug-in's file may raise anything while it is imported
        raise GameFault(f"the game {game_id} cannot be loaded: {error}") from error


def _start_next(room: Room, game: Game, offer: NextOffer, moment: Moment) -> list[RoomEvent]:
    """Returns the events that start the proposed match.

    Programs that read a match by the room's game would misread it, so the log says first that the
    room requires matches of different games.
    """
    is_other = (game.id, offer.options) != (room.game_id, room.options)
    if is_other:
        room = replace(room, game=game, game_id=game.id, options=offer.options, start=None)
    check_start(game, offer.options, room.start)
    if offer.clock is not None:
        room = replace(room, control=check_control(offer.clock))
    occupants: list[Occupant] = []
    for seat in offer.seats:
        holder = room.seats[seat]
        assert holder is not None, "an empty seat is a reason to refuse"
        if holder.kind == "ai" and (is_other or offer.level is not None):
            wish = _next_ai(game, holder, offer.level)
            holder = wished_occupant(game, offer.options, wish, occupants)
        occupants.append(holder)
    started: Started = start_match(room, game, occupants, moment)
    events: list[RoomEvent] = []
    if is_other:
        options = dict(offer.options)
        started = replace(started, game=game.id, options=options, title=game.title)
        events += [] if room.requires_games else [Required(GAMES)]
    if any(each.strategy is not None and each not in room.seats for each in occupants):
        events.append(Required(STRATEGIES))
    return [*events, started, *_clock_requirement(room, started.clock)]


def _next_ai(game: Game, holder: Occupant, level: int | None) -> AiSeat:
    """The wish for an AI that goes on in another game, or at another level.

    An AI at a level that the game does not have plays at its highest one; a game without levels is
    played by a strategy.
    """
    if level is not None:
        return AiSeat(level)
    if game.rules.SEARCH == "teach" or holder.strategy is not None:
        return AiSeat(strategy=holder.strategy or DEFAULT_STRATEGY, depth=holder.depth)
    if holder.persona is not None:
        return AiSeat(persona=cast(Persona, holder.persona))
    return AiSeat(min(holder.level or 1, game.levels))


#: The rules of this module.
RULES: dict[type[Command], Rule] = {
    Claim: claim,
    OfferDraw: offer_draw,
    Takeback: takeback,
    Accept: accept,
    AiReply: ai_reply,
    Rematch: rematch,
    NextGame: next_game,
    Decline: decline,
}
