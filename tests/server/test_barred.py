"""A seat that the host keeps for someone else: who may free it and when, and who may not sit then.

The canaries are strangers who try every way to the seat, on another node and after a restart too.
"""

import asyncio
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json

from server.commands import (
    Abort,
    Accept,
    AddAi,
    Bar,
    ClientCommand,
    Move,
    Rematch,
    Resign,
    Sit,
    Stand,
    Takeback,
)
from server.events import (
    Barred,
    Finished,
    SeatLeft,
    Started,
    Unknown,
    format_event_body,
    parse_event_body,
)
from server.ids import IdentityId
from server.protocol import messages as wire
from server.protocol import views
from server.protocol.codes import Code
from server.rooms import permissions, rules
from server.rooms.evolve import MAX_BARRED
from server.rooms.model import Actor, CommandRejected, Room
from server.settings import Settings
from tests.support.fake_server import Client, FakeServer, virtual
from tests.support.node import serve
from tests.support.room_log import (
    ADA,
    AI_SEAT,
    BEN,
    CYD,
    ME,
    OPEN,
    attempt,
    created,
    plain,
    seated,
    sit,
)


def bar(identity: str) -> Bar:
    return Bar(id="b", identity=identity)


def may_bar(room: Room, identity: str = "ada") -> bool:
    """Whether the room offers `bar` to a viewer."""
    return Bar in permissions.permitted(room, IdentityId(identity), 0, Settings())


# --- the rule -------------------------------------------------------------------------------------


def test_the_host_keeps_the_seat_for_someone_else() -> None:
    """The match ends without a result and the seat is free; that person may watch but not sit.

    The friend sits down then, and the next match starts. The log alone says all of it.
    """
    played = seated()
    played.do(ADA, played.move("a1"))
    finished, left, barred = played.do(ADA, bar("ben"))
    assert isinstance(finished, Finished)
    assert (finished.winner, finished.how) == (None, "abort")
    assert (left, barred) == (SeatLeft(1), Barred("ben", "Ben"))
    assert [seat and seat.identity for seat in played.room.seats] == ["ada", None]
    assert played.refuse(BEN, sit(1)) is Code.SEAT_BARRED
    assert Sit not in permissions.permitted(played.room, BEN.identity, 0, Settings())
    _, started = played.do(CYD, sit(1))
    assert isinstance(started, Started)
    assert (started.number, [seat.identity for seat in started.seats]) == (2, ["ada", "cyd"])
    assert views.snapshot(played.room, player=False).barred[0].name == "Ben"
    assert played.fold() == played.room
    assert played.refuse(ADA, bar("ben")) is Code.BAR_NONE, "Ben has no seat any more"


def test_a_seat_is_kept_until_both_sides_have_moved() -> None:
    """After that the host cannot end the match in this way, not even once the moves are taken back,
    nor in a rematch: the person is known.
    """
    played = seated()
    assert may_bar(played.room)
    played.do(ADA, played.move("a1"))
    assert may_bar(played.room)
    played.do(BEN, played.move("b1"))
    assert not may_bar(played.room)
    assert played.refuse(ADA, bar("ben")) is Code.BAR_NONE
    for seat, opponent, ply in ((BEN, ADA, 2), (ADA, BEN, 1)):
        played.do(seat, Takeback("t", ply))
        played.do(opponent, plain(Accept))
    assert played.match.ply == 0
    assert played.refuse(ADA, bar("ben")) is Code.BAR_NONE
    played.do(ADA, plain(Resign))
    played.do(ADA, plain(Rematch))
    played.do(BEN, plain(Rematch))
    assert played.refuse(ADA, bar("ben")) is Code.BAR_NONE


def test_an_aborted_match_does_not_protect_a_stranger() -> None:
    """A stranger who aborts, and stays on the seat, can still be sent away; no match ends twice."""
    played = seated()
    played.do(BEN, plain(Abort))
    assert played.do(ADA, bar("ben")) == [SeatLeft(1), Barred("ben", "Ben")]
    assert played.refuse(BEN, sit(1)) is Code.SEAT_BARRED


def test_a_host_without_a_seat_keeps_both() -> None:
    """The host frees the seat of either stranger, and a barred one may take neither seat."""
    played = created(seats=(OPEN, OPEN))
    played.do(BEN, sit(0))
    assert played.do(ADA, bar("ben")) == [SeatLeft(0), Barred("ben", "Ben")]
    assert {played.refuse(BEN, sit(seat)) for seat in (0, 1)} == {Code.SEAT_BARRED}
    played.do(CYD, sit(1))
    played.do(CYD, plain(Stand))
    assert not may_bar(played.room), "nobody is seated"
    assert played.refuse(ADA, bar("cyd")) is Code.BAR_NONE


