"""Players who go: what the nodes know of connections, and who may claim the match when."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from server.bus.base import ConnectionReport, PageClosed, PresenceReport
from server.commands import ClaimWin, LetAiPlay, ReclaimSeat, Stand
from server.ids import RoomId
from server.protocol import messages as wire
from server.protocol.codes import Code
from server.runtime.node.duties import SWEEP_S
from server.runtime.node.hub import Hub
from server.runtime.node.membership import SILENT_NODE_S
from server.settings import Settings
from server.store.base import Identity
from tests.support.fake_server import Client, FakeServer, FaultyBus, first_legal, virtual
from tests.support.two_players import playing

GONE_S, CLOSED_PAGE_S = Settings().gone_ms / 1000, Settings().page_closed_ms / 1000
#: The claims, in the order of `may`.
CLAIMS = ["claim_win", "call_draw", "let_ai_play"]
#: Time for messages between nodes and to clients, in seconds.
MOMENT_S = 0.5


def claims_of(client: Client) -> list[str]:
    """Returns the claims that the client's newest list permits."""
    may = [m["may"] for m in client.messages if m["t"] in ("may", "joined")][-1]
    return [name for name in may if name in CLAIMS]


def gone_ms(client: Client) -> list[int | None]:
    """Returns the times until a claim in the client's newest presence message."""
    times: list[int | None] = client.of("presence")[-1].get("gone_ms", [])
    return times


def elsewhere(client: Client) -> list[int]:
    """Returns the seats of those who are on another page, in the newest presence message."""
    seats: list[int] = client.of("presence")[-1].get("elsewhere", [])
    return seats


def claim_win(client: Client, room: str) -> wire.RoomFrame:
    return client.plain(ClaimWin, room)


async def begin(room: str, ada: Client, ben: Client) -> None:
    """Plays three moves, so that both have moved and Ben is to move: Ada may claim if he goes."""
    for ply, (client, move) in enumerate([(ada, "b2"), (ben, "a1"), (ada, "c3")]):
        await client.ack(client.move(room, ply, move))


@asynccontextmanager
async def on_bens_turn() -> AsyncIterator[tuple[FakeServer, Hub, RoomId, Client, Client]]:
    """Opens a hub with a match of Ada against Ben, in which Ben is to move."""
    async with playing() as (fake, hub, room, ada, ben):
        await begin(room, ada, ben)
        yield fake, hub, room, ada, ben


@asynccontextmanager
async def on_two_nodes(
    fault_rate: float = 0.0,
) -> AsyncIterator[tuple[FakeServer, RoomId, Client, Client, Hub]]:
    """Opens a match of Ada on one node against Ben on another one, in which Ben is to move; yields
    Ben's node too.
    """
    fake = FakeServer()
    fake.bus = FaultyBus(seed=3, fault_rate=fault_rate)
    async with fake.hub("n1") as hub, fake.hub("n2") as other:
        ada, ben = Client(hub, "ada"), Client(other, "ben")
        room = await ada.create()
        await ada.ack(ada.join(room))
        await ben.ack(ben.join(room))
        await ben.ack(ben.sit(room, 1))
        await begin(room, ada, ben)
        await asyncio.sleep(2)
        yield fake, room, ada, ben, other


# --- on one node ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("has_closed", "limit_s"), [(False, GONE_S), (True, CLOSED_PAGE_S)])
def test_the_claims_are_listed_when_the_time_has_come(has_closed: bool, limit_s: float) -> None:
    """The other player receives the time that is left, and the claims when it has passed; not
    earlier, and without sending anything.
    """

    @virtual
    async def run() -> None:
        async with on_bens_turn() as (_, _, room, ada, ben):
            ben.close(has_closed)
            await asyncio.sleep(MOMENT_S)
            left_ms = gone_ms(ada)[1]
            assert left_ms is not None
            assert limit_s - 0.2 <= left_ms / 1000 <= limit_s
            assert gone_ms(ada)[0] is None
            await asyncio.sleep(limit_s - MOMENT_S - 0.2)
            assert claims_of(ada) == []
            assert await ada.expect_refusal(claim_win(ada, room)) == Code.CLAIM_NONE
            await asyncio.sleep(0.4)
            assert claims_of(ada) == CLAIMS
            await ada.ack(claim_win(ada, room))
            assert (await ada.event("finished"))["how"] == "gone"
            await asyncio.sleep(MOMENT_S)
            assert gone_ms(ada) == []
            assert claims_of(ada) == []

    run()


