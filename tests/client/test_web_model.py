"""The browser's model (client/web/shell/model.js) equals the server's room after equal events."""

import json
import random
from collections.abc import AsyncIterator
from functools import cache
from itertools import count
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from engine.rules.registry import load_game
from server.commands import (
    Abort,
    Accept,
    AddAi,
    Bar,
    CallDraw,
    Chat,
    Claim,
    ClaimWin,
    Command,
    Create,
    Decline,
    LetAiPlay,
    Move,
    NextGame,
    OfferDraw,
    OpenSeat,
    ReclaimSeat,
    Rematch,
    RemoveAi,
    Rename,
    Resign,
    Sit,
    Stand,
    Takeback,
)
from server.events import RoomEvent, format_event_body
from server.ids import IdentityId, RoomId
from server.protocol.codec import event_frame, format_message
from server.protocol.views import snapshot
from server.rooms.clock import SideClock, sides_at
from server.rooms.model import (
    SERVER,
    Absence,
    Actor,
    CommandRejected,
    Moment,
    Room,
    nobody_absent,
)
from server.rooms.rules import create, decide, evolve, initial_room
from tests.server.test_newer_logs import states
from tests.support import golden_logs
from tests.support.browser import open_files
from tests.support.room_log import SETTINGS

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

#: The field that every command of a room has.
HEAD: dict[str, Any] = {"id": "x"}
ROOM = RoomId("r")
PEOPLE = (Actor(IdentityId("ada"), "Ada"), Actor(IdentityId("bob"), "Bob"))
CELLS = [*(f"{column}{row}" for row in "123" for column in "abc"), "a", "b", "1x1", "2x1", "3x1"]

#: A script that applies each list of messages to an empty model; it returns the room after each
#: message.
APPLY_ALL = """async (histories) => {
    const { EMPTY_MODEL, apply, follow } = await import("/client/web/shell/model.js");
    const { seriesOf } = await import("/client/web/pages/room/after.js");
    const pick = (room) => {
        const { v, gap, seats, match, offers, takebacks, next, chat, barred } = room;
        const { t, room: _, kind, at, ...proposal } = next ?? {};
        const proposals = takebacks.concat(next ? [proposal] : []);
        return { v, gap, seats, match, offers, chat, barred, proposals, series: seriesOf(room) };
    };
    return histories.map((messages) => {
        let model = follow(EMPTY_MODEL, "r");
        return messages.map((message) => pick((model = apply(model, message)).room));
    });
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def page(chromium: Browser) -> AsyncIterator[Page]:
    async with open_files(chromium) as page:
        yield page


#: Commands without arguments.
PLAIN_COMMANDS: tuple[type[Command], ...] = (
    Stand, Resign, Abort, Rematch, Decline, OfferDraw, Accept,
    Claim, ClaimWin, CallDraw, *[LetAiPlay] * 4, *[ReclaimSeat] * 4,
)  # fmt: skip


def random_command(rng: random.Random, room: Room) -> Command:
    """Returns a random command, most often a move or `sit`, which the server often accepts."""
    ply = room.match.ply if room.match else 0
    seat, v = rng.randrange(2), room.next_offer.v if room.next_offer else None
    return rng.choice(
        [
            *(Move(ply=ply, move=rng.choice(CELLS), **HEAD) for _ in range(6)),
            *(Sit(seat=seat, **HEAD) for _ in range(3)),
            Chat(
                text=rng.choice(["hello", "<b>x</b>"]),
                to=rng.choice(["room", "spectators"]),
                **HEAD,
            ),
            AddAi(
                seat=seat, level=1, persona=None, strategy=None, depth=None, evaluator=None, **HEAD
            ),
            RemoveAi(seat=seat, **HEAD),
            *(command_type(**HEAD) for command_type in PLAIN_COMMANDS),
            Rename(**HEAD, identity=rng.choice(PEOPLE).identity, name=rng.choice(["Al", "Bo"])),
            *(Takeback(ply=ply, **HEAD) for _ in range(3)),
            *(Accept(what="takeback", **HEAD) for _ in range(3)),
            Decline(what="takeback", **HEAD),
            *(
                NextGame(
                    game=rng.choice(["tic-tac-toe", "sticks", "connect-four"]),
                    seats=rng.choice([(0, 1), (1, 0)]),
                    level=rng.choice([None, None, 2]),
                    **HEAD,
                )
                for _ in range(4)
            ),
            *(Accept(what="next", v=v, **HEAD) for _ in range(4)),
            Decline(what="next", **HEAD),
            Bar(identity=PEOPLE[1].identity, **HEAD),
        ]
    )


def everyone_gone(_identity: IdentityId) -> Absence:
    """The absence of a player who has gone long ago."""
    return Absence(0, 0)


def random_history(seed: int) -> list[tuple[Room, dict[str, Any]]]:
    """Returns events as the client receives them, each with the server's room after it."""
    rng = random.Random(seed)
    ids = map(str, count())
    seats = (OpenSeat(), OpenSeat())
    opening = Create(id="c", game="tic-tac-toe", seats=seats)
    room: Room | None = None
    history: list[tuple[Room, dict[str, Any]]] = []
    events: list[RoomEvent] = create(
        PEOPLE[0], opening, load_game("tic-tac-toe"), lambda: next(ids)
    )
    for _ in range(90):
        for event in events:
            room = (
                evolve(room, event, room.v + 1, load_game)
                if room
                else initial_room(ROOM, event, 0, load_game)
            )
            frame = event_frame("r", room.v, room.v, format_event_body(event))
            history.append((room, json.loads(frame)))
        assert room is not None
        try:
            command = random_command(rng, room)
            actor = SERVER if isinstance(command, Rename) else rng.choice(PEOPLE)
            find_absence = everyone_gone if rng.random() < 0.5 else nobody_absent
            moment = Moment(actor, 0, 0, ids.__next__, SETTINGS, load_game, find_absence)
            events = decide(room, command, moment)
        except CommandRejected:
            events = []
    return history


