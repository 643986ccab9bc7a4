"""The expiry: which guests and rooms are deleted, and above all which are not."""

import asyncio
import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import pytest

from server.identity.guests import find_guest, new_guest
from server.limits.by_address import Limits
from server.net.session import Session, Sessions
from server.protocol import messages as wire
from server.protocol.codes import Close, Code
from server.runtime.expiry import EXPIRY_STEP_S, GUEST_DAYS, ROOM_DAYS
from server.runtime.hub import Hub
from server.store.base import DAY_MS, DaySpan, StoreUnavailable
from tests.support.fake_server import Client, FakeServer, loop_ms, virtual
from tests.support.node import Http, serve
from tests.support.two_players import ME, OPEN


class Later(FakeServer):
    """A world whose clock, with its store's, a test can advance."""

    ahead_ms = 0

    def __init__(self) -> None:
        super().__init__()
        self.store._now_ms = self.now_ms

    def now_ms(self) -> int:
        return loop_ms() + self.ahead_ms

    def pass_days(self, days: int) -> None:
        self.ahead_ms += days * DAY_MS


async def left_alone(hub: Hub, **fields: Any) -> str:
    """A room that Ada created, wrote in and left, and that the expiry has seen once."""
    ada = Client(hub, "ada")
    room = await ada.create(**fields)
    await ada.ack(ada.join(room))
    await ada.ack(ada.chat(room, "is anybody there?"))
    ada.close()
    hub.close_idle_rooms(0)
    await hub.expire_once()
    return room


# --- rooms ----------------------------------------------------------------------------------------


@virtual
async def test_a_room_without_a_match_goes() -> None:
    """A room is deleted after seven whole days without anyone in it.

    The lobby's watchers and later visitors learn of it.
    """
    world = Later()
    async with world.hub() as hub:
        room = await left_alone(hub)
        watcher = Client(hub, "cyd")
        await hub.lobby.watch(watcher, b"")
        world.pass_days(ROOM_DAYS)
        await hub.expire_once()
        assert await world.store.heads([room]) == {room: 3}
        world.pass_days(1)
        await asyncio.sleep(EXPIRY_STEP_S + 1)
        assert await world.store.heads([room]) == {}
        assert watcher.messages[-1]["gone"] == [room]
        assert await watcher.refused(watcher.join(room)) == Code.ROOM_UNKNOWN


@virtual
async def test_a_visit_begins_the_days_anew() -> None:
    """A visit without a command restarts the days, on any node, even if the bus carries nothing."""
    world = Later()
    async with world.hub("n1") as hub, world.hub("n2") as other:
        room = await left_alone(hub)
        world.bus.cut = True  # type: ignore[attr-defined]
        for _ in range(5):
            world.pass_days(ROOM_DAYS)
            visitor = Client(other, "cyd")
            await visitor.ack(visitor.join(room))
            visitor.close()
            other.close_idle_rooms(0)
            await hub.expire_once()
        assert await world.store.heads([room]) == {room: 3}
        assert world.store.calls["mark_rooms_seen"] == 5, "once a day and not at every visit"
        visitor = Client(other, "dan")
        await visitor.ack(visitor.join(room))
        assert world.store.calls["mark_rooms_seen"] == 5


@virtual
async def test_a_room_that_is_open_stays() -> None:
    """A room in which a player waits for weeks on one node is deleted by no node, and what they
    then do is kept.
    """
    world = Later()
    async with world.hub("n1") as hub, world.hub("n2") as other:
        ada = Client(hub, "ada")
        room = await ada.create(seats=(ME, OPEN))
        await ada.ack(ada.join(room))
        for _ in range(4 * ROOM_DAYS):
            world.pass_days(1)
            await hub.expire_once()
            await other.expire_once()
        assert await ada.ack(ada.chat(room, "still here")) == 3
        assert await world.store.heads([room]) == {room: 3}


