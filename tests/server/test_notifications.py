"""What waits for a player in a room reaches the player everywhere else, and nobody else.

The canaries are strangers, spectators, and the player's own connection in the room.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.bus.base import BusMessage, NotificationSent
from server.commands import (
    Accept,
    Command,
    Decline,
    NextGame,
    OfferDraw,
    Rematch,
    Resign,
    Takeback,
)
from server.events import (
    AiTookOver,
    Occupant,
    Player,
    PlayerReturned,
    Renamed,
    parse_event_body,
)
from server.ids import IdentityId, RoomId
from server.protocol import messages as wire
from server.protocol import notifications
from server.rooms.model import Actor
from server.runtime.node.hub import Hub
from server.store.base import StoredMatch
from server.web.my_matches import RunningRoom
from tests.support.fake_server import Client, FakeServer, Message, run_ready_tasks, virtual
from tests.support.node import serve
from tests.support.room_log import ADA, BEN, attempt, plain, seated


def told(client: Client) -> list[tuple[str, str]]:
    """What a client has been told: what waits, and the sentence."""
    return [(each.get("what", ""), each.get("text", "")) for each in client.of("notification")]


def command(client: Client, room: str, kind: type, **fields: object) -> wire.CommandFrame:
    return wire.CommandFrame(room, kind(id=client.new_id(), **fields))


class Evening:
    """Ada is in the room, Ben holds its other seat and is in the lobby, Eve is a stranger there."""

    def __init__(self, fake: FakeServer, first: Hub, second: Hub, third: Hub) -> None:
        self.fake = fake
        self.ada = Client(first, "ada")
        self.ben = Client(second, "ben")
        #: Ben's page on a node that never has the room open.
        self.page = Client(third, "ben")
        self.eve = Client(third, "eve")
        for client in (self.ada, self.ben, self.page, self.eve):
            client.hub.connections.connect(client)
        self.room = RoomId("")

    async def open(self) -> None:
        self.room = await self.ada.create(visibility="unlisted")
        await self.ada.ack(self.ada.join(self.room))

    async def ada_does(self, kind: type, **fields: object) -> None:
        await self.ada.ack(command(self.ada, self.room, kind, **fields))
        await run_ready_tasks()


@asynccontextmanager
async def evening(nodes: int = 1) -> AsyncIterator[Evening]:
    fake = FakeServer()
    async with fake.hub() as one, fake.hub("n2") as two, fake.hub("n3") as three:
        night = Evening(fake, one, one if nodes == 1 else two, one if nodes == 1 else three)
        await night.open()
        yield night


async def play_an_evening(nodes: int) -> None:
    async with evening(nodes) as night:
        ada, ben, eve, room = night.ada, night.ben, night.eve, night.room
        await ben.ack(ben.sit(room, 1))
        await run_ready_tasks()
        await ada.ack(ada.move(room, 0, "b2"))
        await run_ready_tasks()
        await ben.ack(ben.move(room, 1, "a1"))
        await night.ada_does(OfferDraw)
        await night.ada_does(Decline, what="draw")
        await night.ada_does(Resign)
        await night.ada_does(Rematch)
        await night.ada_does(Decline, what="rematch")
        await night.ada_does(NextGame, game="othello")
        assert (
            told(ben)
            == told(night.page)
            == [
                ("started", "Your match of Tic-tac-toe against Ada has begun."),
                ("turn", "It is your turn in Tic-tac-toe against Ada."),
                ("", ""),
                ("draw", "Ada offers a draw in Tic-tac-toe."),
                ("", ""),
                ("over", "Your match of Tic-tac-toe against Ada is over."),
                ("rematch", "Ada offers a rematch of Tic-tac-toe."),
                ("", ""),
                ("next", "Ada proposes Othello as the next game."),
            ]
        )
        assert {each["room"] for each in ben.of("notification")} == {room}
        assert set(night.page.hub.rooms.ids()) == (set() if nodes > 1 else {room})
        assert told(ada) == [], "Ada is in the room"
        assert told(eve) == [], "nothing waits for Eve"


@pytest.mark.parametrize("nodes", [1, 3])
@virtual
async def test_what_waits_reaches_a_player_in_the_lobby(nodes: int) -> None:
    """Each change is told once, also to a player whose connection is on another node."""
    await play_an_evening(nodes)


@pytest.mark.parametrize("nodes", [1, 2])
@virtual
async def test_nobody_is_told_who_is_in_the_room(nodes: int) -> None:
    """A player with a connection in the room, on any node, is told nothing anywhere, and nothing
    goes over the bus. After the player has left the room the next change is told.
    """
    async with evening(nodes) as night:
        tab = Client(night.ada.hub, "ben")
        tab.hub.connections.connect(tab)
        sent: list[BusMessage] = []
        stop = night.fake.bus.listen(sent.append)
        await night.ben.ack(night.ben.join(night.room))
        await night.ben.ack(night.ben.sit(night.room, 1))
        await asyncio.sleep(1)
        await night.ada.ack(night.ada.move(night.room, 0, "b2"))
        await run_ready_tasks()
        assert told(night.ben) == told(tab) == told(night.page) == []
        assert not any(isinstance(each, NotificationSent) for each in sent)
        await night.ben.ack(night.ben.leave(night.room))
        await asyncio.sleep(1)
        await night.ada_does(Resign)
        for client in (night.ben, tab, night.page):
            assert [what for what, _ in told(client)] == ["over"]
        stop()


@pytest.mark.parametrize("nodes", [1, 2])
@virtual
async def test_what_a_player_was_told_is_taken_back_in_the_room(nodes: int) -> None:
    """A player who was told in the lobby and comes to the room, which has left memory meanwhile,
    with another connection: the first change there takes the notification back, once, from the
    connections elsewhere. The next change after the player has gone is told again.
    """
    async with evening(nodes) as night:
        ada, ben, room = night.ada, night.ben, night.room
        lobby = Client(ben.hub, "ben")
        lobby.hub.connections.connect(lobby)
        await ben.ack(ben.sit(room, 1))
        await ada.ack(ada.move(room, 0, "b2"))
        await run_ready_tasks()
        await ada.ack(ada.leave(room))
        await asyncio.sleep(2 * night.fake.settings.room_idle_s)
        assert not {room} & {*ada.hub.rooms.ids(), *ben.hub.rooms.ids()}
        await ben.ack(ben.join(room))
        await ada.ack(ada.join(room))
        await asyncio.sleep(1)
        runner = ben.hub.runner(room)
        assert runner is not None
        runner.cleared = ("a former player",)
        moves = ((ben, "a1"), (ada, "a2"), (ben, "c2"), (ada, "b1"))
        for ply, (mover, token) in enumerate(moves, 1):
            await mover.ack(mover.move(room, ply, token))
            await run_ready_tasks()
        for client in (lobby, night.page):
            assert [what for what, _ in told(client)] == ["started", "turn", ""]
        assert set(runner.cleared) == {"ada", "ben"}, "of former players nothing is kept"
        await ben.ack(ben.leave(room))
        await asyncio.sleep(1)
        await night.ada_does(Resign)
        for client in (lobby, night.page):
            assert [what for what, _ in told(client)] == ["started", "turn", "", "over"]
        assert told(ada) == told(night.eve) == []


@virtual
async def test_a_closed_connection_is_forgotten() -> None:
    """A node keeps nothing of a connection that has closed."""
    async with evening() as night:
        await night.ben.ack(night.ben.sit(night.room, 1))
        night.ben.close()
        before = told(night.ben)
        await night.ada_does(Resign)
        assert told(night.ben) == before
        night.page.close()
        assert set(night.ada.hub.connections._connections) == {"ada", "eve"}


@given(st.lists(st.sampled_from(["draw", "accept", "decline", "rematch", "next", "move"])))
def test_only_what_the_other_one_offers_waits(steps: list[str]) -> None:
    """Whatever both do, an offer never waits for the player who made it; where one is open it waits
    for the other, and no spectator has anything that waits.
    """
    played = seated()
    kinds: dict[str, type[Command]] = {
        "draw": OfferDraw,
        "accept": Accept,
        "decline": Decline,
        "rematch": Rematch,
    }
    for number, step in enumerate(steps):
        actor = (ADA, BEN)[number % 2]
        moves = played.match.position.tokens()
        give: Command = plain(kinds[step]) if step in kinds else NextGame("n", "sticks")
        if step == "move":
            give = played.move(moves[0]) if moves else plain(Resign)
        attempt(partial(played.do, actor, give))
        room = played.room
        offers = {"draw", "rematch"}
        for seat, identity in enumerate(("ada", "ben")):
            at = room.seat_of(identity)  # type: ignore[arg-type]
            waits = notifications.of_room(room, identity).what
            assert at is not None
            assert seat in (0, 1)
            if room.offers == (at,) and room.next_offer is None:
                assert waits not in offers
            if room.offers == (1 - at,) and room.next_offer is None:
                assert waits in offers
        assert notifications.of_room(room, "eve") == wire.Notification(room=room.id)


STEPS = [
    "draw", "accept", "decline", "takeback", "move", "move", "ai", "rename", "rematch", "resign",
]  # fmt: skip


@pytest.mark.parametrize("game", ["tic-tac-toe", "kalah"])
@given(steps=st.lists(st.tuples(st.sampled_from([ADA, BEN]), st.sampled_from(STEPS))))
def test_the_log_of_a_match_says_what_waits_as_the_room_does(
    game: str, steps: list[tuple[Actor, str]]
) -> None:
    """Read from the start of the running match, without the rules, the log gives what the socket
    tells of the room: offers, takebacks, turns, and nothing while an AI plays on for either. After
    the end of a match nothing waits in it.
    """
    played = seated(game=game)
    kinds: dict[str, type[Command]] = {
        "draw": OfferDraw, "accept": Accept, "decline": Decline, "rematch": Rematch,
        "resign": Resign,
    }  # fmt: skip
    for actor, step in steps:
        match, seat = played.match, played.room.kept_seat(actor.identity)
        if step == "move" and match.over is None:
            mover = (ADA, BEN)[match.turn]
            attempt(partial(played.do, mover, played.move(match.position.tokens()[0])))
        elif step == "takeback":
            attempt(partial(played.do, actor, Takeback("t", match.ply)))
        elif step == "rename":
            played.append(Renamed("ben", f"Ben {played.room.v}"))
        elif step == "ai" and match.over is None and seat is not None:
            occupant = Occupant(str(actor.identity), actor.name)
            played.append(PlayerReturned(match.id, seat, match.ply, occupant))
        elif step == "ai" and match.over is None:
            kept = Occupant("ai", "AI", "ai", 1, kept_for=Player(str(actor.identity), actor.name))
            played.append(AiTookOver(match.id, int(actor == BEN), match.ply, kept))
        elif step in kinds:
            attempt(partial(played.do, actor, plain(kinds[step])))
        room, match = played.room, played.match
        assert room.game is not None
        stored = StoredMatch(
            match.id, room.id, room.game_id, match.number, b"{}", b"", match.start, match.rules,
            match.first_v, match.started_ms, None, None, None, None,
        )  # fmt: skip
        reader = RunningRoom(stored, room.game.title)
        for at_ms, body in played.log[match.first_v - 1 :]:
            reader.read(parse_event_body(body), at_ms)
        told = {
            identity: notifications.of_room(room, identity)
            for identity in ("ada", "ben")
            if match.over is None and room.seat_of(IdentityId(identity)) is not None
        }
        assert reader.waiting(match.turn) == told


async def test_after_a_restart_the_offers_and_rooms_of_tonight_are_there() -> None:
    """`GET /api/me/matches` has the room in which both still sit, and what waits there: an offer,
    then nothing once it is withdrawn. A seat that is free closes the room of the pair.
    """
    fake = FakeServer()
    async with serve(fake) as node, node.guest(name="Ada") as ada, node.guest(name="Ben") as ben:

        async def mine() -> Message:
            answer = await node.get("/api/me/matches", Authorization=f"Bearer {ben.token}")
            found: Message = answer.json
            return found

        room = (await ada.ack("create", game="sticks"))["room"]
        await ada.ack("join", room=room)
        await ben.ack("sit", room=room, seat=1)
        turn = await node.get("/api/me/matches", Authorization=f"Bearer {ada.token}")
        assert [each["what"] for each in turn.json["notifications"]] == ["started"]
        assert [each["what"] for each in (await mine())["notifications"]] == ["started"]
        legal = await ada.expect("turn")
        await ada.ack("move", room=room, ply=0, move=legal["moves"][0]["id"])
        assert [each["what"] for each in (await mine())["notifications"]] == ["turn"]
        await ada.ack("takeback", room=room, ply=1)
        text = "Ada asks for a takeback in Sticks."
        assert (await mine())["notifications"] == [{"room": room, "what": "takeback", "text": text}]
        await ada.ack("resign", room=room)
        assert [each["room"] for each in (await mine())["rooms"]] == [room]
        assert (await mine())["notifications"] == []
        await ada.ack("rematch", room=room)
        token = ben.token
        async with serve(fake, node="n2") as second:
            answer = await second.get("/api/me/matches", Authorization=f"Bearer {token}")
            text = "Ada offers a rematch of Sticks."
            assert answer.json["notifications"] == [{"room": room, "what": "rematch", "text": text}]
        await ada.ack("decline", room=room, what="rematch")
        assert (await mine())["notifications"] == []
        await ada.ack("next_game", room=room, game="othello")
        assert [each["what"] for each in (await mine())["notifications"]] == ["next"]
        await ada.ack("stand", room=room)
        assert (await mine())["rooms"] == (await mine())["notifications"] == []


async def test_nothing_precedes_the_welcome() -> None:
    """A player whose name changes with `hello` is told nothing while the seats get it: the first
    message is the welcome, and what waits is told after it.
    """
    fake = FakeServer()
    async with serve(fake) as node, node.guest(name="Ada") as ada, node.guest(name="Ben") as ben:
        room = (await ada.ack("create", game="tic-tac-toe"))["room"]
        await ben.ack("sit", room=room, seat=1)
        gate = fake.store.hold("player_matches")
        async with node.socket() as again:
            await again.send(wire.Hello(protocol=1, token=ben.token, name="Benny"))
            await fake.store.waiting["player_matches"].wait()
            await ada.ack("move", room=room, ply=0, move="b2")
            assert (await ben.expect("notification", what="turn"))["room"] == room
            gate.set()
            assert (await again.receive())["t"] == "welcome"
            await ada.ack("resign", room=room)
            assert (await again.expect("notification"))["what"] == "over"
