"""The browser's model against the server's rooms: the same history makes the same room."""

import json
import random
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page

from engine.rules.registry import load_game
from server.protocol import messages as wire
from server.protocol.codec import event_frame, format_event_body, format_message
from server.rooms.model import Actor, CommandRejected, Room
from server.rooms.rules import create, decide, evolve, initial_room
from server.rooms.views import snapshot
from tests.support.browser import open_chromium, open_files

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

HEAD = {"id": "x", "room": "r"}
PEOPLE = (Actor("ada", "Ada"), Actor("bob", "Bob"))
CELLS = [f"{column}{row}" for row in "123" for column in "abc"]

FOLD = """async (histories) => {
    const { EMPTY, apply, follow } = await import("/client/web/model.js");
    const known = ({ v, gap, seats, match, offers, chat }) => (
        { v, gap, seats, match, offers, chat }
    );
    return histories.map((messages) => {
        let model = follow(EMPTY, "r");
        return messages.map((message) => known((model = apply(model, message)).room));
    });
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page() -> AsyncIterator[Page]:
    async with open_chromium() as browser:
        yield await open_files(browser)


DECISIONS = (
    wire.Stand, wire.Resign, wire.Abort, wire.Rematch, wire.Decline, wire.OfferDraw, wire.Accept,
    wire.Claim,
)  # fmt: skip


def some_command(chance: random.Random, room: Room) -> wire.RoomCommand:
    """A random command, more often one that is accepted."""
    ply = room.match.ply if room.match else 0
    seat = chance.randrange(2)
    return chance.choice(
        [
            *(wire.Move(ply=ply, move=chance.choice(CELLS), **HEAD) for _ in range(6)),
            *(wire.Sit(seat=seat, **HEAD) for _ in range(3)),
            wire.Chat(
                text=chance.choice(["hello", "<b>x</b>"]),
                to=chance.choice(["room", "spectators"]),
                **HEAD,
            ),
            wire.AddAi(seat=seat, level=1, persona=None, **HEAD),
            wire.RemoveAi(seat=seat, **HEAD),
            *(kind(**HEAD) for kind in DECISIONS),
        ]
    )


def some_history(seed: int) -> list[tuple[Room, dict[str, Any]]]:
    """Events as they are on the wire, each with the server's room after it."""
    chance = random.Random(seed)
    ids = map(str, count())
    seats = (wire.OpenSeat(), wire.OpenSeat())
    opening = wire.Create(id="c", game="tic-tac-toe", seats=seats)
    room: Room | None = None
    history: list[tuple[Room, dict[str, Any]]] = []
    events: list[wire.RoomEvent] = create(
        PEOPLE[0], opening, load_game("tic-tac-toe"), lambda: next(ids)
    )
    for _ in range(60):
        for event in events:
            room = (
                evolve(room, event, room.v + 1) if room else initial_room("r", event, 0, load_game)
            )
            frame = event_frame("r", room.v, room.v, format_event_body(event))
            history.append((room, json.loads(frame)))
        assert room is not None
        try:
            events = decide(
                room, chance.choice(PEOPLE), some_command(chance, room), lambda: next(ids)
            )
        except CommandRejected:
            events = []
    return history


def as_snapshot(room: Room) -> dict[str, Any]:
    """The room as a spectator receives it."""
    return json.loads(format_message(snapshot(room, player=False)))  # type: ignore[no-any-return]


def as_known(room: Room) -> dict[str, Any]:
    """The room as the model should have it."""
    seen = as_snapshot(room)
    return {
        "offers": [],
        "chat": [],
        **{name: seen[name] for name in seen if name not in ("t", "room")},
        "gap": False,
    }


HISTORIES = [some_history(seed) for seed in range(80)]


async def test_events_make_the_room_that_the_server_has(page: Page) -> None:
    """The models agree after each event of many histories."""
    folded = await page.evaluate(FOLD, [[event for _, event in history] for history in HISTORIES])
    assert folded == [[as_known(room) for room, _ in history] for history in HISTORIES]
    assert {event["kind"] for history in HISTORIES for _, event in history} >= {
        "finished",
        "offered",
        "declined",
        "said",
    }


async def test_a_snapshot_anywhere_and_the_events_after_it_make_the_same_room(page: Page) -> None:
    """Some of the events before it are repeated in any order, as a resumed connection may do."""
    chance = random.Random(1)
    messages, expected = [], []
    for history in HISTORIES:
        at = chance.randrange(len(history))
        again = [event for _, event in chance.sample(history[: at + 1], min(5, at + 1))]
        messages.append(
            [as_snapshot(history[at][0]), *again, *(event for _, event in history[at + 1 :])]
        )
        expected.append(as_known(history[-1][0]))
    folded = await page.evaluate(FOLD, messages)
    assert [rooms[-1] for rooms in folded] == expected


async def test_a_missing_event_is_noticed_and_a_snapshot_repairs_it(page: Page) -> None:
    """From any missing event to the snapshot, the room stays unchanged and reports a gap."""
    chance = random.Random(2)
    messages, gaps, expected = [], [], []
    for history in HISTORIES:
        missing = chance.randrange(1, len(history) - 1)
        events = [event for _, event in history]
        messages.append([*events[:missing], *events[missing + 1 :], as_snapshot(history[-1][0])])
        gaps.append(missing)
        expected.append(as_known(history[-1][0]))
    folded = await page.evaluate(FOLD, messages)
    for rooms, missing, whole in zip(folded, gaps, expected, strict=True):
        assert [(room["v"], room["gap"]) for room in rooms[missing:-1]] == [(missing, True)] * (
            len(rooms) - missing - 1
        )
        assert rooms[-1] == whole
