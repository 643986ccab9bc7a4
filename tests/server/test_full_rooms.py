"""A room takes a limited number of events; a full room can be read, and its match can end."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import example, given, settings

from server.commands import (
    Accept,
    AiReply,
    BotLine,
    Chat,
    Command,
    Configure,
    Decline,
    Move,
    MySeat,
    OfferDraw,
    OpenSeat,
    Rematch,
    Rename,
    Resign,
    Sit,
    Stand,
    Takeback,
)
from server.events import Said, format_event_body
from server.ids import IdentityId, RoomId
from server.protocol.codes import Code
from server.rooms import model
from server.rooms.model import (
    AI,
    BOT,
    MAX_EVENTS,
    MAX_EVENTS_WITHOUT_MOVE,
    SERVER,
    Room,
)
from server.rooms.permissions import leaves_permissions_unchanged, permitted
from server.runtime.node.hub import Hub
from server.store.base import EVERYONE, Append, CommandKey, StoredEvent
from tests.server.test_permissions import (
    LIMITED,
    OPENINGS,
    PEOPLE,
    Step,
    accepted_commands,
    listed_commands,
    openings,
    play_step,
    steps,
)
from tests.support.fake_server import Client, FakeServer, virtual
from tests.support.room_log import (
    ADA,
    AI_SEAT,
    BEN,
    CYD,
    ME,
    LoggedRoom,
    chat,
    created,
    plain,
    seated,
    sit,
)

SAID = Said("eve", "Eve", "a line")


def fill(played: LoggedRoom, events: int = MAX_EVENTS_WITHOUT_MOVE) -> LoggedRoom:
    """Appends lines of chat until the room has so many events."""
    while played.room.v < events:
        played.append(SAID)
    return played


@contextmanager
def small_rooms(events: int, events_without_move: int) -> Iterator[None]:
    """Lets a room take so many events, in all and without a move."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "MAX_EVENTS", events)
        patch.setattr(model, "MAX_EVENTS_WITHOUT_MOVE", events_without_move)
        yield


def test_a_room_takes_2000_events_without_a_move() -> None:
    """Then it refuses everything from people, players and spectators, with the number and the way
    out. A player may leave the seat.
    """
    played = fill(created(), MAX_EVENTS_WITHOUT_MOVE - 1)
    played.do(CYD, chat("the last line"))
    assert played.room.v == MAX_EVENTS_WITHOUT_MOVE == 2_000
    assert played.room.read_only is Code.ROOM_FULL
    for actor, command in (
        (CYD, chat("one more")),
        (BEN, sit(1)),
        (ADA, Configure("c", "after")),
        (ADA, plain(Rematch)),
    ):
        with pytest.raises(model.CommandRejected, match=r"2,000 events .* open a new room") as full:
            played.decide(actor, command)
        assert full.value.code is Code.ROOM_FULL
    played.do(ADA, plain(Stand))
    assert played.refuse(ADA, sit(0)) is Code.ROOM_FULL


def test_a_move_makes_room_again() -> None:
    """A running match goes on in a room that has 2,000 events without a move; after the move it
    takes everything again. The count is that of the log, so every node has the same.
    """
    played = fill(seated())
    assert played.room.read_only is None
    assert played.refuse(CYD, chat("one more")) is Code.ROOM_FULL
    assert played.refuse(ADA, Takeback("t", 0)) is Code.ROOM_FULL
    played.do(ADA, played.move("a1"))
    played.do(CYD, chat("one more"))
    assert played.fold() == played.room
    assert played.room.moved_v == played.room.v - 1
    fill(played, played.room.moved_v + MAX_EVENTS_WITHOUT_MOVE)
    assert played.refuse(CYD, chat("one more")) is Code.ROOM_FULL