@virtual
async def test_the_claims_come_with_the_players_own_move() -> None:
    """A player to move whose opponent went long ago has no claim; the move that ends the turn lists
    the claims.
    """
    async with on_bens_turn() as (_, _, room, ada, ben):
        await ben.ack(ben.move(room, 3, "a2"))
        ben.close(has_closed_page=True)
        await asyncio.sleep(GONE_S)
        assert claims_of(ada) == []
        assert await ada.expect_refusal(claim_win(ada, room)) == Code.CLAIM_NONE
        await ada.ack(ada.move(room, 4, "b1"))
        assert claims_of(ada) == CLAIMS
        await ada.ack(claim_win(ada, room))


@virtual
async def test_a_player_who_comes_back_ends_the_time() -> None:
    """When the opponent is back, the claims leave the list, and a later absence begins anew."""
    async with on_bens_turn() as (_, hub, room, ada, ben):
        ben.close(has_closed_page=True)
        await asyncio.sleep(CLOSED_PAGE_S + MOMENT_S)
        assert claims_of(ada) == CLAIMS
        again = Client(hub, "ben")
        await again.ack(again.join(room))
        assert await ada.expect_refusal(claim_win(ada, room)) == Code.CLAIM_NONE
        await asyncio.sleep(MOMENT_S)
        assert (claims_of(ada), gone_ms(ada)) == ([], [])
        again.close()
        await asyncio.sleep(CLOSED_PAGE_S + MOMENT_S)
        assert await ada.expect_refusal(claim_win(ada, room)) == Code.CLAIM_NONE
        await asyncio.sleep(GONE_S - CLOSED_PAGE_S)
        assert claims_of(ada) == CLAIMS


@virtual
async def test_a_short_connection_begins_the_time_anew() -> None:
    """A connection that lasts only a moment counts as the last one, on either node."""
    async with on_two_nodes() as (_, room, ada, ben, other):
        ben.close()
        for hub in (ada.hub, other):
            await asyncio.sleep(GONE_S - 1)
            again = Client(hub, "ben")
            await again.ack(again.join(room))
            again.close()
        await asyncio.sleep(GONE_S - 1)
        assert await ada.expect_refusal(claim_win(ada, room)) == Code.CLAIM_NONE
        await asyncio.sleep(2)
        await ada.ack(claim_win(ada, room))


@virtual
async def test_a_closed_page_counts_only_if_it_was_the_last() -> None:
    """A player who closes one of two pages has not gone; when the other page's connection then
    breaks, the longer time holds.
    """
    async with on_bens_turn() as (_, hub, room, ada, ben):
        second = Client(hub, "ben")
        await second.ack(second.join(room))
        ben.close(has_closed_page=True)
        runner = hub.runner(room)
        assert runner is not None
        runner.receive(PageClosed(room, "n9", ben.identity))  # and a third one on another node
        await asyncio.sleep(GONE_S)
        assert claims_of(ada) == []
        second.close()
        await asyncio.sleep(CLOSED_PAGE_S + 1)
        assert claims_of(ada) == []
        await asyncio.sleep(GONE_S - CLOSED_PAGE_S)
        assert claims_of(ada) == CLAIMS


