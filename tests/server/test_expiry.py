"""The expiry of guests and rooms: which ones are deleted and, above all, which ones are not."""

import asyncio
import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import pytest

from server.identity.guests import known_guest, new_guest
from server.limits.by_address import Limits
from server.net.session import Session, Sessions
from server.protocol import messages as wire
from server.protocol.codes import Close, Code
from server.runtime.expiry import GUEST_DAYS, LOOK_S, ROOM_DAYS
from server.runtime.hub import Hub
from server.store.base import DAY_MS, DaySpan, StoreUnavailable
from tests.support.fake_server import Client, World, loop_ms, virtual
from tests.support.node import Http, serve
from tests.support.two_players import ME, OPEN


class DatedWorld(World):
    """A world in which the test can advance the clocks of the nodes and of the store."""

    ahead_ms = 0

    def __init__(self) -> None:
        super().__init__()
        self.store._now_ms = self.now_ms

    def now_ms(self) -> int:
        return loop_ms() + self.ahead_ms

    def pass_days(self, days: int) -> None:
        self.ahead_ms += days * DAY_MS


async def left_alone(hub: Hub, **fields: Any) -> str:
    """Returns a room that Ada created, chatted in and left, after one check of the expiry."""
    ada = Client(hub, "ada")
    room = await ada.create(**fields)
    await ada.ack(ada.join(room))
    await ada.ack(ada.chat(room, "is anybody there?"))
    ada.close()
    hub.put_idle_away(0)
    await hub.look_for_old()
    return room


# --- rooms


@virtual
async def test_a_room_without_a_match_expires() -> None:
    """A room without a match expires after seven full days without visitors.

    The lobby's watchers are notified, and so is a client that joins later.
    """
    world = DatedWorld()
    async with world.hub() as hub:
        room = await left_alone(hub)
        watcher = Client(hub, "cyd")
        await hub.lobby.watch(watcher, b"")
        world.pass_days(ROOM_DAYS)
        await hub.look_for_old()
        assert await world.store.heads([room]) == {room: 3}
        world.pass_days(1)
        await asyncio.sleep(LOOK_S + 1)
        assert await world.store.heads([room]) == {}
        assert watcher.messages[-1]["gone"] == [room]
        assert await watcher.refused(watcher.join(room)) == Code.ROOM_UNKNOWN


@virtual
async def test_a_visit_restarts_the_days() -> None:
    """A visit on any node restarts the seven days, even if the bus loses messages."""
    world = DatedWorld()
    async with world.hub("n1") as hub, world.hub("n2") as other:
        room = await left_alone(hub)
        world.bus.cut = True  # type: ignore[attr-defined]
        for _ in range(5):
            world.pass_days(ROOM_DAYS)
            visitor = Client(other, "cyd")
            await visitor.ack(visitor.join(room))
            visitor.close()
            other.put_idle_away(0)
            await hub.look_for_old()
        assert await world.store.heads([room]) == {room: 3}
        assert world.store.calls["saw_rooms"] == 5, "one write a day, not one a visit"
        visitor = Client(other, "dan")
        await visitor.ack(visitor.join(room))
        assert world.store.calls["saw_rooms"] == 5


@virtual
async def test_a_room_that_is_open_stays() -> None:
    """A room with a connected client does not expire on any node, and later commands are stored."""
    world = DatedWorld()
    async with world.hub("n1") as hub, world.hub("n2") as other:
        ada = Client(hub, "ada")
        room = await ada.create(seats=(ME, OPEN))
        await ada.ack(ada.join(room))
        for _ in range(4 * ROOM_DAYS):
            world.pass_days(1)
            await hub.look_for_old()
            await other.look_for_old()
        assert await ada.ack(ada.chat(room, "still here")) == 3
        assert await world.store.heads([room]) == {room: 3}


@virtual
async def test_a_room_with_a_match_never_expires() -> None:
    """A room with a match, running or aborted, never expires."""
    world = DatedWorld()
    async with world.hub() as hub:
        room = await left_alone(hub)
        ben = Client(hub, "ben")
        await ben.ack(ben.sit(room, 1))
        await ben.ack(ben.plain(wire.Abort, room))
        ben.close()
        hub.put_idle_away(0)
        for _ in range(3):
            world.pass_days(1000)
            await hub.look_for_old()
        assert await world.store.heads([room]) == {room: 6}


@virtual
async def test_a_room_is_opened_during_its_deletion() -> None:
    """A client that opens a room during its deletion is told that it is gone.

    The room is opened between the first and the last read of its log.
    """
    world = DatedWorld()
    async with world.hub("n1") as hub, world.hub("n2") as other:
        room = await left_alone(hub)
        world.pass_days(ROOM_DAYS + 1)
        gate = world.store.hold("events")
        ada = Client(other, "ada")
        join, line = ada.join(room), ada.chat(room, "hello?")
        ada.say(join)
        ada.say(line)
        await world.store.waiting["events"].wait()
        await hub.look_for_old()
        gate.set()
        for command in (join, line):
            assert (await ada.answer(command.id))["code"] == Code.ROOM_UNKNOWN
        assert other.runner(room) is None


@virtual
async def test_somebody_opens_a_room_before_it_goes() -> None:
    """Once a node has loaded a room, no node deletes it.

    Commands that are acknowledged from then on are kept.
    """
    world = DatedWorld()
    async with world.hub("n1") as hub, world.hub("n2") as other:
        room = await left_alone(hub)
        world.pass_days(ROOM_DAYS + 1)
        ada = Client(other, "ada")
        await ada.ack(ada.join(room))
        await hub.look_for_old()
        assert await ada.ack(ada.chat(room, "hello?")) == 4
        assert await world.store.heads([room]) == {room: 4}