@virtual
async def test_a_room_with_a_match_stays_for_ever() -> None:
    """A room with a match, running or aborted, is never deleted."""
    world = Later()
    async with world.hub() as hub:
        room = await left_alone(hub)
        ben = Client(hub, "ben")
        await ben.ack(ben.sit(room, 1))
        await ben.ack(ben.plain(wire.Abort, room))
        ben.close()
        hub.close_idle_rooms(0)
        for _ in range(3):
            world.pass_days(1000)
            await hub.expire_once()
        assert await world.store.heads([room]) == {room: 6}


@virtual
async def test_somebody_opens_a_room_as_it_goes() -> None:
    """A room that is deleted between the first and the last read of its log is room.unknown and is
    not opened.
    """
    world = Later()
    async with world.hub("n1") as hub, world.hub("n2") as other:
        room = await left_alone(hub)
        world.pass_days(ROOM_DAYS + 1)
        gate = world.store.hold("events")
        ada = Client(other, "ada")
        join, line = ada.join(room), ada.chat(room, "hello?")
        ada.say(join)
        ada.say(line)
        await world.store.waiting["events"].wait()
        await hub.expire_once()
        gate.set()
        for command in (join, line):
            assert (await ada.answer(command.id))["code"] == Code.ROOM_UNKNOWN
        assert other.runner(room) is None


@virtual
async def test_somebody_opens_a_room_before_it_goes() -> None:
    """Once a log has been read completely, no node deletes the room, so what it acknowledges is
    kept.
    """
    world = Later()
    async with world.hub("n1") as hub, world.hub("n2") as other:
        room = await left_alone(hub)
        world.pass_days(ROOM_DAYS + 1)
        ada = Client(other, "ada")
        await ada.ack(ada.join(room))
        await hub.expire_once()
        assert await ada.ack(ada.chat(room, "hello?")) == 4
        assert await world.store.heads([room]) == {room: 4}


@virtual
async def test_a_clock_that_is_ahead_lets_nothing_go() -> None:
    """Days are counted by the store's clock, which the heartbeat compares with the node's."""
    world = Later()
    async with world.hub() as hub:
        room = await left_alone(hub)
        world.store._now_ms = loop_ms
        world.pass_days(40)
        await hub.write_heartbeat()
        assert hub.clock_ahead_ms == 40 * DAY_MS
        await hub.expire_once()
        assert await world.store.heads([room]) == {room: 3}


@virtual
async def test_a_store_that_fails_is_asked_again() -> None:
    """A step that failed has changed nothing, and the next one does its work."""
    world = Later()
    async with world.hub() as hub:
        room = await left_alone(hub)
        world.pass_days(ROOM_DAYS + 1)
        world.store.fail("expire_rooms")
        with suppress(StoreUnavailable):
            await hub.expire_once()
        await asyncio.sleep(EXPIRY_STEP_S + 1)
        assert await world.store.heads([room]) == {}


# --- guests ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PresenceReport:
    """The part of a session that is used here."""

    identity: str
    last_heard_s: float = math.inf


async def let_go(world: FakeServer, days: int = GUEST_DAYS + 1) -> tuple[str, ...]:
    """Lets that many days pass without anyone. Returns what is deleted."""
    cast(Later, world).pass_days(days)
    today = world.now_ms() // DAY_MS
    return (
        await world.store.expire_identities("", DaySpan(today, today - GUEST_DAYS), 500)
    ).deleted


@virtual
async def test_guests_who_sat_stay() -> None:
    """A guest who took a seat or created a room stays; the others are deleted after thirty days, by
    any node.
    """
    world = Later()
    async with world.hub() as hub:
        limits = Limits(world.settings)
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
        world.pass_days(GUEST_DAYS)
        await hub.expire_once()
        world.pass_days(1)
        left = []
        for name, (_, token) in people.items():
            await hub.expire_once()
            if await find_guest(hub.ports, token, None) is not None:
                left.append(name)
        assert left == ["Maker", "Player"]


