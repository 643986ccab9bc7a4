"""The expiry: the guests and rooms that it deletes, and those that it keeps."""

import asyncio
import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import msgspec
import pytest
from msgspec.structs import replace

from server.commands import Abort
from server.events import Occupant
from server.identity.guests import find_guest, new_guest
from server.ids import RoomId
from server.limits.by_address import Limits
from server.net.session import Session, Sessions
from server.protocol import messages as wire
from server.protocol.codes import Close, Code
from server.runtime.node.hub import Hub
from server.runtime.room.expiry import EXPIRY_STEP_S, GUEST_DAYS, ROOM_DAYS
from server.store.base import DAY_MS, DaySpan, Projection, StoreUnavailable
from tests.support.fake_server import Client, FakeServer, loop_ms, virtual
from tests.support.log_entries import finished, new_room, started
from tests.support.node import Http, Node, serve
from tests.support.two_players import ME, OPEN


class AdvancingServer(FakeServer):
    """A fake server whose clock a test can advance, together with its store's clock."""

    ahead_ms = 0

    def __init__(self) -> None:
        super().__init__()
        self.store.memory.nodes.now_ms = self.now_ms

    def now_ms(self) -> int:
        return loop_ms() + self.ahead_ms

    def pass_days(self, days: int) -> None:
        self.ahead_ms += days * DAY_MS


async def create_left_room(hub: Hub, **fields: Any) -> RoomId:
    """Lets Ada create a room, chat and leave, then runs the expiry once; returns the room's id."""
    ada = Client(hub, "ada")
    room = await ada.create(**fields)
    await ada.ack(ada.join(room))
    await ada.ack(ada.chat(room, "is anybody there?"))
    ada.close()
    hub.close_idle_rooms(0)
    await hub.expire_once()
    return room


@virtual
async def test_the_expiry_fills_in_the_columns_of_an_older_programs_matches() -> None:
    """A step fills in the players and the winner of a match that an older program finished."""
    fake = FakeServer()
    async with fake.hub() as hub:
        seats = msgspec.json.encode([Occupant("ada", "Ada"), Occupant("ben", "Ben")])
        older: list[Projection] = [
            replace(started("m"), seats=seats),
            replace(finished("m"), winner=None),
        ]
        await fake.store.logs.create_room(new_room("r", projections=older))
        await hub.expire_once()
        assert await fake.store.projections.fill_players(9) == 0
        assert await fake.store.projections.fill_winners(9) == 0


# --- rooms ----------------------------------------------------------------------------------------


@virtual
async def test_a_room_without_a_match_expires() -> None:
    """A room is deleted after seven full days without a follower.

    The lobby removes it, and joining it is refused.
    """
    fake = AdvancingServer()
    async with fake.hub() as hub:
        room = await create_left_room(hub)
        watcher = Client(hub, "cyd")
        await hub.lobby.watch(watcher, wire.Ack("w", None))
        fake.pass_days(ROOM_DAYS)
        await hub.expire_once()
        assert await fake.store.logs.heads([room]) == {room: 3}
        fake.pass_days(1)
        await asyncio.sleep(EXPIRY_STEP_S + 1)
        assert await fake.store.logs.heads([room]) == {}
        assert watcher.messages[-1]["gone"] == [room]
        assert await watcher.expect_refusal(watcher.join(room)) == Code.ROOM_UNKNOWN


@virtual
async def test_a_visit_restarts_the_expiry() -> None:
    """A visit without a command restarts the period, on any node, even without the bus."""
    fake = AdvancingServer()
    async with fake.hub("n1") as hub, fake.hub("n2") as other:
        room = await create_left_room(hub)
        fake.bus.cut = True  # type: ignore[attr-defined]
        for _ in range(5):
            fake.pass_days(ROOM_DAYS)
            visitor = Client(other, "cyd")
            await visitor.ack(visitor.join(room))
            visitor.close()
            other.close_idle_rooms(0)
            await hub.expire_once()
        assert await fake.store.logs.heads([room]) == {room: 3}
        assert fake.store.calls["mark_rooms_seen"] == 5, "a room is marked once a day"
        visitor = Client(other, "dan")
        await visitor.ack(visitor.join(room))
        assert fake.store.calls["mark_rooms_seen"] == 5


@virtual
async def test_a_room_that_is_open_stays() -> None:
    """No node ever deletes a room that is open on some node."""
    fake = AdvancingServer()
    async with fake.hub("n1") as hub, fake.hub("n2") as other:
        ada = Client(hub, "ada")
        room = await ada.create(seats=(ME, OPEN))
        await ada.ack(ada.join(room))
        for _ in range(4 * ROOM_DAYS):
            fake.pass_days(1)
            await hub.expire_once()
            await other.expire_once()
        assert await ada.ack(ada.chat(room, "still here")) == 3
        assert await fake.store.logs.heads([room]) == {room: 3}


