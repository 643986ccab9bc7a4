"""The rules for draws, rematches and takebacks: claims, offers, and answers to offers."""

from msgspec.structs import replace

from server.codes import Code
from server.commands import Accept, AiReply, Claim, Command, Decline, OfferDraw, Rematch, Takeback
from server.events import Declined, Finished, Offered, RoomEvent, TookBack
from server.rooms import clock, permissions, refusals, takebacks
from server.rooms.evolve import position_at
from server.rooms.matches import clocks_of, end_match, start_match
from server.rooms.model import ActorKind, CommandRejected, Match, Moment, Room, Rule
from server.rooms.permissions import (
    check,
    game_of,
    own_seat,
    playable_position,
    require_running_match,
    viewer_of,
)


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
    control = match.clock.control
    sides = clock.take_back(match.clock, to_ply, position.turn, moment.received_ms).sides
    first, second = (clock.counts_of(control, side) for side in sides)
    return replace(
        event, clocks_ms=clocks_of(sides), stages=_pair(first.stage, second.stage),
        periods=_pair(first.periods, second.periods),
    )  # fmt: skip


def _pair(first: int | None, second: int | None) -> tuple[int, int] | None:
    return None if first is None or second is None else (first, second)


def accept(room: Room, command: Accept, moment: Moment) -> list[RoomEvent]:
    viewer = viewer_of(room, moment.actor.identity)
    check(permissions.accept(room, viewer, command.what))
    opponent = 1 - own_seat(room, moment.actor)
    offer = takebacks.takeback_offer_of(room, opponent)
    is_other_open = opponent in room.offers and command.what != "takeback"
    if offer is not None and not is_other_open:
        match = require_running_match(room)
        if command.ply not in (None, match.ply):
            check(refusals.NO_OFFER_BY_OPPONENT)
        return [_take_back(room, match, offer.to_ply, opponent, moment)]
    if room.running_match is not None:
        return [_agree_draw(room.running_match, moment)]
    return rematch(room, command, moment)


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
    what = command.what or (permissions.draw_or_rematch(room) if room.offers else "takeback")
    return [Declined(seat, what)]


#: The rules of this module.
RULES: dict[type[Command], Rule] = {
    Claim: claim,
    OfferDraw: offer_draw,
    Takeback: takeback,
    Accept: accept,
    AiReply: ai_reply,
    Rematch: rematch,
    Decline: decline,
}
