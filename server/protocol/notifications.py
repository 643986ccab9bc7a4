"""What waits for a player in a room, in a sentence for those who are elsewhere. Pure functions."""

from server.bidi import isolated
from server.protocol import messages as wire
from server.rooms.model import Room

#: What waits, in a sentence about the opponent's `name` and the game's `title`.
_SENTENCES = {
    "turn": "It is your turn in {title} against {name}.",
    "started": "Your match of {title} against {name} has begun.",
    "over": "Your match of {title} against {name} is over.",
    "draw": "{name} offers a draw in {title}.",
    "takeback": "{name} asks for a takeback in {title}.",
    "rematch": "{name} offers a rematch of {title}.",
    "next": "{name} proposes {title} as the next game.",
}


def of_room(
    room: Room, identity: str, *, has_ended: bool = False, title: str | None = None
) -> wire.Notification:
    """What waits for a person in a room: nothing without another person on the other seat.

    `has_ended` says that the match has ended just now, which is news until something else waits.
    `title` is that of the room's game, where the room does not have it.
    """
    seats = [number for number, each in enumerate(room.seats) if each and each.identity == identity]
    match, seat = room.match, seats[0] if seats else None
    other = None if seat is None else room.seats[1 - seat]
    if match is None or seat is None or other is None or other.kind == "ai" or len(seats) > 1:
        return wire.Notification(room=room.id)
    if match.over is not None:
        what = next((offer.what for offer in open_offers(room) if offer.seat != seat), "")
        what = what or ("over" if has_ended else "")
    elif any(request.seat != seat for request in room.takeback_offers):
        what = "takeback"
    elif 1 - seat in room.offers:
        what = "draw"
    elif match.ply == 0:
        what = "started"
    else:
        what = "turn" if match.turn == seat else ""
    is_next = what == "next" and room.next_offer is not None
    title = room.next_offer.title if is_next and room.next_offer else title or _title(room)
    return _about(room.id, what, other.name, title)


def _about(room: str, what: str, name: str, title: str) -> wire.Notification:
    """The notification of what waits in a room, without text where nothing does."""
    sentence = _SENTENCES.get(what)
    if sentence is None:
        return wire.Notification(room=room)
    text = sentence.format(name=isolated(name), title=title)
    return wire.Notification(room=room, what=what, text=text)


def open_offers(room: Room) -> tuple[wire.OpenOffer, ...]:
    """The open offers of the room's next match."""
    if room.match is None or room.match.over is None:
        return ()
    proposed = (
        ()
        if room.next_offer is None
        else (wire.OpenOffer(room.next_offer.seat, "next", room.next_offer.title),)
    )
    return (*[wire.OpenOffer(seat, "rematch") for seat in room.offers], *proposed)


def of_entry(summary: wire.RoomSummary, seat: int) -> wire.Notification:
    """The opponent's offer in a room between two matches, from its entry."""
    other = summary.seats[1 - seat]
    for offer in summary.offers:
        if offer.seat != seat and other is not None and other.kind != "ai":
            return _about(summary.room, offer.what, other.name, offer.title or summary.title)
    return wire.Notification(room=summary.room)


def _title(room: Room) -> str:
    return room.game.title if room.game else room.game_id