def as_snapshot(room: Room) -> dict[str, Any]:
    """Returns the snapshot of the room that a spectator receives."""
    return json.loads(format_message(snapshot(room, player=False)))  # type: ignore[no-any-return]


def expected_room(room: Room) -> dict[str, Any]:
    """Returns the room that the model must have."""
    fields = as_snapshot(room)
    return {
        "offers": [],
        "proposals": [],
        "chat": [],
        "series": [],
        "barred": [],
        **{name: fields[name] for name in fields if name not in ("t", "room")},
        "gap": False,
    }


@cache
def histories() -> list[list[tuple[Room, dict[str, Any]]]]:
    """Returns 40 random histories, made when the first test asks for them."""
    return [random_history(seed) for seed in range(40, 80)]


async def test_after_each_event_the_model_equals_the_servers_room(page: Page) -> None:
    events = [[event for _, event in history] for history in histories()]
    rooms = await page.evaluate(APPLY_ALL, events)
    assert rooms == [[expected_room(room) for room, _ in history] for history in histories()]
    assert {event["kind"] for history in histories() for _, event in history} >= {
        "finished",
        "took_back",
        "offered",
        "declined",
        "said",
        "ai_took_over",
        "player_returned",
        "renamed",
        "required",
        "barred",
    }
    lasting = [history[-1][0] for history in histories()]
    assert any(room.game_id != "tic-tac-toe" for room in lasting), "another game was played"
    assert any(sum(score.half_points) > 2 for room in lasting for score in room.series)


async def test_any_snapshot_and_the_events_after_it_make_the_same_model(page: Page) -> None:
    """Repeated events from before the snapshot, in any order, change nothing."""
    rng = random.Random(1)
    messages, expected = [], []
    for history in histories():
        at = rng.randrange(len(history))
        repeated = [event for _, event in rng.sample(history[: at + 1], min(5, at + 1))]
        messages.append(
            [as_snapshot(history[at][0]), *repeated, *(event for _, event in history[at + 1 :])]
        )
        expected.append(expected_room(history[-1][0]))
    results = await page.evaluate(APPLY_ALL, messages)
    assert [rooms[-1] for rooms in results] == expected


