"""Who may see an AI's thinking: the server enforces the room's setting in every way to read it."""

import asyncio
import itertools
import json
from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as replace_field

from server.bus.base import Ephemeral
from server.bus.codec import Codec
from server.codes import Code
from server.commands import Configure, Rematch, Resign, Sit, ThinkingSetting
from server.events import Configured, Created, Started
from server.protocol import messages as wire
from server.rooms.model import CommandRejected
from server.rooms.permissions import SeeThinking, permitted
from server.rooms.thinking import reason_to_withhold
from server.runtime.node.hub import Hub
from server.settings import Settings
from tests.support.fake_server import Client, FakeServer, run_ready_tasks, virtual
from tests.support.node import Node, Socket, serve
from tests.support.room_log import ADA, BEN, LoggedRoom
from tests.support.two_players import AI1, ME

#: A score of the scripted engines that occurs nowhere else in the messages.
SECRET = 12_345
SETTINGS: tuple[ThinkingSetting, ...] = ("all", "spectators", "after")
#: Whether a role may see the thinking during a match, for each setting.
MAY_SEE = {
    "player": {"all": True, "spectators": False, "after": False},
    "spectator": {"all": True, "spectators": True, "after": False},
    "anonymous": {"all": True, "spectators": False, "after": False},
}
setting = pytest.mark.parametrize("setting", SETTINGS)


def sees(messages: Any) -> bool:
    """Returns whether messages contain the results of a search, in numbers or in words."""
    text = json.dumps(messages)
    return str(SECRET) in text or '"sentence"' in text


async def done(client: Client) -> None:
    """Waits until the client knows that the AI has ended its search."""
    await client.until(lambda m: m["t"] == "thinking" and m["state"] == "done")


async def joined(hub: Hub, identity: str, room: str, since: int = 0) -> Client:
    """Returns a client that has joined the room, with a snapshot or with the missed events."""
    client = Client(hub, identity)
    await client.ack(client.join(room, since))
    return client


@setting
def test_each_role_receives_the_thinking_that_it_may_see(setting: ThinkingSetting) -> None:
    """Live, at a join and at a resume, on the AI's node and on another one.

    A client that may not see the search receives its state, and a sentence that says why.
    """

    @virtual
    async def watched() -> None:
        fake = FakeServer()
        fake.settings = replace(fake.settings, ai_pace_ms=60_000)
        fake.engines.score = SECRET
        async with fake.hub() as near, fake.hub("n2") as far:
            ada = Client(near, "ada")
            room = await ada.create(seats=(ME, AI1), thinking=setting)
            await ada.ack(ada.join(room))
            live = {
                "player": [ada, await joined(far, "ada", room)],
                "spectator": [await joined(near, "eve", room), await joined(far, "fay", room)],
            }
            v = await ada.ack(ada.move(room, 0, "b2")) or 0
            for role, (at_near, at_far) in live.items():
                identity = "ada" if role == "player" else "gus"
                for client in (at_near, at_far):
                    await done(client)
                later = [
                    await joined(hub, identity, room, since)
                    for hub in (near, far)
                    for since in (0, v)
                ]
                for client in (at_near, at_far, *later):
                    thoughts = client.of("thinking")
                    assert sees(thoughts) == MAY_SEE[role][setting], (role, client.hub is near)
                    assert thoughts[-1]["state"] == "done"
                    is_told_why = all(message.get("withheld") for message in thoughts)
                    assert is_told_why != MAY_SEE[role][setting]

    watched()


@setting
async def test_http_shows_the_thinking_of_a_running_match_to_those_who_may_see_it(
    setting: ThinkingSetting,
) -> None:
    """The reports and the words of a running match are withheld like those on the socket."""
    fake = FakeServer()
    fake.engines.score = SECRET
    async with serve(fake) as node, node.guest() as player, node.guest() as spectator:
        match = await play_against_ai(player, setting)
        senders = {"player": player.token, "spectator": spectator.token, "anonymous": None}
        for role, token in senders.items():
            for body in await read_match(node, match, token):
                assert sees(body) == MAY_SEE[role][setting], role
                assert ("withheld" in body) != MAY_SEE[role][setting]