@virtual
async def test_a_room_with_a_match_stays_forever() -> None:
    """A room with a match, running or aborted, is never deleted."""
    fake = AdvancingServer()
    async with fake.hub() as hub:
        room = await create_left_room(hub)
        ben = Client(hub, "ben")
        await ben.ack(ben.sit(room, 1))
        await ben.ack(ben.plain(Abort, room))
        ben.close()
        hub.close_idle_rooms(0)
        for _ in range(3):
            fake.pass_days(1000)
            await hub.expire_once()
        assert await fake.store.logs.heads([room]) == {room: 6}


@virtual
async def test_a_room_that_expires_while_it_is_opened() -> None:
    """If a room is deleted while a node reads its log, commands get room.unknown."""
    fake = AdvancingServer()
    async with fake.hub("n1") as hub, fake.hub("n2") as other:
        room = await create_left_room(hub)
        fake.pass_days(ROOM_DAYS + 1)
        gate = fake.store.hold("events")
        ada = Client(other, "ada")
        join, line = ada.join(room), ada.chat(room, "hello?")
        ada.send_command(join)
        ada.send_command(line)
        await fake.store.waiting["events"].wait()
        await hub.expire_once()
        gate.set()
        for command in (join, line):
            assert (await ada.answer(command.id))["code"] == Code.ROOM_UNKNOWN
        assert other.runner(room) is None


@virtual
async def test_an_opened_room_does_not_expire() -> None:
    """Once a node has opened a room, no node deletes it, so its acknowledged events stay."""
    fake = AdvancingServer()
    async with fake.hub("n1") as hub, fake.hub("n2") as other:
        room = await create_left_room(hub)
        fake.pass_days(ROOM_DAYS + 1)
        ada = Client(other, "ada")
        await ada.ack(ada.join(room))
        await hub.expire_once()
        assert await ada.ack(ada.chat(room, "hello?")) == 4
        assert await fake.store.logs.heads([room]) == {room: 4}


@virtual
async def test_a_clock_that_is_ahead_expires_nothing() -> None:
    """The expiry counts days by the store's clock, even if the node's is ahead."""
    fake = AdvancingServer()
    async with fake.hub() as hub:
        room = await create_left_room(hub)
        fake.store.memory.nodes.now_ms = loop_ms
        fake.pass_days(40)
        await hub.write_heartbeat()
        assert hub.clock_ahead_ms == 40 * DAY_MS
        await hub.expire_once()
        assert await fake.store.logs.heads([room]) == {room: 3}


@virtual
async def test_a_failed_step_is_repeated() -> None:
    """The next step of the expiry repeats the work of a failed one."""
    fake = AdvancingServer()
    async with fake.hub() as hub:
        room = await create_left_room(hub)
        fake.pass_days(ROOM_DAYS + 1)
        fake.store.fail("expire_rooms")
        with suppress(StoreUnavailable):
            await hub.expire_once()
        await asyncio.sleep(EXPIRY_STEP_S + 1)
        assert await fake.store.logs.heads([room]) == {}


# --- guests ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SessionStub:
    """The part of a session that `Sessions` uses."""

    identity: str
    last_received_s: float = math.inf


async def expire_guests_after(fake: FakeServer, days: int = GUEST_DAYS + 1) -> tuple[str, ...]:
    """Advances the clock by `days` and expires guests; returns the deleted ones."""
    cast(AdvancingServer, fake).pass_days(days)
    today = fake.now_ms() // DAY_MS
    return (
        await fake.store.expiry.expire_identities("", DaySpan(today, today - GUEST_DAYS), 500)
    ).deleted


@virtual
async def test_guests_who_sat_stay() -> None:
    """A guest who took a seat or created a room stays; others expire after thirty days."""
    fake = AdvancingServer()
    async with fake.hub() as hub:
        limits = Limits(fake.settings)
        people = {
            name: await new_guest(hub.ports, limits, "", name)
            for name in ("Maker", "Player", "Watcher")
        }
        maker, player, watcher = (
            Client(hub, identity.id, name) for name, (identity, _) in people.items()
        )
        room = await maker.create(seats=(OPEN, OPEN))
        await player.ack(player.sit(room, 0))
        await watcher.ack(watcher.join(room))
        await watcher.ack(watcher.chat(room, "nice"))
        fake.pass_days(GUEST_DAYS)
        await hub.expire_once()
        fake.pass_days(1)
        remaining = []
        for name, (_, token) in people.items():
            await hub.expire_once()
            if await find_guest(hub.ports, token) is not None:
                remaining.append(name)
        assert remaining == ["Maker", "Player"]


