"""The contract of server/store/base.py: names and lines of earlier versions are read clean."""

from typing import Any

import msgspec
from msgspec.structs import replace

from server.events import (
    AiTookOver,
    Muted,
    Occupant,
    Player,
    PlayerReturned,
    Renamed,
    Said,
    SeatTaken,
    Started,
    Unmuted,
    format_event_body,
    parse_event_body,
)
from server.ids import IdentityId, MatchId
from server.rooms.names import shown_name
from server.store.base import EVERYONE, Append, CommandKey, Identity, Listing, Store, StoredEvent
from tests.support.log_entries import NOW_MS, finished, new_room, started

AI = Occupant("ai", "AI level 5", "ai", 5)
#: What earlier versions stored for a person, and what others see now.
STORED = {
    "zoe": ("Z\u3164oe\u0308" + 9 * "\u0334", "Zo\u00eb" + 3 * "\u0334"),
    "bot2": ("Plyroom", shown_name("bot2", "Plyroom")),
    "five": ("Level 5", shown_name("five", "Level 5")),
    "none": ("\u2800", shown_name("none", "")),
    "ann": ("Ann", "Ann"),
}
encode = msgspec.json.encode


def named(identity: str, is_stored: bool) -> Any:
    """All events that name a person, as they are stored or as they are shown."""
    name = STORED[identity][0 if is_stored else 1]
    text = "hi\u3164 \u202ethere" if is_stored else "hi there"
    person, kept = Occupant(identity, name), replace(AI, kept_for=Player(identity, name))
    return [
        SeatTaken(0, person), Started("m1", 1, "start", "rules", (person, AI)),
        AiTookOver("m1", 0, 3, kept), PlayerReturned("m1", 0, 4, person), Renamed(identity, name),
        Muted(identity, name), Unmuted(identity, name), Said(identity, name, text),
        Said("bot", "Plyroom", "AI level 5 played", by="bot", answers=1),
    ]  # fmt: skip


async def test_events_are_read_with_clean_names_and_lines(store: Store) -> None:
    """Each event that names a person has the clean name, and the same bytes if it was clean."""
    await store.logs.create_room(new_room("r1", count=1))
    v = 1
    for identity in STORED:
        for before, after in zip(named(identity, True), named(identity, False), strict=True):
            event = StoredEvent(v + 1, NOW_MS, EVERYONE, format_event_body(before))
            await store.logs.append(
                Append("r1", v, (event,), "n1", None, CommandKey("ann", f"{v}"))
            )
            [read] = await store.logs.events("r1", v, 1)
            assert parse_event_body(read.body) == after
            assert before != after or read == event
            v += 1


async def test_rooms_and_matches_are_read_with_clean_names(store: Store) -> None:
    """The lobby's entries and the list of matches have clean names, those of an AI unchanged."""
    for identity, (stored, shown) in STORED.items():
        room, match = f"room {identity}", f"match {identity}"
        kept = replace(AI, kept_for=Player(identity, stored))
        seats = encode([Occupant(identity, stored), kept])
        begin = replace(started(match), seats=seats, first=identity)
        over = encode({"winner": 0, "substitutions": [{"ply": 1, "seat": 0, "occupant": kept}]})
        end = replace(finished(match), over=over)
        summary = encode({"room": room, "seats": [None, Occupant(identity, stored)]})
        await store.logs.create_room(
            new_room(room, host=identity, projections=(begin, end, Listing(True, summary)))
        )
        row = await store.projections.match(MatchId(match))
        assert row is not None
        clean = replace(AI, kept_for=Player(identity, shown))
        assert msgspec.json.decode(row.seats, type=list[Occupant]) == [
            Occupant(identity, shown), clean,
        ]  # fmt: skip
        assert msgspec.json.decode(row.over or b"")["substitutions"][0]["occupant"] == (
            msgspec.to_builtins(clean)
        )
        [hosted] = await store.projections.hosted_rooms(IdentityId(identity), 0, 9)
        assert msgspec.json.decode(hosted.summary)["seats"] == [
            None, msgspec.to_builtins(Occupant(identity, shown)),
        ]  # fmt: skip
        [own] = await store.projections.player_matches(identity, 9, 9)
        assert own.seats == row.seats
    rows = (await store.projections.matches(9, None)).rows
    assert {msgspec.json.decode(row.seats)[0]["name"] for row in rows} == {
        shown for _, shown in STORED.values()
    }
    assert len(await store.projections.rooms(9)) == len(STORED)


async def test_identities_are_read_with_clean_names(store: Store) -> None:
    """An identity has the clean name, found by its token and by its id."""
    for identity, (stored, shown) in STORED.items():
        key = IdentityId(identity)
        await store.identities.add_guest(Identity(key, stored), identity.encode(), NOW_MS)
        for found in (
            await store.identities.by_token(identity.encode()), await store.identities.find(key)
        ):  # fmt: skip
            assert found is not None
            assert found.name == shown
