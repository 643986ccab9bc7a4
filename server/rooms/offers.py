"""Draws and rematches: claims, offers, and the answers to them."""

from engine.view import SEATS
from server.codes import Code
from server.rooms.commands import Accept, AiReply, Claim, Decline, OfferDraw, Rematch
from server.rooms.conditions import game_of, has_only_ai, own_seat, playable_position, running_match
from server.rooms.events import Declined, Finished, Offered, RoomEvent
from server.rooms.matches import end_match, start_match
from server.rooms.model import ActorKind, CommandRejected, Match, Moment, Room

#: Plies before a player may offer a draw again, so that repeated offers do not harass the
#: opponent.
OFFER_AGAIN_PLIES = 10


def claim(room: Room, command: Claim, moment: Moment) -> list[RoomEvent]:
    seat = own_seat(room, moment.actor)
    match = running_match(room)
    position = playable_position(room, match)
    reason = position.claim() if match.turn == seat else None
    if reason is None:
        raise CommandRejected(
            Code.CLAIM_NONE,
            "there is no draw to claim: it must be your turn, and the rules must allow it",
        )
    return [end_match(match, None, "claim", reason)]


def offer_draw(room: Room, command: OfferDraw, moment: Moment) -> list[RoomEvent]:
    seat = own_seat(room, moment.actor)
    match = running_match(room)
    if 1 - seat in room.offers:
        return [_agree_draw(match)]
    plies_to_wait = match.draw_offers[seat] + OFFER_AGAIN_PLIES - match.ply
    if match.draw_offers[seat] >= 0 and plies_to_wait > 0:
        raise CommandRejected(
            Code.OFFER_TWICE, f"you may offer a draw again after {plies_to_wait} more plies"
        )
    return [Offered(seat, "draw")]


def accept(room: Room, command: Accept, moment: Moment) -> list[RoomEvent]:
    seat = own_seat(room, moment.actor)
    if 1 - seat not in room.offers:
        raise CommandRejected(Code.OFFER_NONE, "the other side has not offered anything")
    if room.playing is not None:
        return [_agree_draw(room.playing)]
    return rematch(room, command, moment)


def ai_reply(room: Room, command: AiReply, moment: Moment) -> list[RoomEvent]:
    match = running_match(room)
    if moment.actor.kind is not ActorKind.AI:
        raise CommandRejected(Code.SEAT_NONE, "only the AI answers for the AI")
    if match.id != command.match or room.ai_to_answer_draw() != command.seat:
        raise CommandRejected(Code.OFFER_NONE, "the offer is not open any more")
    return [_agree_draw(match)] if command.accept else [Declined(command.seat, "draw")]


def _agree_draw(match: Match) -> Finished:
    return end_match(match, None, "agreement", "both sides agreed to it")


def rematch(room: Room, command: Rematch | Accept, moment: Moment) -> list[RoomEvent]:
    if room.match is None:
        raise CommandRejected(Code.MATCH_NONE, "there has been no match yet")
    if room.match.over is None:
        raise CommandRejected(Code.MATCH_RUNNING, "the match is still running")
    game = game_of(room)
    occupants = [holder for holder in room.seats if holder is not None]
    if len(occupants) < SEATS:
        raise CommandRejected(Code.SEAT_EMPTY, "a seat is empty")
    seat = room.seat_of(moment.actor.identity)
    if seat is None and not (moment.actor.identity == room.host and has_only_ai(room)):
        raise CommandRejected(
            Code.SEAT_NONE,
            "only a player may offer a rematch, or the host of a match between AI seats",
        )
    if seat is not None and occupants[1 - seat].kind != "ai" and (1 - seat) not in room.offers:
        if seat in room.offers:
            raise CommandRejected(Code.OFFER_TWICE, "you have offered a rematch already")
        return [Offered(seat)]
    return [start_match(room, game, occupants[::-1], moment)]


def decline(room: Room, command: Decline, moment: Moment) -> list[RoomEvent]:
    seat = own_seat(room, moment.actor)
    if not room.offers:
        raise CommandRejected(Code.OFFER_NONE, "no offer is open")
    return [Declined(seat, "draw" if room.playing is not None else "rematch")]