@pytest.mark.parametrize("call", ["create", "sit"])
@virtual
async def test_a_guest_is_marked_before_the_seat_is_taken(call: str) -> None:
    """A guest is marked permanent before the command; if marking fails, nothing changes."""
    fake = AdvancingServer()
    async with fake.hub() as hub:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create()
        fake.store.fail("mark_permanent")
        if call == "create":
            with pytest.raises(StoreUnavailable):
                await ben.create()
            assert len(await fake.store.projections.rooms(9)) == 1
        else:
            assert await ben.expect_refusal(ben.sit(room, 1)) == Code.STORE_RETRY
            assert await fake.store.logs.heads([room]) == {room: 2}


@virtual
async def test_a_guest_is_marked_as_seen_once_a_day() -> None:
    """A guest is marked when created and then once a day, for any number of hellos."""
    fake = AdvancingServer()
    async with fake.hub() as hub:
        _, token = await new_guest(hub.ports, Limits(fake.settings), "", None)
        for _ in range(3):
            for _ in range(4):
                assert await find_guest(hub.ports, token) is not None
            fake.pass_days(1)
        assert fake.store.calls["mark_identities_seen"] == 2


@virtual
async def test_a_connected_guest_does_not_expire() -> None:
    """A guest who stays connected does not expire, even if the store fails once."""
    fake = AdvancingServer()
    async with fake.hub() as hub:
        identity, token = await new_guest(hub.ports, Limits(fake.settings), "", None)
        sessions = Sessions(hub)
        sessions._open.add(cast(Session, SessionStub(identity.id)))
        watch = asyncio.create_task(sessions.run())
        await asyncio.sleep(1)
        for day in range(2 * GUEST_DAYS):
            if day == 3:
                fake.store.fail("mark_identities_seen")
            fake.pass_days(1)
            await asyncio.sleep(fake.settings.silence_s)
            assert await expire_guests_after(fake, 0) == ()
        assert fake.store.calls["mark_identities_seen"] == 2 * GUEST_DAYS + 1
        watch.cancel()
        sessions._open.clear()
        assert await expire_guests_after(fake) == (identity.id,)
        assert await find_guest(hub.ports, token) is None


async def request_guest(node: Node, http: Http, cookie: str = "") -> tuple[str, str | None]:
    """Requests a guest; returns the identity, and the token if it is new."""
    answer = await http.request(
        "/api/guest", "POST", {"Cookie": f"{node.cookie}={cookie}"} if cookie else {}
    )
    assert answer.status == 200
    new = answer.cookies.get(node.cookie)
    return answer.json["identity"], None if new is None else new.value


async def test_a_browser_whose_guest_was_deleted_becomes_a_new_guest() -> None:
    """The cookie of a deleted guest gives a new guest, over HTTP and in a hello.

    The deleted token in a hello is refused.
    """
    fake = AdvancingServer()
    async with serve(fake) as node, node.http() as http:
        before, token = await request_guest(node, http)
        assert token is not None
        assert await expire_guests_after(fake) == (before,)
        after, new_token = await request_guest(node, http, token)
        assert after != before
        assert new_token is not None
        assert await request_guest(node, http, new_token) == (after, None)
        async with node.socket({"Cookie": f"{node.cookie}={token}"}) as socket:
            welcome = await socket.hello()
            assert welcome["identity"] not in (before, after)
        async with node.guest(token=welcome["token"]) as again:
            assert again.identity == welcome["identity"]
        async with node.socket({"Cookie": f"{node.cookie}={new_token}"}) as socket:
            await socket.send(wire.Hello(protocol=wire.PROTOCOL, token=token))
            await socket.expect("error", code=Code.TOKEN_UNKNOWN)
            assert await socket.wait_closed() == (Close.POLICY, Code.TOKEN_UNKNOWN)


async def test_a_guest_who_is_deleted_during_hello() -> None:
    """A guest who is deleted between the lookup and the mark is treated as unknown."""
    fake = AdvancingServer()
    async with serve(fake) as node, node.http() as http:
        before, token = await request_guest(node, http)
        assert token is not None
        fake.pass_days(GUEST_DAYS + 1)
        gate = fake.store.hold("mark_identities_seen")
        requesting = asyncio.create_task(request_guest(node, http, token))
        await fake.store.waiting["mark_identities_seen"].wait()
        assert await expire_guests_after(fake, 0) == (before,)
        gate.set()
        after, new_token = await requesting
        assert after != before
        assert new_token is not None