@virtual
async def test_spectators_see_the_time_and_claim_nothing() -> None:
    """A spectator receives the countdown; the spectator's own leaving is none."""
    async with on_bens_turn() as (_, hub, room, _, ben):
        cyd, dan = Client(hub, "cyd"), Client(hub, "dan")
        for client in (cyd, dan):
            await client.ack(client.join(room))
        dan.close()
        await asyncio.sleep(MOMENT_S)
        assert gone_ms(cyd) == []
        ben.close()
        await asyncio.sleep(GONE_S + MOMENT_S)
        assert gone_ms(cyd)[1] is not None
        assert claims_of(cyd) == []


@virtual
async def test_a_player_on_another_page_is_said_to_be_there() -> None:
    """The opponent in the room reads that an absent player has a connection to the server, as soon
    as one comes or goes; it changes neither the time until a claim nor the claims. A room that
    closes seeks nobody any more.
    """
    async with on_bens_turn() as (_, hub, room, ada, ben):
        page, stranger = Client(hub, "ben"), Client(hub, "eve")
        ben.close()
        await asyncio.sleep(MOMENT_S)
        assert elsewhere(ada) == []
        hub.connections.connect(stranger)
        hub.connections.connect(page)
        await asyncio.sleep(MOMENT_S)
        assert elsewhere(ada) == [1]
        await asyncio.sleep(GONE_S)
        assert (elsewhere(ada), claims_of(ada)) == ([1], CLAIMS)
        second = Client(hub, "ben")
        hub.connections.connect(second)
        page.close()
        await asyncio.sleep(MOMENT_S)
        assert elsewhere(ada) == [1]
        second.close()
        await asyncio.sleep(MOMENT_S)
        assert elsewhere(ada) == []
        runner = hub.runner(room)
        assert runner is not None
        assert list(hub.connections._sought) == ["ben"]
        runner.presence.close()
        assert hub.connections._sought == {}


@virtual
async def test_strangers_do_not_learn_who_is_on_the_server() -> None:
    """A spectator receives no message when an absent player comes to the server or goes, nor do the
    watchers of the lobby; one who joins later reads nothing of it, and a room without a player in
    it seeks nobody. Who takes a seat reads it, and who gives it up no more.
    """
    async with on_bens_turn() as (_, hub, room, ada, ben):
        eve, lobby, page = Client(hub, "eve"), Client(hub, "lobby"), Client(hub, "ben")
        await eve.ack(eve.join(room))
        await hub.lobby.watch(lobby, wire.Ack("watch", None))
        ben.close()
        await asyncio.sleep(2)
        hub.connections.connect(page)
        await asyncio.sleep(2)
        assert elsewhere(ada) == [1]
        late = Client(hub, "late")
        await late.ack(late.join(room))
        await asyncio.sleep(2)
        assert [elsewhere(each) for each in (ada, eve, late)] == [[1], [], []]
        for client in (eve, late, lobby):
            client.messages.clear()
        page.close()
        await asyncio.sleep(2)
        assert elsewhere(ada) == []
        hub.connections.connect(Client(hub, "ben"))
        await asyncio.sleep(2)
        assert elsewhere(ada) == [1]
        assert [client.messages for client in (eve, late, lobby)] == [[], [], []]
        await asyncio.sleep(GONE_S)
        await ada.ack(claim_win(ada, room))
        await asyncio.sleep(2)
        await ada.ack(ada.plain(Stand, room))
        await eve.ack(eve.sit(room, 0))
        await asyncio.sleep(2)
        assert [elsewhere(each) for each in (ada, eve, late)] == [[], [1], []]
        eve.close()
        await asyncio.sleep(2)
        assert (elsewhere(late), hub.connections._sought) == ([], {})


# --- on two nodes ---------------------------------------------------------------------------------


@virtual
async def test_a_player_who_goes_on_another_node() -> None:
    """A closed page on one node is claimed on the other one after 20 s, a crash after 60 s."""
    for has_closed, limit_s in ((True, CLOSED_PAGE_S), (False, GONE_S)):
        async with on_two_nodes() as (_, room, ada, ben, _):
            ben.close(has_closed)
            await asyncio.sleep(limit_s - 1)
            assert await ada.expect_refusal(claim_win(ada, room)) == Code.CLAIM_NONE
            await asyncio.sleep(1 + MOMENT_S)
            assert claims_of(ada) == CLAIMS
            await ada.ack(claim_win(ada, room))