@pytest.mark.parametrize("call", ["create", "sit"])
@virtual
async def test_no_seat_is_of_a_guest_who_goes(call: str) -> None:
    """A guest is marked before the seat is theirs. If marking fails, nothing has happened."""
    world = Later()
    async with world.hub() as hub:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create()
        world.store.fail("mark_permanent")
        if call == "create":
            with pytest.raises(StoreUnavailable):
                await ben.create()
            assert len(await world.store.rooms(9)) == 1
        else:
            assert await ben.refused(ben.sit(room, 1)) == Code.STORE_RETRY
            assert await world.store.heads([room]) == {room: 2}


@virtual
async def test_a_day_is_noted_once() -> None:
    """A guest is marked once a day however often they say hello, and when they are created."""
    world = Later()
    async with world.hub() as hub:
        _, token = await new_guest(hub.ports, Limits(world.settings), "", None)
        for _ in range(3):
            for _ in range(4):
                assert await find_guest(hub.ports, token, None) is not None
            world.pass_days(1)
        assert world.store.calls["mark_identities_seen"] == 2


@virtual
async def test_who_stays_connected_is_seen() -> None:
    """A guest who said hello weeks ago and is still connected stays. A failing store is retried."""
    world = Later()
    async with world.hub() as hub:
        identity, token = await new_guest(hub.ports, Limits(world.settings), "", None)
        sessions = Sessions(hub)
        sessions._open.add(cast(Session, PresenceReport(identity.id)))
        watch = asyncio.create_task(sessions.run())
        await asyncio.sleep(1)
        for day in range(2 * GUEST_DAYS):
            if day == 3:
                world.store.fail("mark_identities_seen")
            world.pass_days(1)
            await asyncio.sleep(world.settings.silence_s)
            assert await let_go(world, 0) == ()
        assert world.store.calls["mark_identities_seen"] == 2 * GUEST_DAYS + 1
        watch.cancel()
        sessions._open.clear()
        assert await let_go(world) == (identity.id,)
        assert await find_guest(hub.ports, token, None) is None


async def guest(http: Http, cookie: str = "") -> tuple[str, str | None]:
    """The identity, and the token if it is new."""
    answer = await http.request(
        "/api/guest", "POST", {"Cookie": f"plyroom={cookie}"} if cookie else {}
    )
    assert answer.status == 200
    return answer.json["identity"], answer.cookies[
        "plyroom"
    ].value if "plyroom" in answer.cookies else None


async def test_a_browser_whose_guest_went_is_a_new_one() -> None:
    """A deleted guest's cookie makes a new guest, over HTTP and in a hello.

    A deleted token is refused, and hello without one works.
    """
    world = Later()
    async with serve(world) as node, node.http() as http:
        before, token = await guest(http)
        assert token is not None
        assert await let_go(world) == (before,)
        after, fresh = await guest(http, token)
        assert after != before
        assert fresh is not None
        assert await guest(http, fresh) == (after, None)
        async with node.socket({"Cookie": f"plyroom={token}"}) as socket:
            welcome = await socket.hello()
            assert welcome["identity"] not in (before, after)
        async with node.guest(token=welcome["token"]) as again:
            assert again.identity == welcome["identity"]
        async with node.socket({"Cookie": f"plyroom={fresh}"}) as socket:
            await socket.send(wire.Hello(protocol=wire.PROTOCOL, token=token))
            await socket.expect("error", code=Code.TOKEN_UNKNOWN)
            assert await socket.closed() == (Close.POLICY, Code.TOKEN_UNKNOWN)


async def test_a_guest_who_says_hello_at_that_moment() -> None:
    """A guest who is deleted between the lookup of the token and the mark gets the answer of an
    unknown token.
    """
    world = Later()
    async with serve(world) as node, node.http() as http:
        before, token = await guest(http)
        assert token is not None
        world.pass_days(GUEST_DAYS + 1)
        gate = world.store.hold("mark_identities_seen")
        asked = asyncio.create_task(guest(http, token))
        await world.store.waiting["mark_identities_seen"].wait()
        assert await let_go(world, 0) == (before,)
        gate.set()
        after, fresh = await asked
        assert after != before
        assert fresh is not None