@pytest.mark.parametrize("ending", ["board", "resign", "agreement", "AI"])
def test_a_match_can_end_in_a_room_of_100000_events(
    ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The players of a full room may finish their match, and the AI its own. Nothing can prolong
    it, and after it the room takes nothing.
    """
    assert MAX_EVENTS == 100_000
    played = created(seats=(ME, AI_SEAT)) if ending == "AI" else seated()
    fill(played, 50)
    monkeypatch.setattr(model, "MAX_EVENTS", 50)
    assert played.refuse(ADA, chat("hello")) is Code.ROOM_FULL
    if ending == "board":
        played.moves("a1 a2 b1 b2")
        assert played.refuse(ADA, Takeback("t", 4)) is Code.ROOM_FULL
        played.do(ADA, played.move("c1"))
    elif ending == "resign":
        played.do(BEN, plain(Resign))
    elif ending == "agreement":
        played.do(ADA, plain(OfferDraw))
        played.do(BEN, plain(Decline))
        assert played.refuse(ADA, plain(OfferDraw)) is Code.OFFER_TWICE
        played.do(BEN, plain(OfferDraw))
        played.do(ADA, plain(Accept))
    else:
        played.do(ADA, played.move("a1"))
        played.do(AI, played.ai_move("b2"))
        assert played.refuse(ADA, Takeback("t", 2)) is Code.ROOM_FULL
        played.do(ADA, plain(OfferDraw))
        played.do(AI, AiReply("r", played.match.id, 1, accept=True))
    assert played.match.over is not None
    assert played.room.read_only is Code.ROOM_FULL
    for actor in (ADA, BEN):
        assert played.refuse(actor, plain(Rematch)) is Code.ROOM_FULL
    assert played.refuse(CYD, chat("hello")) is Code.ROOM_FULL


def test_what_the_server_does_in_a_full_room() -> None:
    """The bot answers the last line. A new name, of which a person can have any number, changes
    nothing there.
    """
    played = fill(created())
    played.do(BOT, BotLine("b", "an answer", played.room.v))
    assert played.refuse(SERVER, Rename("r", "ada", "Countess")) is Code.ROOM_FULL


@given(openings, steps)
@settings(max_examples=12)
@example("two people", [(ADA, Chat, 0, 4_000)] * 40)
@example("a long match", [(ADA, Move, ply % 7, 1) for ply in range(40)])
def test_a_full_room_lists_what_it_accepts(opening: str, run: list[Step]) -> None:
    """Also in a room that fills up, each viewer's list has exactly the commands that `decide`
    accepts, and a move that keeps it as full as it was keeps the lists that it should.
    """
    with small_rooms(16, 9):
        played = OPENINGS[opening]()
        for step in run:
            before = played.room
            events = play_step(played, step)
            after, now_ms = played.room, played.now_ms
            for actor in PEOPLE:
                assert listed_commands(after, actor, now_ms) == accepted_commands(
                    after, actor, now_ms
                )
            if before.is_full is after.is_full and leaves_permissions_unchanged(
                events, after, is_player_absent=False
            ):
                for actor in PEOPLE:
                    lists = {
                        permitted(room, actor.identity, now_ms, LIMITED) for room in (before, after)
                    }
                    assert len(lists) == 1


def is_finished(room: Room) -> bool:
    return room.match is not None and room.match.over is not None


@given(openings, steps)
@settings(max_examples=25)
def test_a_full_room_ends(opening: str, run: list[Step]) -> None:
    """In a full room every run of accepted commands is finite: besides the moves of its match there
    is a handful.
    """
    begun = OPENINGS[opening]()
    with small_rooms(5, 5):
        played = fill(begun, 5)
        kinds: list[type[Command]] = []
        for step in run * 3:
            events = play_step(played, step)
            is_by_time = bool(events) and getattr(events[-1], "how", "") in ("flag", "noshow")
            if events and not is_by_time:
                kinds.append(step[1])
        others = [kind for kind in kinds if kind is not Move]
        assert len(others) <= 6 + len(kinds) - len(others)
        assert not {Takeback, Chat, Rematch, Sit} & set(kinds)


# --- a server -------------------------------------------------------------------------------------


async def fill_stored(fake: FakeServer, room: RoomId, v: int, events: int) -> None:
    """Appends lines of chat to a stored room at version `v` until it has so many events."""
    body = format_event_body(SAID)
    entries = tuple(
        StoredEvent(number, fake.now_ms(), EVERYONE, body) for number in range(v + 1, events + 1)
    )
    key = CommandKey(IdentityId("eve"), "many lines")
    await fake.store.logs.append(Append(room, v, entries, "another node", None, key))


@virtual
async def test_a_full_room_can_be_read_on_every_node() -> None:
    """A node that loads a full room says so in `joined`, sends its state and events, and refuses
    a command with `room.full`.
    """
    fake = FakeServer()
    async with fake.hub("n1") as first:
        room = await Client(first, "ada").create(seats=(MySeat(), OpenSeat()))
    await fill_stored(fake, room, 2, MAX_EVENTS_WITHOUT_MOVE)
    async with fake.hub("n2") as second:
        ben = Client(second, "ben")
        await ben.ack(ben.join(room))
        joined = ben.of("joined")[-1]
        assert (joined["frozen"], joined["may"]) == (Code.ROOM_FULL, ["see_thinking"])
        assert ben.of("snapshot")[-1]["v"] == MAX_EVENTS_WITHOUT_MOVE
        assert await ben.expect_refusal(ben.sit(room, 1)) == Code.ROOM_FULL
        cyd = Client(second, "cyd")
        await cyd.ack(cyd.join(room, since=MAX_EVENTS_WITHOUT_MOVE - 10))
        assert len(cyd.events()) == 10


@virtual
async def test_the_followers_learn_that_a_room_is_full() -> None:
    """The players' lists shrink when their room is full, and grow again with the next move. When a
    full room's match ends, everyone learns that the room can only be read.
    """
    fake = FakeServer().unlimited()
    with small_rooms(40, 30):
        async with fake.hub() as hub:
            await fill_up(hub)


async def fill_up(hub: Hub) -> None:
    """Fills a room on a node twice: without a move, and in all."""
    ada, ben, eve = (Client(hub, name) for name in ("ada", "ben", "eve"))
    room = await ada.create("connect-four")
    await ben.ack(ben.sit(room, 1))
    for client in (ada, ben, eve):
        await client.ack(client.join(room))
    for ply in range(4):
        player = (ada, ben)[ply % 2]
        await player.ack(player.move(room, ply, "abcd"[ply]))
    for number in range(30):
        v = await eve.ack(eve.chat(room, f"line {number}"))
    assert v == 38
    assert not {"chat", "takeback"} & set(ada.of("may")[-1]["may"])
    assert {"resign", "offer_draw"} <= set(ada.of("may")[-1]["may"])
    assert await eve.expect_refusal(eve.chat(room, "one more")) == Code.ROOM_FULL
    await ada.ack(ada.move(room, 4, "a"))
    await ben.wait_for_v(39)
    assert {"chat", "takeback"} <= set(ben.of("may")[-1]["may"])
    assert await eve.ack(eve.chat(room, "the last line")) == 40
    assert not {"chat", "takeback"} & set(ben.of("may")[-1]["may"])
    assert [message.get("frozen") for message in eve.of("joined")] == [None]
    await ben.ack(ben.plain(Resign, room))
    await eve.event("finished")
    assert [message.get("frozen") for message in eve.of("joined")] == [None, Code.ROOM_FULL]
    assert set(ada.of("joined")[-1]["may"]) == {"stand", "see_thinking"}