@virtual
async def test_a_player_on_another_page_of_another_node() -> None:
    """Another node says that it has an absent player's connection: at once when it is asked, else
    with the next sweep; a connection that ends there is forgotten with the second one.
    """
    async with on_two_nodes() as (fake, room, ada, ben, other), fake.hub("n3") as third:
        said: list[ConnectionReport] = []
        stop = fake.bus.listen(
            lambda each: said.append(each) if isinstance(each, ConnectionReport) else None
        )
        page = Client(third, "ben")
        third.connections.connect(page)
        third.connections.connect(Client(third, "eve"))
        ben.close()
        await asyncio.sleep(MOMENT_S)
        assert elsewhere(ada) == [1]
        page.close()
        await asyncio.sleep(2 * SWEEP_S + MOMENT_S)
        assert elsewhere(ada) == []
        other.connections.connect(Client(other, "ben"))
        await asyncio.sleep(SWEEP_S + MOMENT_S)
        assert elsewhere(ada) == [1]
        await asyncio.sleep(GONE_S)
        assert (elsewhere(ada), claims_of(ada)) == ([1], CLAIMS)
        sought = ada.hub.connections
        sought.on_message(ConnectionReport("n3", frozenset({"ben", "eve"})))
        assert sought._elsewhere == {"ben"}, "of those whom it did not seek it keeps nothing"
        again = Client(ada.hub, "ben")
        await again.ack(again.join(room))
        await asyncio.sleep(MOMENT_S)
        assert (elsewhere(ada), sought._sought, sought._elsewhere) == ([], {}, set())
        stop()
        assert said
        assert not any("eve" in each.identities for each in said)


@pytest.mark.parametrize("reported_down", [False, True])
def test_a_partition_gives_nobody_a_win(reported_down: bool) -> None:
    """While the nodes cannot hear each other, neither player may claim, however long it lasts,
    whether or not the bus reports that it is down. Afterwards nobody has gone.
    """

    @virtual
    async def run() -> None:
        async with on_two_nodes() as (fake, room, ada, ben, _):
            bus = fake.bus
            assert isinstance(bus, FaultyBus)
            bus.cut, bus.is_up = True, not reported_down
            for _ in range(20):
                await asyncio.sleep(GONE_S / 4)
                for client in (ada, ben):
                    code = await client.expect_refusal(claim_win(client, room))
                    assert code in (Code.CLAIM_NONE, Code.CLAIM_UNSURE)
                    assert claims_of(client) == []
            bus.cut, bus.is_up = False, True
            await asyncio.sleep(2 * GONE_S)
            assert (gone_ms(ada), claims_of(ada)) == ([], [])
            assert (gone_ms(ben), claims_of(ben)) == ([], [])

    run()


@virtual
async def test_after_a_partition_the_time_begins_anew() -> None:
    """A player who closed the page before a partition can be claimed 20 s after its end; until
    then the node is unsure.
    """
    async with on_two_nodes() as (fake, room, ada, ben, other):
        watcher = Client(other, "cyd")
        await watcher.ack(watcher.join(room))
        bus = fake.bus
        assert isinstance(bus, FaultyBus)
        ben.close(has_closed_page=True)
        await asyncio.sleep(CLOSED_PAGE_S - 1)
        bus.cut = True
        await asyncio.sleep(SILENT_NODE_S + 2)
        assert await ada.expect_refusal(claim_win(ada, room)) == Code.CLAIM_UNSURE
        bus.cut = False
        await asyncio.sleep(CLOSED_PAGE_S - 1)
        assert await ada.expect_refusal(claim_win(ada, room)) == Code.CLAIM_UNSURE
        await asyncio.sleep(10)
        assert claims_of(ada) == CLAIMS
        await ada.ack(claim_win(ada, room))