@setting
async def test_after_the_match_everyone_may_see_the_thinking(setting: ThinkingSetting) -> None:
    """When the match is over, its thinking is shown to everyone, over HTTP too."""
    fake = FakeServer()
    fake.engines.score = SECRET
    async with serve(fake) as node, node.guest() as player:
        match = await play_against_ai(player, setting)
        await player.ack("resign", room=player.messages[-1]["room"])
        for token in (player.token, None):
            for body in await read_match(node, match, token):
                assert sees(body)


async def play_against_ai(player: Socket, setting: ThinkingSetting) -> str:
    """Plays a move against the AI, waits for its answer, and returns the match's id."""
    seats = [{"who": "me"}, {"who": "ai", "level": 1}]
    created = await player.ack("create", game="tic-tac-toe", seats=seats, thinking=setting)
    room = created["room"]
    await player.ack("join", room=room)
    match = (await player.expect("snapshot"))["match"]["id"]
    await player.ack("move", room=room, ply=0, move="b2")
    await player.expect("turn", ply=2)
    return str(match)


async def read_match(node: Node, match: str, token: str | None) -> list[Any]:
    """Returns the bodies of the match and of its assessments, for the sender of a token."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    targets = (f"/api/matches/{match}", f"/api/matches/{match}/assessments?from=0&to=9")
    return [(await node.get(target, **headers)).json for target in targets]


def test_restricted_thinking_is_refused_by_nodes_that_cannot_restrict_it() -> None:
    """The bus marks it with a field that nodes of an earlier version refuse; other thinking is
    sent as before.
    """
    codec = Codec(b"key")
    thinking = wire.Thinking(room="r", match="m", ply=0, seat=0, state="done")
    plain = codec.encode(Ephemeral("r", "n1", thinking))
    restricted = codec.encode(Ephemeral("r", "n1", thinking, restricted=True))
    assert b"restricted" not in plain.payload
    assert b'"restricted":true' in restricted.payload
    assert codec.decode(restricted.topic, restricted.payload) == Ephemeral(
        "r", "n1", thinking, restricted=True
    )


@setting
def test_the_responsible_node_marks_restricted_thinking(setting: ThinkingSetting) -> None:
    """All thinking of a match that not everyone may see is marked on the bus."""

    @virtual
    async def watched() -> None:
        fake = FakeServer()
        published: list[Ephemeral] = []
        async with fake.hub() as hub:
            ada = Client(hub, "ada")
            room = await ada.create(seats=(ME, AI1), thinking=setting)
            unsubscribe = fake.bus.subscribe(
                room, lambda m: published.append(m) if isinstance(m, Ephemeral) else None
            )
            await ada.ack(ada.join(room))
            await ada.ack(ada.move(room, 0, "b2"))
            await ada.until(lambda m: m["t"] == "turn" and m["ply"] == 2)
            await asyncio.sleep(0)
            unsubscribe()
        assert {message.restricted for message in published} == {setting != "all"}

    watched()


@virtual
async def test_thinking_about_an_unknown_match_is_not_sent() -> None:
    """A node that has not read the start of a match does not know who may see its thinking."""
    fake = FakeServer()
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create(seats=(ME, AI1))
        await ada.ack(ada.join(room))
        await ada.ack(ada.plain(Resign, room))
        runner = hub.runner(room)
        assert runner is not None
        thinking = wire.Thinking(
            room=room, match="later", ply=0, seat=1, state="searching", depth=3, pv=("a1",)
        )
        runner.receive(Ephemeral(room, "n9", thinking, restricted=True))
        await joined(hub, "ada", room)
        await ada.ack(ada.chat(room, "hello"))
        assert ada.of("thinking") == []


@setting
@pytest.mark.parametrize("is_over", [False, True])
@pytest.mark.parametrize("is_player", [False, True])
def test_the_rule(setting: ThinkingSetting, is_over: bool, is_player: bool) -> None:
    """During a match the setting decides, after it everyone may see the thinking. The viewer's
    permissions say so, before the AI's first search too. A setting of a newer version is the
    strictest one.
    """
    played = LoggedRoom()
    played.create(ADA, "tic-tac-toe", seats=(ME, AI1), thinking=setting)
    if is_over:
        played.do(ADA, Resign("r"))
    may_see = reason_to_withhold(played.match, is_player) is None
    assert may_see == (is_over or MAY_SEE["player" if is_player else "spectator"][setting])
    viewer = ADA if is_player else BEN
    listed = permitted(played.room, viewer.identity, played.now_ms, Settings())
    assert (SeeThinking in listed) == may_see
    newer = replace_field(played.match, thinking="friends")
    assert (reason_to_withhold(newer, is_player) is None) == is_over


@setting
@virtual
async def test_viewers_are_told_when_they_may_see_the_thinking(setting: ThinkingSetting) -> None:
    """Players and spectators, of both nodes, learn it at the start and at the end of each match.

    A spectator receives a list only when their right has changed. One who joins during the match is
    told its end, too.
    """
    fake = FakeServer()
    async with fake.hub() as near, fake.hub("n2") as far:
        ada = Client(near, "ada")
        room = await ada.create(thinking=setting)
        await ada.ack(ada.join(room))
        spectators = [await joined(near, "eve", room), await joined(far, "fay", room)]
        ben = await joined(far, "ben", room)
        expected = [True]
        for _ in range(2):
            await ben.ack(ben.sit(room, 1) if len(expected) == 1 else ben.plain(Rematch, room))
            await run_ready_tasks()
            expected.append(MAY_SEE["spectator"][setting])
            assert rights(ada)[-1] == rights(ben)[-1] == MAY_SEE["player"][setting]
            late = await joined(far, f"late {len(expected)}", room)
            assert rights(late) == [MAY_SEE["spectator"][setting]]
            await ada.ack(ada.plain(Resign, room))
            await ada.ack(ada.plain(Rematch, room))
            await run_ready_tasks()
            expected.append(True)
            assert rights(ada)[-1] == rights(ben)[-1] == rights(late)[-1] is True
        for client in spectators:
            changes = [right for right, _ in itertools.groupby(expected)]
            assert rights(client) == changes


def rights(client: Client) -> list[bool]:
    """Returns whether each list that a client received has the right to see the thinking."""
    lists = [m["may"] for m in client.messages if m["t"] in ("joined", "may")]
    return ["see_thinking" in may for may in lists]


# --- the setting ----------------------------------------------------------------------------------


def test_a_room_is_created_with_its_setting() -> None:
    """A setting other than `all` is an event of its own, which older nodes do not know; each match
    starts with the setting of its room.
    """
    for chosen in SETTINGS:
        played = LoggedRoom()
        events = played.create(ADA, "tic-tac-toe", seats=(ME, AI1), thinking=chosen)
        assert (Configured(chosen) in events) == (chosen != "all")
        (started,) = (event for event in events if isinstance(event, Started))
        assert started.thinking == chosen
        assert (played.room.thinking, played.room.match and played.room.match.thinking) == (
            chosen,
            chosen,
        )


def test_only_the_host_chooses_between_matches() -> None:
    """The setting cannot change while a match is running, and applies to the next match."""
    played = LoggedRoom()
    played.create(ADA, "tic-tac-toe", seats=(ME, AI1))
    assert refusal_of(played, ADA, Configure("c", "after")) is Code.MATCH_RUNNING
    assert refusal_of(played, BEN, Configure("c", "after")) is Code.HOST_ONLY
    played.do(ADA, Resign("r"))
    assert played.do(ADA, Configure("c", "after")) == [Configured("after")]
    (started,) = played.do(ADA, Rematch("a"))
    assert isinstance(started, Started)
    assert started.thinking == "after"


@setting
def test_nobody_sees_the_thinking_during_a_rated_match(setting: ThinkingSetting) -> None:
    """A rated match withholds it from players and spectators, whatever the room's setting is."""
    played = LoggedRoom()
    played.append(Created("tic-tac-toe", {}, "public", ADA.identity, rated=True))
    played.append(Configured(setting))
    for seat, player in enumerate((ADA, BEN)):
        played.do(player, Sit(f"s{seat}", seat))
    assert played.match.thinking == "after"
    for is_player in (True, False):
        assert reason_to_withhold(played.match, is_player) is not None
    played.do(ADA, Resign("r"))
    assert reason_to_withhold(played.match, is_player=True) is None


def refusal_of(played: LoggedRoom, actor: Any, command: Any) -> Code:
    """Returns the code with which the room refuses a command."""
    with pytest.raises(CommandRejected) as error:
        played.do(actor, command)
    return error.value.code