@pytest.mark.parametrize(
    ("actor", "identity", "code"),
    [
        (BEN, "ada", Code.HOST_ONLY), (BEN, "ben", Code.HOST_ONLY), (CYD, "ben", Code.HOST_ONLY),
        (ADA, "ada", Code.BAR_NONE), (ADA, "cyd", Code.BAR_NONE), (ADA, "ai", Code.BAR_NONE),
    ],
)  # fmt: skip
def test_only_the_host_keeps_a_seat_and_only_from_who_sits(
    actor: Actor, identity: str, code: Code
) -> None:
    """Nobody else frees a seat so, and neither the host's own nor that of nobody."""
    assert seated().refuse(actor, bar(identity)) is code
    against_ai = created(seats=(ME, AI_SEAT))
    assert against_ai.refuse(ADA, bar("ai")) is Code.BAR_NONE


def test_a_room_keeps_a_bounded_list() -> None:
    """Whoever comes with more than MAX_BARRED identities gains nothing: the host can always free
    the seat, and only the earliest of them may sit again.
    """
    played = created()
    for number in range(MAX_BARRED + 1):
        stranger = Actor(IdentityId(f"s{number}"), f"S{number}")
        played.do(stranger, sit(1))
        played.do(ADA, bar(stranger.identity))
    assert len(played.room.barred) == MAX_BARRED
    assert played.fold().barred == played.room.barred
    for number in range(1, MAX_BARRED + 1):
        stranger = Actor(IdentityId(f"s{number}"), f"S{number}")
        assert played.refuse(stranger, sit(1)) is Code.SEAT_BARRED
    played.do(BEN, sit(1))
    assert may_bar(played.room)


def test_an_older_program_seats_nobody_then() -> None:
    """A program that does not define `barred` would let the stranger sit again: to it the room is
    one of a newer version, which it shows and does not play.
    """
    played = seated()
    events = played.decide(ADA, bar("ben"))
    room = played.room
    for event in events:
        body = format_event_body(event)
        if isinstance(event, Barred):
            assert json.decode(body) == {"kind": "barred", "identity": "ben", "name": "Ben"}
            room = rules.evolve(room, Unknown("barred", body), 1, played.find_game)
        else:
            room = rules.evolve(room, parse_event_body(body), 1, played.find_game)
    assert room.seats[1] is None
    with pytest.raises(CommandRejected) as rejected:
        played.decide(BEN, sit(1), room)
    assert rejected.value.code is Code.ROOM_NEWER


COMMANDS: list[ClientCommand] = [
    sit(0), sit(1), Stand("s"), Abort("a"), Resign("r"), Rematch("n"),
    *(bar(person.identity) for person in (ADA, BEN, CYD)), AddAi("i", 1, level=1),
]  # fmt: skip
steps = st.lists(
    st.tuples(
        st.sampled_from([ADA, BEN, CYD]),
        st.sampled_from([*COMMANDS, *[None] * 4]),
        st.integers(0, 8),
    ),
    max_size=60,
)


@given(steps)
def test_a_barred_person_never_has_a_seat(
    run: list[tuple[Actor, ClientCommand | None, int]],
) -> None:
    """Whatever people do in a room, who was barred holds no seat from then on, and no AI keeps one
    for them. Exactly the seated people in whose time no second side has moved can be barred.
    """
    played = created()
    unmoved: set[str] = set()
    for actor, command, choice in run:
        if command is None:
            match = played.room.running_match
            if match is None or match.position is None:
                continue
            tokens = match.position.tokens()
            command = Move("m", match.ply, tokens[choice % len(tokens)])
        before = played.room
        if isinstance(attempt(partial(played.do, actor, command)), CommandRejected):
            continue
        room = played.room
        seated_now = {seat.identity for seat in room.seats if seat is not None}
        unmoved = (unmoved & seated_now) | (
            seated_now - {seat.identity for seat in before.seats if seat is not None}
        )
        # In tic-tac-toe the sides take turns: with the second move both have moved.
        if isinstance(command, Move) and command.ply == 1:
            unmoved = set()
        barred = {person.identity for person in room.barred}
        assert not any(map(room.has_player, map(IdentityId, barred)))
        people = unmoved - {"ada", "ai"}
        assert {
            person
            for person in ("ada", "ben", "cyd")
            if permissions.bar(room, permissions.viewer_of(room, ADA.identity), person) is None
        } == people
        assert may_bar(room) == bool(people)
        assert played.fold() == room


# --- on several nodes -----------------------------------------------------------------------------


async def refused(client: Client, room: str) -> set[str]:
    """The codes with which a stranger's attempts to sit down are refused."""
    return {await client.expect_refusal(client.sit(room, seat)) for seat in (0, 1)}