@virtual
async def test_a_clock_that_is_ahead_lets_nothing_go() -> None:
    """A node's fast clock deletes nothing: the days are those of the store's clock.

    The heartbeat compares both clocks.
    """
    world = DatedWorld()
    async with world.hub() as hub:
        room = await left_alone(hub)
        world.store._now_ms = loop_ms
        world.pass_days(40)
        await hub.beat()
        assert hub.clock_ahead_ms == 40 * DAY_MS
        await hub.look_for_old()
        assert await world.store.heads([room]) == {room: 3}


@virtual
async def test_a_failed_expiry_is_retried() -> None:
    """After a store failure the next check deletes; the failed one has changed nothing."""
    world = DatedWorld()
    async with world.hub() as hub:
        room = await left_alone(hub)
        world.pass_days(ROOM_DAYS + 1)
        world.store.fail("expire_rooms")
        with suppress(StoreUnavailable):
            await hub.look_for_old()
        await asyncio.sleep(LOOK_S + 1)
        assert await world.store.heads([room]) == {}


# --- guests


@dataclass(frozen=True)
class FakeSession:
    """The attributes of a session that the test needs."""

    identity: str
    last_heard_s: float = math.inf


async def let_go(world: World, days: int = GUEST_DAYS + 1) -> tuple[str, ...]:
    """Lets that many days pass without visitors; returns the identities that expire."""
    cast(DatedWorld, world).pass_days(days)
    today = world.now_ms() // DAY_MS
    return (await world.store.expire_identities("", DaySpan(today, today - GUEST_DAYS), 500)).gone


@virtual
async def test_guests_who_sat_stay() -> None:
    """A guest who took a seat or made a room stays; others expire after thirty days."""
    world = DatedWorld()
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
        await hub.look_for_old()
        world.pass_days(1)
        left = []
        for name, (_, token) in people.items():
            await hub.look_for_old()
            if await known_guest(hub.ports, token, None) is not None:
                left.append(name)
        assert left == ["Maker", "Player"]


@pytest.mark.parametrize("call", ["create", "sit"])
@virtual
async def test_a_guest_is_marked_before_they_sit(call: str) -> None:
    """A guest is marked before they get a seat; if that fails, nothing changes."""
    world = DatedWorld()
    async with world.hub() as hub:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create()
        world.store.fail("mark_sat")
        if call == "create":
            with pytest.raises(StoreUnavailable):
                await ben.create()
            assert len(await world.store.rooms(9)) == 1
        else:
            assert await ben.refused(ben.sit(room, 1)) == Code.STORE_RETRY
            assert await world.store.heads([room]) == {room: 2}


@virtual
async def test_a_day_is_stored_once() -> None:
    """A guest's day is stored at creation and once on each later day, whatever they send."""
    world = DatedWorld()
    async with world.hub() as hub:
        _, token = await new_guest(hub.ports, Limits(world.settings), "", None)
        for _ in range(3):
            for _ in range(4):
                assert await known_guest(hub.ports, token, None) is not None
            world.pass_days(1)
        assert world.store.calls["saw_identities"] == 2


@virtual
async def test_who_stays_connected_is_seen() -> None:
    """A guest who stays connected for weeks does not expire; a failed store call is retried."""
    world = DatedWorld()
    async with world.hub() as hub:
        identity, token = await new_guest(hub.ports, Limits(world.settings), "", None)
        sessions = Sessions(hub)
        sessions._open.add(cast(Session, FakeSession(identity.id)))
        watch = asyncio.create_task(sessions.run())
        await asyncio.sleep(1)
        for day in range(2 * GUEST_DAYS):
            if day == 3:
                world.store.fail("saw_identities")
            world.pass_days(1)
            await asyncio.sleep(world.settings.silence_s)
            assert await let_go(world, 0) == ()
        assert world.store.calls["saw_identities"] == 2 * GUEST_DAYS + 1
        watch.cancel()
        sessions._open.clear()
        assert await let_go(world) == (identity.id,)
        assert await known_guest(hub.ports, token, None) is None


async def guest(http: Http, cookie: str = "") -> tuple[str, str | None]:
    """Requests a guest; returns the identity, and the token if it is new."""
    answer = await http.request(
        "/api/guest", "POST", {"Cookie": f"plyroom={cookie}"} if cookie else {}
    )
    assert answer.status == 200
    return answer.json["identity"], answer.cookies[
        "plyroom"
    ].value if "plyroom" in answer.cookies else None


async def test_a_browser_whose_guest_expired_gets_a_new_one() -> None:
    """A browser whose guest expired gets a new one, by HTTP or a socket's hello.

    A hello with an expired token is refused, and the client may send one without a token.
    """
    world = DatedWorld()
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
    """A guest that expires between the lookup and the update of its day counts as unknown."""
    world = DatedWorld()
    async with serve(world) as node, node.http() as http:
        before, token = await guest(http)
        assert token is not None
        world.pass_days(GUEST_DAYS + 1)
        gate = world.store.hold("saw_identities")
        request = asyncio.create_task(guest(http, token))
        await world.store.waiting["saw_identities"].wait()
        assert await let_go(world, 0) == (before,)
        gate.set()
        after, fresh = await request
        assert after != before
        assert fresh is not None