@virtual
async def test_lost_messages_about_a_room_begin_its_times_anew() -> None:
    """If the bus lost messages about one room only, a player of that room may have come back
    elsewhere: the claim waits for the whole time again. The times of other rooms go on.
    """
    async with on_two_nodes() as (_, room, ada, ben, other):
        cyd, dan = Client(ada.hub, "cyd"), Client(other, "dan")
        second = await cyd.create()
        for client in (cyd, dan):
            await client.ack(client.join(second))
        await dan.ack(dan.sit(second, 1))
        await begin(second, cyd, dan)
        await asyncio.sleep(2)
        for client in (ben, dan):
            client.close(has_closed_page=True)
        await asyncio.sleep(CLOSED_PAGE_S - 1)
        ada.hub.membership.on_gap(frozenset({room}))
        await asyncio.sleep(1 + MOMENT_S)
        await cyd.ack(claim_win(cyd, second))
        assert await ada.expect_refusal(claim_win(ada, room)) == Code.CLAIM_UNSURE
        assert claims_of(ada) == []
        await asyncio.sleep(CLOSED_PAGE_S - 2)
        assert await ada.expect_refusal(claim_win(ada, room)) == Code.CLAIM_UNSURE
        await asyncio.sleep(1 + MOMENT_S)
        assert claims_of(ada) == CLAIMS
        await ada.ack(claim_win(ada, room))


@virtual
async def test_a_lost_report_is_asked_for() -> None:
    """If the report of a player's return is lost, the other node has it soon, because it asks while
    a player is absent.
    """
    async with on_two_nodes() as (fake, room, ada, ben, other):
        bus = fake.bus
        assert isinstance(bus, FaultyBus)
        ben.close(has_closed_page=True)
        await asyncio.sleep(2)
        bus.cut = True
        again = Client(other, "ben")
        await again.ack(again.join(room))
        await asyncio.sleep(1)  # too short for the other node to notice
        bus.cut = False
        for _ in range(int(GONE_S)):
            await asyncio.sleep(1)
            assert await ada.expect_refusal(claim_win(ada, room)) == Code.CLAIM_NONE
        assert gone_ms(ada) == []


@virtual
async def test_a_lossy_bus_gives_nobody_a_win() -> None:
    """On a bus that loses, repeats and delays a fifth of all messages, no player who is connected
    loses by a claim, while both change nodes again and again.
    """
    async with on_two_nodes(fault_rate=0.2) as (_, room, ada, ben, other):
        players = [ada, ben]
        for turn in range(60):
            number = turn % 2
            client = players[number]
            hub = other if client.hub is ada.hub else ada.hub
            moved = Client(hub, client.identity)
            await moved.ack(moved.join(room))
            client.close(has_closed_page=turn % 3 == 0)
            players[number] = moved
            await asyncio.sleep(7)
            for each in players:
                code = await each.expect_refusal(claim_win(each, room))
                assert code in (Code.CLAIM_NONE, Code.CLAIM_UNSURE)


@virtual
async def test_a_move_shows_that_a_player_is_there() -> None:
    """A player whose presence a node has not learned of, but whose move it has, has not gone."""
    async with on_bens_turn() as (_, hub, room, ada, ben):
        ben.close()
        await asyncio.sleep(GONE_S - 1)
        stealthy = Client(hub, "ben")  # moves on another node: here, without joining
        await stealthy.ack(stealthy.move(room, 3, "a2"))
        await ada.ack(ada.move(room, 4, "b1"))
        await asyncio.sleep(2)
        assert await ada.expect_refusal(claim_win(ada, room)) == Code.CLAIM_NONE
        await asyncio.sleep(GONE_S)
        assert claims_of(ada) == CLAIMS


@virtual
async def test_reports_in_any_order() -> None:
    """A node's report from before a page was closed, which arrives late, only delays the claim."""
    async with on_two_nodes() as (_, room, ada, ben, _):
        runner = ada.hub.runner(room)
        assert runner is not None
        ben.close(has_closed_page=True)
        await asyncio.sleep(1)
        runner.receive(PresenceReport(room, "n2", frozenset({"ben"}), 0))
        await asyncio.sleep(CLOSED_PAGE_S)
        assert await ada.expect_refusal(claim_win(ada, room)) == Code.CLAIM_NONE