async def test_after_a_missing_event_the_model_reports_a_gap_until_a_snapshot(page: Page) -> None:
    """The room does not change between the missing event and the snapshot."""
    rng = random.Random(2)
    messages, gaps, expected = [], [], []
    for history in histories():
        missing = rng.randrange(1, len(history) - 1)
        events = [event for _, event in history]
        messages.append([*events[:missing], *events[missing + 1 :], as_snapshot(history[-1][0])])
        gaps.append(missing)
        expected.append(expected_room(history[-1][0]))
    results = await page.evaluate(APPLY_ALL, messages)
    for rooms, missing, last_room in zip(results, gaps, expected, strict=True):
        assert [(room["v"], room["gap"]) for room in rooms[missing:-1]] == [(missing, True)] * (
            len(rooms) - missing - 1
        )
        assert rooms[-1] == last_room


async def test_a_log_of_a_newer_version_makes_the_servers_room(page: Page) -> None:
    """From a log of a newer version the browser makes the same room as the server."""
    histories = [
        [json.loads(frame) | {"room": "r"} for frame in golden_logs.frames(name)]
        for name in golden_logs.NAMES
    ]
    results = await page.evaluate(APPLY_ALL, histories)
    assert [rooms[-1] for rooms in results] == [
        {
            "offers": [],
            "proposals": [],
            "chat": [],
            "series": [],
            "barred": [],
            "gap": False,
            **{
                field: value
                for field, value in golden_logs.expected(name)["spectator"].items()
                if field not in ("t", "room")
            },
        }
        for name in golden_logs.NAMES
    ]


#: A script that applies events and snapshots to empty models; it returns what the clocks show after
#: each message, some time later.
READ_CLOCKS = """async ([histories, later]) => {
    const { EMPTY_MODEL, apply, follow } = await import("/client/web/shell/model.js");
    const { readingOf } = await import("/client/web/ui/clock/clock.js");
    const sides = (clock, now_ms) => [0, 1].map((seat) => {
        const { left_ms, stage, count } = readingOf(clock, seat, now_ms);
        return [left_ms, stage, count];
    });
    return histories.map((messages) => {
        let model = follow(EMPTY_MODEL, "r");
        return messages.map(([at, message]) => {
            const clock = (model = apply(model, message)).room.match?.clock;
            return clock ? later.map((ms) => sides(clock, at + ms)) : [];
        });
    });
}"""
LATER_MS = (0, 700, 4_000, 9_000)


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.long)])
async def test_the_clocks_of_golden_logs_show_the_servers_times_after_each_event(
    page: Page,
    step: int,
) -> None:
    """Also while a clock stands, in overtime, and from a snapshot in place of the events.

    Each `step`-th event has a snapshot.
    """

    def shown(side: SideClock) -> list[int]:
        return [side.left_ms, side.stage, side.periods]

    histories, expected = [], []
    for name in golden_logs.CLOCKS:
        log = golden_logs.read(name)
        rooms = list(states(log))
        frames = [json.loads(frame) | {"room": "r"} for frame in golden_logs.frames(name)]
        times = []
        for room, (at_ms, _) in zip(rooms, log, strict=True):
            clock = room.match.clock if room.match is not None else None
            is_over = room.match is not None and room.match.over is not None
            times.append(
                []
                if clock is None or is_over
                else [[*map(shown, sides_at(clock, at_ms + ms))] for ms in LATER_MS]
            )
        events = [[at_ms, frame] for (at_ms, _), frame in zip(log, frames, strict=True)]
        histories.append(events)
        expected.append(times)
        for v, (room, (at_ms, _)) in list(enumerate(zip(rooms, log, strict=True), 1))[::step]:
            histories.append([[at_ms, as_snapshot(room) | {"room": "r"}], *events[v:]])
            expected.append(times[v - 1 :])
    results = await page.evaluate(READ_CLOCKS, [histories, LATER_MS])
    for result, times in zip(results, expected, strict=True):
        for readings, sides in zip(result, times, strict=True):
            assert not sides or readings == sides
