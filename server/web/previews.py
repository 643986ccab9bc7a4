"""The title and the sentence that a chat shows for a link to a room or a match (Open Graph).

Only public rooms have their own. All other links, also to rooms that do not exist, have the
same one, so a link reveals nothing of an unlisted room.
"""

import msgspec
from msgspec import Struct

from engine.teach.lessons.catalogue import LESSONS, load_lesson, present_name
from server.bidi import isolated
from server.events import (
    Created,
    Finished,
    Occupant,
    SeatLeft,
    SeatTaken,
    Started,
    parse_event_body,
)
from server.ids import MatchId
from server.ports import Ports
from server.store.base import StoreUnavailable

#: Events at the start of a room's log that are read for the names of its players.
READ_EVENTS = 250


class Preview(Struct, frozen=True):
    """What a link shows: a title and a sentence; and the names of the parts of the page that a
    browser likely needs.
    """

    title: str
    text: str
    parts: tuple[str, ...] = ()


#: The parts of a room's page (client/web/pages/room/later.js).
INVITATION, THINKING, CLOCK = "invitation", "thinking", "clock"


class _Name(Struct):
    """The part of an occupant that a preview shows."""

    name: str


#: The preview of every page without its own. Most rooms without one are opened by an invitation.
GENERAL = Preview(
    "Plyroom",
    "Play board games against each other and against an AI whose thinking anyone can watch.",
    (INVITATION,),
)

#: The preview of a page that does not exist.
MISSING = Preview("There is nothing here", "This address is not a page of this Plyroom.")
#: The previews of the pages that need no id, by their paths.
PAGE_PREVIEWS = {
    "/learn": Preview(
        "Learn how a computer searches a game",
        "Lessons from the first cut-off to whole games, each a search to step through.",
    ),
    "/listings": Preview(
        "The printed listings, and what to correct in them",
        "Each printed search algorithm as it is typed, run beside the right one.",
    ),
    "/glass": Preview(
        "Glass box",
        "Watch a game search step by step: windows, bounds and cut-offs, on any position.",
    ),
}


async def room_preview(ports: Ports, room_id: str) -> Preview:
    """The game and the players of a public room: those of its last match, and before it those of
    the first READ_EVENTS events of its log.
    """
    try:
        entries = await ports.store.logs.events(room_id, 0, READ_EVENTS)
        latest = await ports.store.projections.room_matches(room_id, 1) if entries else []
    except StoreUnavailable:
        return GENERAL
    created = parse_event_body(entries[0].body) if entries else None
    if not isinstance(created, Created) or created.visibility != "public":
        return GENERAL
    seated: dict[int, Occupant] = {}
    clock = created.clock
    has_match = len(entries) == READ_EVENTS  # a room invites until its first match
    for entry in entries:
        match parse_event_body(entry.body):
            case SeatTaken(seat=seat, occupant=occupant):
                seated[seat] = occupant
            case SeatLeft(seat=seat):
                seated.pop(seat, None)
            case Started(seats=seats, clock=clock):
                seated = dict(enumerate(seats))
                has_match = True
            case Finished(how="abort"):
                has_match = False
            case _:
                pass
    if latest and len(entries) == READ_EVENTS:
        seated = dict(enumerate(msgspec.json.decode(latest[0].seats, type=list[Occupant])))
    names = {seat: occupant.name for seat, occupant in seated.items()}
    title = _title_of(ports, latest[0].game if latest else created.game)
    has_ai = any(occupant.kind == "ai" for occupant in seated.values())
    parts = (CLOCK,) if clock is not None else (THINKING,) if has_ai else ()
    if len(names) >= 2:
        return Preview(f"{title}: {_versus(names)}", "Watch the match in your browser.", parts)
    text = "Play in your browser, without an account."
    subject = f"{title}: {_versus(names)} invites you" if names else title
    return Preview(subject, text, parts if has_match else (INVITATION, *parts))


async def match_preview(ports: Ports, match_id: str) -> Preview:
    """The game and the players of a match in a public room."""
    try:
        match = await ports.store.projections.match(MatchId(match_id))
        entries = await ports.store.logs.events(match.room, 0, 1) if match else []
    except StoreUnavailable:
        return GENERAL
    created = parse_event_body(entries[0].body) if entries else None
    if match is None or not isinstance(created, Created) or created.visibility != "public":
        return GENERAL
    seats = msgspec.json.decode(match.seats, type=list[_Name | None])
    names = {seat: occupant.name for seat, occupant in enumerate(seats) if occupant is not None}
    return Preview(
        f"{_title_of(ports, match.game)}: {_versus(names)}",
        "Replay the match move by move, with what the AI was thinking.",
    )


async def lesson_preview(ports: Ports, name: str) -> Preview:
    """The title of a lesson and what it shows; MISSING if there is no such lesson."""
    if present_name(name) not in LESSONS:
        return MISSING
    lesson = load_lesson(name)
    return Preview(f"{lesson.title}: a lesson", lesson.summary)


def _versus(names: dict[int, str]) -> str:
    return " against ".join(isolated(names[seat]) for seat in sorted(names))


def _title_of(ports: Ports, game_id: str) -> str:
    try:
        return ports.find_game(game_id).title
    except Exception:  # a plug-in may raise anything; this one may be missing
        return game_id