# --- the AI keeps a seat across nodes -------------------------------------------------------------


@virtual
async def test_the_ai_keeps_the_seat_when_a_node_dies() -> None:
    """The AI plays on for the player on the node that survives; the player comes back there, takes
    the seat, and receives the moves.
    """
    fake = FakeServer()
    async with fake.hub("n2") as other:
        async with fake.hub("n1") as hub:
            ada, ben = Client(other, "ada"), Client(hub, "ben")
            room = await ada.create()
            await ada.ack(ada.join(room))
            await ben.ack(ben.join(room))
            await ben.ack(ben.sit(room, 1))
            await begin(room, ada, ben)
            cyd = Client(hub, "cyd")
            await cyd.ack(cyd.join(room))
            ben.close(has_closed_page=True)
            await asyncio.sleep(CLOSED_PAGE_S + 1)
            gate = asyncio.Event()

            async def wait_for_ever(_job: object) -> str:
                await gate.wait()
                raise AssertionError("the search is cancelled")

            fake.engines.answer = wait_for_ever
            ada_on_n1 = Client(hub, "ada")
            await ada_on_n1.ack(ada_on_n1.join(room))
            await ada_on_n1.ack(ada_on_n1.plain(LetAiPlay, room))
            await asyncio.sleep(1)
        fake.engines.answer = first_legal
        moved = await ada.until(lambda m: m.get("kind") == "moved" and m["ply"] == 3)
        assert moved["seat"] == 1
        ben = Client(other, "ben")
        await ben.ack(ben.join(room))
        assert "reclaim_seat" in ben.of("joined")[-1]["may"]
        assert ben.of("snapshot")[-1]["seats"][1]["kept_for"]["identity"] == "ben"
        await ada.ack(ada.move(room, 4, "c2"))
        await ben.ack(ben.plain(ReclaimSeat, room))
        await ben.until(lambda m: m["t"] == "turn" or m.get("ply") == 5)


@virtual
async def test_a_player_whose_seat_is_kept_reads_no_lines_of_spectators() -> None:
    """While the AI keeps the seat, the player's connection still counts as a player's."""
    async with on_bens_turn() as (_, hub, room, ada, ben):
        ben.close(has_closed_page=True)
        await asyncio.sleep(CLOSED_PAGE_S + 1)
        await ada.ack(ada.plain(LetAiPlay, room))
        cyd, again = Client(hub, "cyd"), Client(hub, "ben")
        await cyd.ack(cyd.join(room))
        await again.ack(again.join(room))
        await cyd.ack(cyd.chat(room, "take on c3!", "spectators"))
        await asyncio.sleep(MOMENT_S)
        assert again.events()[-1]["kind"] == "hidden"
        code = await again.expect_refusal(again.chat(room, "psst", "spectators"))
        assert code == Code.SEAT_ALREADY


# --- names ----------------------------------------------------------------------------------------


async def set_name(fake: FakeServer, identity: str, name: str) -> None:
    """Makes the store know an identity by a name."""
    identities = fake.store.memory.identities
    known = Identity(Client(None, identity).identity, name)  # type: ignore[arg-type]
    if await identities.find(known.id) is None:
        await identities.add_guest(known, identity.encode(), 0)
    await identities.rename(known.id, name)


