"""The rates of people's commands: of an identity, of an address, and to a room."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.commands import (
    Abort,
    AiSeat,
    BotLine,
    Chat,
    Configure,
    Move,
    MySeat,
    OfferDraw,
    OpenSeat,
    Resign,
    Sit,
    Stand,
)
from server.ids import IdentityId, RoomId
from server.limits.by_address import NO_LIMITS, CommandLimits, LimitExceeded
from server.limits.rate import MAX_KEYS, Bucket, BucketTable
from server.protocol import messages as wire
from server.protocol.codes import Code
from server.rooms.model import BOT, MAX_EVENTS_WITHOUT_MOVE
from server.runtime.log import Accepted
from server.runtime.requests import Request
from server.settings import Settings
from server.store.base import Identity
from tests.support.fake_server import Client, FakeServer, virtual
from tests.support.node import serve

ADDRESS, OTHER_ADDRESS = "192.0.2.1", "192.0.2.2"
#: Commands of the tests, in a minute: so few that the burst alone counts.
FEW = 1

# --- buckets --------------------------------------------------------------------------------------


@given(
    st.integers(1, 5),
    st.sampled_from([15, 60, 120, 960]),
    st.lists(st.sampled_from([0.0, 0.0, 0.125, 0.25, 0.5, 1.0, 8.0, 64.0, -4.0]), max_size=40),
)
def test_a_table_grants_what_a_bucket_grants(
    burst: int, per_minute: int, steps: list[float]
) -> None:
    """A table has one bucket for each key, with the same times to wait, unless the clock is set
    back; then a key waits for one token at most. Such times are exact in binary.
    """
    table, bucket, now_s = BucketTable(burst, per_minute), Bucket(per_minute / 60, burst, 0.0), 0.0
    was_set_back = False
    for step_s in steps:
        now_s += step_s
        was_set_back = was_set_back or step_s < 0
        wait_s = table.take("key", now_s)
        if was_set_back:
            assert wait_s <= 60 / per_minute
        elif bucket.take(now_s):
            assert wait_s == 0.0
        else:
            assert wait_s == bucket.wait_s()
    assert table.take("another key", now_s) == 0.0


@pytest.mark.parametrize(("burst", "per_minute"), [(0, 60), (60, 0), (0, 0)])
def test_zero_switches_a_table_off(burst: int, per_minute: int) -> None:
    table = BucketTable(burst, per_minute)
    assert {table.take("key", 0.0) for _ in range(99)} == {0.0}
    table.give_back("key")
    assert len(table) == 0


def test_many_keys_fill_no_memory() -> None:
    """A table remembers a bounded number of keys, and never forgets one in constant use; it drops
    those whose buckets are full.
    """
    table = BucketTable(2, 1)
    table.take("busy", 0.0)
    table.take("busy", 0.0)
    for number in range(3 * MAX_KEYS):
        table.take(f"key {number}", 0.0)
        if number % 1000 == 0:
            assert table.take("busy", 0.0) > 0
            assert len(table) <= MAX_KEYS
    assert table.take("busy", 0.0) > 0
    sizes = []
    for number in range(MAX_KEYS):
        table.take(f"later {number}", 600.0 + number)
        sizes.append(len(table))
    assert min(sizes[MAX_KEYS // 2 :]) < 200, "buckets that are full are dropped"


def test_a_token_can_be_given_back() -> None:
    table = BucketTable(1, 1)
    for _ in range(5):
        assert table.take("key", 10.0) == 0.0
        table.give_back("key")
    assert table.take("key", 10.0) == 0.0
    assert table.take("key", 10.0) == pytest.approx(60.0)
    table.give_back("a key that the table does not remember")


def test_a_clock_that_is_set_back_stops_nobody() -> None:
    """After the clock was set back by a day a bucket begins anew, and refuses as before."""
    table = BucketTable(10, 60)
    for _ in range(10):
        table.take("key", 100_000.0)
    assert [table.take("key", 10_000.0) > 0 for _ in range(11)] == [False] * 10 + [True]


def test_forty_guests_of_one_address_with_the_default_limits() -> None:
    """In a minute 40 guests behind one address, who send 40 commands a second each, have 9,000
    accepted, 5,000 in the minute after that; and their moves, 5 a second each, are not among them.
    """
    limits, refused = CommandLimits(Settings()), 0

    def accepted(seconds: range, address: str, per_s: int) -> int:
        nonlocal refused
        count = 0
        for second in seconds:
            for guest in range(40 * per_s):
                identity = IdentityId(f"guest {guest % 40}")
                try:
                    limits.take(identity, address, RoomId(f"room {guest % 40}"), float(second))
                    count += 1
                except LimitExceeded:
                    refused += 1
        return count

    assert accepted(range(60), ADDRESS, 40) == 3_000 + 59 * 100
    assert accepted(range(60, 120), ADDRESS, 40) == 60 * 100
    assert refused > 100_000
    assert accepted(range(200, 260), "", 5) == 60 * 200, "the legal moves"


# --- the hub --------------------------------------------------------------------------------------


def server(**limits: Any) -> FakeServer:
    """Returns a fake server that has these limits only."""
    fake = FakeServer()
    fake.settings = replace(fake.settings, **NO_LIMITS)
    fake.settings = replace(fake.settings, **limits)
    return fake


def of_identity(burst: int) -> dict[str, int]:
    return {"limit_commands_burst": burst, "limit_commands_per_minute": FEW}


def of_address(burst: int) -> dict[str, int]:
    return {"limit_commands_address_burst": burst, "limit_commands_address_per_minute": FEW}


async def ask_from(client: Client, address: str, command: Any, room: RoomId) -> str:
    """Sends a command from an address; returns "ack" or the code of the refusal."""
    client.hub.submit(room, Request(client.actor, command, client, address=address))
    answer = await client.answer(command.id)
    return str(answer.get("code", answer["t"]))


async def join_from(client: Client, address: str, room: RoomId) -> str:
    """Joins a room from an address; returns "ack" or the code of the refusal."""
    join = client.join(RoomId(room))
    client.hub.submit(room, Request(client.actor, join, client, address=address))
    answer = await client.answer(join.id)
    return str(answer.get("code", answer["t"]))


def line(client: Client) -> Chat:
    return Chat(client.new_id(), "hello")


def move(client: Client, ply: int, token: str) -> Move:
    return Move(client.new_id(), ply, token)


@virtual
async def test_an_identity_that_sends_too_much_is_refused() -> None:
    """Beyond the burst each kind of command is refused, with the time after which it is accepted;
    other identities are not. Refused commands and commands that are repeated count too.
    """
    async with server(**of_identity(4)).hub() as hub:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create(seats=(MySeat(), OpenSeat()))
        for client in (ada, ben):
            await client.ack(client.join(room))
        said = ada.chat(room, "hello")
        v = await ada.ack(said)
        ada.messages.clear()
        assert await ada.ack(said) == v, "the same command again"
        assert await ada.expect_refusal(ada.plain(Resign, room)) == Code.MATCH_NONE
        assert await ada.expect_refusal(ada.move(room, 0, "a1")) == Code.MATCH_NONE
        for command in (
            ada.plain(Stand, room),
            ada.plain(OfferDraw, room),
            ada.move(room, 0, "a1"),
            ada.chat(room, "again"),
            wire.CommandFrame(room, Configure(id=ada.new_id(), thinking="after")),
        ):
            answer = await ada.ask(command)
            assert answer["code"] == Code.RATE_EXCEEDED
            assert "try again in 60 s" in answer["message"]
        await ada.ack(ada.join(room))
        await ada.ack(ada.leave(room))
        assert await ben.ack(ben.chat(room, "hello"))
        await asyncio.sleep(60)
        await ada.ack(ada.chat(room, "later"))


@virtual
async def test_an_address_that_sends_too_much_is_refused() -> None:
    """Beyond the burst of an address the commands of its guests are refused, except their legal
    moves, which do not count. Refused moves count.
    """
    async with server(**of_address(4)).hub() as hub:
        ada, ben, eve = (Client(hub, name) for name in ("ada", "ben", "eve"))
        room = await ada.create("connect-four")
        assert await ask_from(ben, ADDRESS, line(ben), room) == "ack"
        await ben.ack(ben.sit(room, 1))
        for ply in range(12):
            player = (ada, ben)[ply % 2]
            assert (
                await ask_from(player, ADDRESS, move(player, ply, "abcdefg"[ply % 7]), room)
                == "ack"
            )
        assert await ask_from(ada, ADDRESS, move(ada, 12, "z9"), room) == Code.MOVE_MALFORMED
        assert await ask_from(ben, ADDRESS, move(ben, 12, "a"), room) == Code.MOVE_NOT_YOUR_TURN
        assert await ask_from(ada, ADDRESS, line(ada), room) == "ack"
        for client in (ada, ben, eve):
            assert await ask_from(client, ADDRESS, line(client), room) == Code.RATE_EXCEEDED
        assert await ask_from(eve, OTHER_ADDRESS, line(eve), room) == "ack"
        assert await ask_from(ada, ADDRESS, move(ada, 12, "g"), room) == "ack"
        assert await ask_from(ada, ADDRESS, move(ada, 12, "z9"), room) == Code.MOVE_STALE


@virtual
async def test_a_room_that_receives_too_much_refuses_it() -> None:
    """Beyond its limit a room refuses the commands of everyone. Commands that change nothing do not
    use it up, so that a stranger cannot keep the players from moving.
    """
    async with server(limit_commands_room_per_minute=6).hub() as hub:
        ada, ben, eve = (Client(hub, name) for name in ("ada", "ben", "eve"))
        room, other_room = await ada.create(), await ada.create()
        await ben.ack(ben.sit(room, 1))
        for number in range(50):
            assert await eve.expect_refusal(eve.move(room, number, "a1")) == Code.SEAT_NONE
        said = eve.chat(room, "hello")
        for _ in range(10):
            await eve.ack(said)
            eve.messages.clear()
        for ply, token in enumerate(("a1", "b2", "c3", "a2")):
            player = (ada, ben)[ply % 2]
            await player.ack(player.move(room, ply, token))
        answer = await ada.ask(ada.move(room, 4, "a3"))
        assert (answer["code"], "try again in 10 s" in answer["message"]) == (
            Code.RATE_EXCEEDED, True,
        )  # fmt: skip
        assert await eve.expect_refusal(eve.chat(room, "again")) == Code.RATE_EXCEEDED
        await eve.ack(eve.chat(other_room, "hello"))
        await asyncio.sleep(10)
        await ada.ack(ada.move(room, 4, "a3"))


@virtual
async def test_ai_seats_and_the_server_itself_have_no_limits() -> None:
    """Two AI seats play a whole match, and a player's new name reaches the seat, where a person may
    send one command a minute.
    """
    limits = of_identity(1) | of_address(1) | {"limit_commands_room_per_minute": 1}
    fake = server(**limits)
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create(seats=(AiSeat(level=1), AiSeat(level=1)))
        await ada.ack(ada.join(room))
        await ada.event("finished")
        own = await ada.create()
        await ada.ack(ada.join(own))
        await ada.ack(ada.chat(own, "hello"))
        assert await ada.expect_refusal(ada.chat(own, "again")) == Code.RATE_EXCEEDED
        await fake.store.identities.add_guest(Identity(ada.identity, "Countess"), b"secret", 0)
        await hub.rename(ada.identity, ADDRESS)
        assert (await ada.event("renamed"))["name"] == "Countess"
        for v in (1, 2, 3):
            assert isinstance(await hub.command(own, BOT, BotLine(f"b{v}", "hello", v)), Accepted)


@virtual
async def test_joins_have_limits_of_their_own() -> None:
    """Beyond the burst of an identity or of an address a join is refused, with the time after which
    it is accepted; joins and commands do not count for each other.
    """
    limits = {
        "limit_joins_burst": 2, "limit_joins_per_minute": 60,
        "limit_joins_address_burst": 4, "limit_joins_address_per_minute": 120,
    }  # fmt: skip
    async with server(**limits, **of_identity(4)).hub() as hub:
        ada, ben, eve = (Client(hub, name) for name in ("ada", "ben", "eve"))
        room = await ada.create()
        assert [await join_from(ada, ADDRESS, room) for _ in range(2)] == ["ack"] * 2
        for _ in range(9):
            assert await join_from(ada, OTHER_ADDRESS, room) == Code.RATE_EXCEEDED
        assert ada.of("error")[-1]["message"].endswith("try again in 1 s")
        await ada.ack(ada.chat(room, "hello"))
        await ada.ack(ada.leave(room))
        assert [await join_from(ben, ADDRESS, room) for _ in range(2)] == ["ack"] * 2
        assert await join_from(eve, ADDRESS, room) == Code.RATE_EXCEEDED
        assert await join_from(Client(hub, "dan"), OTHER_ADDRESS, room) == "ack"
        await asyncio.sleep(1)
        assert await join_from(ada, ADDRESS, room) == "ack"


@virtual
async def test_a_club_that_comes_back_at_once_is_let_in() -> None:
    """Sixty pages behind one address, four tabs of each, all join after a restart."""
    async with FakeServer().hub() as hub:
        room = await Client(hub, "host").create()
        for number in range(60):
            guest = Client(hub, f"guest {number}")
            for _ in range(4):
                assert await join_from(guest, ADDRESS, room) == "ack"


@virtual
async def test_guests_who_sit_down_again_and_again_fill_no_room() -> None:
    """Three guests of one address, who take the free seat, abort the match and stand up as often
    as they may, add less than a quarter of the events that fill a room in half an hour; afterwards
    a friend from elsewhere sits down. Refusals do not use up the room's commands.
    """
    async with FakeServer().hub() as hub:
        host, friend = Client(hub, "host"), Client(hub, "friend")
        room = await host.create(seats=(MySeat(), OpenSeat()))
        guests = [Client(hub, f"guest {number}") for number in range(3)]
        sat: list[int] = []
        for second in range(1800):
            guest = guests[second % 3]
            if await ask_from(guest, ADDRESS, Sit(guest.new_id(), 1), room) == "ack":
                sat.append(second)
                for command in (Abort(guest.new_id()), Stand(guest.new_id())):
                    assert await ask_from(guest, ADDRESS, command, room) == "ack"
            guest.messages.clear()
            await asyncio.sleep(1)
        assert len([second for second in sat if second < 60]) >= 58, "a turn of seats is free"
        assert len(sat) < 60 + 2 * 30 + 2
        runner = hub.runner(room)
        assert runner is not None
        assert runner.room is not None
        assert runner.room.v < MAX_EVENTS_WITHOUT_MOVE // 4
        assert await ask_from(friend, OTHER_ADDRESS, Sit(friend.new_id(), 1), room) == "ack"


@virtual
async def test_an_identity_sits_down_in_one_room_so_often() -> None:
    """The limit of an identity holds in each room by itself, and from every address."""
    limits = {"limit_sits_burst": 2, "limit_sits_per_minute": 1}
    async with server(**limits, limit_commands_room_per_minute=9).hub() as hub:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        rooms = [await ben.create(seats=(MySeat(), OpenSeat())) for _ in range(2)]
        for room in rooms:
            for _ in range(2):
                await ada.ack(ada.sit(room, 1))
                await ada.ack(ada.plain(Abort, room))
                await ada.ack(ada.plain(Stand, room))
            for address in (ADDRESS, OTHER_ADDRESS) * 9:
                refused = await ask_from(ada, address, Sit(ada.new_id(), 1), room)
                assert refused == Code.RATE_EXCEEDED
            assert ada.of("error")[-1]["message"].endswith("try again in 60 s")
            await ben.ack(ben.chat(room, "the room takes commands"))
        await asyncio.sleep(60)
        await ada.ack(ada.sit(rooms[0], 1))


@virtual
async def test_a_refused_command_opens_no_room() -> None:
    """The limits come before anything that costs: a command beyond them does not make the node read
    a room's log.
    """
    async with server(**of_identity(1)).hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create()
        await ada.ack(ada.chat(room, "hello"))
        ada.close()
        await asyncio.sleep(11)
        hub.close_idle_rooms(0)
        assert await ada.expect_refusal(ada.chat(room, "again")) == Code.RATE_EXCEEDED
        assert len(hub) == 0


async def test_commands_over_a_socket_count_for_its_address() -> None:
    """Two guests of one address share its limit; a guest of another address has its own."""
    limits: dict[str, Any] = of_address(2)
    async with serve(**limits, proxies=("127.0.0.0/8",)) as node:
        room = await Client(node.hub, "host").create()
        answers = []
        for number, address in enumerate((ADDRESS, ADDRESS, ADDRESS, OTHER_ADDRESS)):
            async with node.socket({"X-Forwarded-For": address}) as socket:
                await socket.hello()
                answer = await socket.ask("chat", room=room, text=f"line {number}")
                answers.append(answer.get("code", answer["t"]))
        assert answers == ["ack", "ack", Code.RATE_EXCEEDED, "ack"]