@virtual
async def test_a_stranger_does_not_come_back_on_another_node_or_after_a_restart() -> None:
    """A stranger who was sent away is refused on each node, with a sentence, and after all nodes
    were stopped; the same command of the host, sent again, changes nothing.
    """
    fake = FakeServer()
    async with fake.hub("n1") as first, fake.hub("n2") as second:
        ada, stranger = Client(first, "ada"), Client(second, "stranger")
        room = await ada.create(visibility="unlisted")
        await ada.ack(ada.join(room))
        await stranger.ack(stranger.join(room))
        await stranger.ack(stranger.sit(room, 1))
        command = wire.CommandFrame(room, Bar(id="keep", identity="stranger"))
        v = await ada.ack(command)
        assert await ada.ack(command) == v
        assert await refused(stranger, room) == {"seat.barred"}
        again = Client(first, "stranger")
        assert await refused(again, room) == {"seat.barred"}
        await asyncio.sleep(1)
        (message,) = [m for m in stranger.of("event") if m["kind"] == "barred"]
        assert message["identity"] == "stranger"
        assert "sit" not in stranger.of("may")[-1]["may"]
    async with fake.hub("n3") as third:
        stranger, friend = Client(third, "stranger"), Client(third, "friend")
        await stranger.ack(stranger.join(room))
        assert "sit" not in stranger.of("joined")[-1]["may"]
        assert stranger.of("snapshot")[-1]["barred"][0]["identity"] == "stranger"
        assert await refused(stranger, room) == {"seat.barred"}
        await friend.ack(friend.sit(room, 1))
        assert third.runner(room) is not None


@virtual
async def test_a_public_room_that_sent_a_stranger_away_leaves_the_lobby() -> None:
    """Another stranger does not find it there: who has its link may sit down."""
    async with FakeServer().hub() as hub:
        watcher = Client(hub, "watcher")
        await hub.lobby.watch(watcher, wire.Ack("w", None))
        ada, stranger = Client(hub, "ada"), Client(hub, "stranger")
        room = await ada.create()
        await ada.ack(ada.join(room))
        await asyncio.sleep(1)
        await stranger.ack(stranger.sit(room, 1))
        await ada.ack(wire.CommandFrame(room, Bar(id="keep", identity="stranger")))
        await asyncio.sleep(1)
        assert room in watcher.of("lobby")[-1]["gone"]
        assert [entry.room for entry in await hub.lobby.rooms()] == []


# --- over HTTP ------------------------------------------------------------------------------------

#: What a chat, a search engine or a curious stranger requests of a link.
PREVIEWERS = (
    "WhatsApp/2.23", "Slackbot-LinkExpanding 1.0", "facebookexternalhit/1.1",
    "Mozilla/5.0 (compatible; Googlebot/2.1)", "TelegramBot (like TwitterBot)",
)  # fmt: skip


async def test_the_preview_of_a_link_takes_no_seat() -> None:
    """Whoever requests the page of a room, its link, its code or its match changes nothing: the
    friend takes the seat, and the match is the first.
    """
    async with serve() as node, node.guest(name="Ada") as ada, node.guest(name="Bob") as bob:
        room = (await ada.ack("create", game="tic-tac-toe", visibility="unlisted"))["room"]
        await ada.ack("join", room=room)
        links = f"/api/links/room/{room}"
        for agent in PREVIEWERS:
            for path in (f"/room/{room}", links, f"{links}/qr.svg"):
                answer = await node.get(path, **{"User-Agent": agent, "Accept": "text/html"})
                # This server has no address to share, so no code.
                assert answer.status == (404 if path.endswith("svg") else 200), path
        await bob.ack("sit", room=room, seat=1)
        started = await ada.expect("event", kind="started")
        assert started["number"] == 1
        assert [seat["name"] for seat in started["seats"]] == ["Ada", "Bob"]
        assert started["v"] == 4, "created, two seats taken, started: no other event"


async def test_a_stranger_does_not_find_the_seat_of_a_friend() -> None:
    """Neither the lobby nor a list, a page of a stranger's own or a preview has the room's id, the
    names or the match of an unlisted room, before, during and after its match.
    """
    canaries = ("Canary Ada", "Canary Bob")
    async with (
        serve() as node,
        node.guest(name=canaries[0]) as ada,
        node.guest(name=canaries[1]) as bob,
        node.guest(name="Eve") as eve,
    ):
        await eve.ack("watch_lobby")
        seen: list[str] = [str(await eve.expect("lobby"))]
        room = (await ada.ack("create", game="tic-tac-toe", visibility="unlisted"))["room"]
        await ada.ack("join", room=room)
        secrets = [room, *canaries]

        async def look() -> None:
            await eve.ack("watch_lobby")
            seen.append(str(await eve.expect("lobby")))
            for path in ("/", "/replays", "/api/matches", "/api/games", "/room/other", "/metrics"):
                seen.append((await node.get(path)).body.decode("utf-8", "replace"))
            async with node.http() as http:
                headers = {"Authorization": f"Bearer {eve.token}"}
                mine = await http.request("/api/me/matches", headers=headers)
            seen.append(mine.body.decode())

        await look()
        await bob.ack("sit", room=room, seat=1)
        secrets.append((await ada.expect("event", kind="started"))["match"])
        await ada.ack("move", room=room, ply=0, move="a1")
        await look()
        await ada.ack("resign", room=room)
        await look()
        assert len(seen) == 1 + 3 * 8
        for text in seen:
            assert not [secret for secret in secrets if secret in text], text[:200]