@virtual
async def test_another_name_reaches_every_client_and_the_lobby() -> None:
    """When a player joins again under another name, the clients on all nodes and the lobby's
    watchers receive it, and a line of chat has it.
    """
    async with playing() as (fake, hub, room, ada, ben), fake.hub("n2") as other:
        watcher, cyd = Client(other, "dan"), Client(other, "cyd")
        await other.lobby.watch(watcher, wire.Ack("w", None))
        await cyd.ack(cyd.join(room))
        await set_name(fake, "ben", "Benjamin")
        ben.close()
        again = Client(hub, "ben", "Benjamin")
        await again.ack(again.join(room))
        for client in (ada, cyd):
            assert (await client.event("renamed"))["name"] == "Benjamin"
        await watcher.until(
            lambda m: (
                m["t"] == "lobby"
                and [seat["name"] for entry in m.get("rooms", ()) for seat in entry["seats"]]
                == ["Ada", "Benjamin"]
            )
        )
        await again.ack(again.chat(room, "hello"))
        assert (await ada.event("said"))["name"] == "Benjamin"


@virtual
async def test_a_connection_from_before_the_change_does_not_undo_it() -> None:
    """A connection that was opened under the old name joins again: the seat keeps the new name."""
    async with playing() as (fake, hub, room, ada, ben):
        await set_name(fake, "ben", "Benjamin")
        again = Client(hub, "ben", "Benjamin")
        await again.ack(again.join(room))
        await ben.ack(ben.join(room))
        await asyncio.sleep(MOMENT_S)
        names = [m["name"] for m in ada.events() if m["kind"] == "renamed"]
        assert names == ["Benjamin"]


@virtual
async def test_the_seat_gets_the_name_of_the_store() -> None:
    """A connection with neither the seat's name nor the newest one gives the seat the newest."""
    async with playing() as (fake, hub, room, ada, _):
        await set_name(fake, "ben", "Benjamin")
        between = Client(hub, "ben", "Benny")
        await between.ack(between.join(room))
        await between.ack(between.join(room))
        await asyncio.sleep(MOMENT_S)
        assert [m["name"] for m in ada.events() if m["kind"] == "renamed"] == ["Benjamin"]


@virtual
async def test_a_new_name_reaches_every_room_where_the_player_sits() -> None:
    """A rename reaches the running matches of the player at once: in rooms of this node, of another
    node, and out of memory, without a join.
    """
    async with playing() as (fake, hub, room, ada, ben), fake.hub("n2") as other:
        cyd = Client(other, "cyd")
        rooms = [room]
        for opponent, own in ((ada, ben), (cyd, Client(other, "ben"))):
            rooms.append(await opponent.create("tic-tac-toe"))
            await own.ack(own.sit(rooms[-1], 1))
        await cyd.ack(cyd.join(rooms[2]))
        hub.close_idle_rooms(0)
        assert hub.runner(rooms[1]) is None
        await set_name(fake, "ben", "Benjamin")
        await hub.rename(ben.identity, "")
        assert (await ada.event("renamed"))["name"] == "Benjamin"
        assert (await cyd.event("renamed"))["name"] == "Benjamin"
        await asyncio.sleep(MOMENT_S)
        for each in rooms:
            runner = hub.runner(each)
            assert runner is not None
            assert runner.room is not None
            assert runner.room.player_name(ben.identity) == "Benjamin"


@virtual
async def test_a_room_without_a_place_does_not_keep_a_name_from_others() -> None:
    """If memory has no place for one of the player's rooms, the others still get the new name; that
    room gets it when the player joins it.
    """
    fake = FakeServer()
    fake.settings = replace(fake.settings, max_rooms=1)
    async with fake.hub() as hub:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        rooms = []
        for _ in range(2):
            hub.close_idle_rooms(0)
            rooms.append(await ada.create())
            await ben.ack(ben.sit(rooms[-1], 1))
            await asyncio.sleep(11)
        assert rooms == sorted(rooms)
        await ada.ack(ada.join(rooms[1]))
        await set_name(fake, "ben", "Benjamin")
        await hub.rename(ben.identity, "")
        assert (await ada.event("renamed"))["name"] == "Benjamin"
        ada.close()
        await asyncio.sleep(11)
        hub.close_idle_rooms(0)
        again = Client(hub, "ben", "Benjamin")
        await again.ack(again.join(rooms[0]))
        assert again.of("snapshot")[-1]["seats"][1]["name"] == "Benjamin"
