"""The HTTP API: games, matches page by page, one match with its moves and views."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import msgspec
import pytest
import structlog.testing
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from engine.game import Game, UnknownGame
from engine.rules.registry import game_ids, load_game
from server.commands import Accept, AiSeat, NextGame, Rematch, Resign
from server.limits.by_address import Limits
from server.protocol.codes import Code
from server.protocol.messages import CommandFrame
from server.settings import Settings
from server.web.api import Api, make_app
from server.web.games import well_known_place
from tests.support.fake_server import Client, FakeServer
from tests.support.node import Node, serve
from tests.support.room_log import altered_game, failing_rule

AI1 = AiSeat(level=1)


async def get(node: Node, target: str) -> Any:
    """Returns the JSON body of a successful answer."""
    answer = await node.get(target)
    assert answer.status == 200, (target, answer)
    return answer.json


async def refusal(node: Node, target: str) -> tuple[int, str]:
    """Returns the status and code of a refused request."""
    answer = await node.get(target)
    return answer.status, answer.json["code"]


@asynccontextmanager
async def matches(
    count: int = 1,
    fake: FakeServer | None = None,
    settings: dict[str, Any] | None = None,
    **fields: Any,
) -> AsyncIterator[tuple[Node, str, list[str]]]:
    """Starts a node with a room that has `count` finished matches and a running one.

    Yields the node, the room and the ids of the matches in order.
    """
    async with serve(fake, **(settings or {})) as node:
        ada, ben = Client(node.hub, "ada"), Client(node.hub, "ben")
        room = await ada.create(**fields)
        await ada.ack(ada.join(room))
        await ben.ack(ben.sit(room, 1))
        for number in range(count):
            first, second = (ada, ben) if number % 2 == 0 else (ben, ada)
            for ply, cell in enumerate(("a1", "b1", "a2", "b2", "a3")):
                mover = first if ply % 2 == 0 else second
                await mover.ack(mover.move(room, ply, cell))
            await ada.ack(ada.plain(Rematch, room))
            await ben.ack(ben.plain(Rematch, room))
        ids = []
        for message in ada.messages:
            if message.get("kind") == "started":
                ids.append(message["match"])
        yield node, room, ids


def well_known_first() -> list[str]:
    """The ids of all games: those that most people know, then the others by title."""
    games = sorted(
        map(load_game, game_ids()), key=lambda game: (well_known_place(game), game.title)
    )
    return [game.id for game in games]


async def test_games() -> None:
    """The list of games has every game, with its options and levels."""
    async with serve() as node:
        games = (await get(node, "/api/games"))["games"]
        assert [game["id"] for game in games] == well_known_first()
        sticks = next(game for game in games if game["id"] == "sticks")
        assert sticks["options"]["rows"]["offered"] == ["1-2-3", "1-3-5-7"]
        assert sticks["levels"] == load_game("sticks").levels


async def test_a_broken_game_is_left_out() -> None:
    """A broken game is left out and logged; the others are listed."""

    def find(game_id: str) -> Game:
        return (
            altered_game(game_id, {"board": failing_rule})
            if game_id == "sticks"
            else load_game(game_id)
        )

    with structlog.testing.capture_logs() as logs:
        async with serve(FakeServer(find_game=find)) as node:
            games = (await get(node, "/api/games"))["games"]
            assert {game["id"] for game in games} == {*game_ids()} - {"sticks"}
    assert [line["game"] for line in logs if line["event"] == "game left out"] == ["sticks"]


async def test_finished_matches_page_by_page() -> None:
    """Matches come newest first, each once, until `next` is null; running ones are not listed."""
    async with matches(7) as (node, room, ids):
        match_ids: list[str] = []
        target = "/api/matches?limit=3"
        while True:
            page = await get(node, target)
            match_ids += [match["match"] for match in page["matches"]]
            if page["next"] is None:
                break
            target = f"/api/matches?limit=3&before={page['next']}"
        assert sorted(match_ids) == sorted(ids[:7])
        first = (await get(node, "/api/matches?limit=1"))["matches"][0]
        assert (first["room"], first["game"], first["title"], first["plies"]) == (
            room,
            "tic-tac-toe",
            "Tic-tac-toe",
            5,
        )
        assert first["over"] == {"winner": 0, "how": "board", "reason": "three in a row"}
        assert [occupant["identity"] for occupant in first["seats"]] in (
            ["ada", "ben"],
            ["ben", "ada"],
        )


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=101", "limit=x", "limit=-1", "limit=", "before=x", "before=1", "before=-"],
)
async def test_an_invalid_page_is_refused(query: str) -> None:
    """Invalid page parameters get 400 message.malformed."""
    async with serve() as node:
        assert await refusal(node, f"/api/matches?{query}") == (400, Code.MESSAGE_MALFORMED)


async def test_unlisted_matches_are_not_in_the_list() -> None:
    """I15: an unlisted match can be read by its id only; no list has it."""
    async with matches(visibility="unlisted") as (node, _room, ids):
        assert (await get(node, "/api/matches"))["matches"] == []
        assert (await get(node, f"/api/matches/{ids[0]}"))["match"] == ids[0]
        assert await refusal(node, "/api/matches/nothing") == (404, Code.MATCH_UNKNOWN)


async def test_the_matches_of_a_room_have_their_own_games() -> None:
    """The list has all matches of the room, the latest first, public or not; each of its game."""
    async with matches(visibility="unlisted") as (node, room, ids):
        ada, ben = Client(node.hub, "ada"), Client(node.hub, "ben")
        await ben.ack(ben.plain(Resign, room))
        proposal = NextGame(ada.new_id(), "sticks", {"rows": "1-3-5-7"}, (0, 1))
        offered = await ada.ack(CommandFrame(room, proposal))
        await ben.ack(CommandFrame(room, Accept(ben.new_id(), "next", v=offered)))
        found = (await get(node, f"/api/rooms/{room}/matches"))["matches"]
        assert [(each["number"], each["title"], each["options"]) for each in found] == [
            (3, "Sticks", {"rows": "1-3-5-7"}), (2, "Tic-tac-toe", {}), (1, "Tic-tac-toe", {}),
        ]  # fmt: skip
        assert [each["match"] for each in found[1:]] == ids[::-1]
        assert [each["over"] is None for each in found] == [True, False, False]
        sticks = await get(node, f"/api/matches/{found[0]['match']}")
        assert (sticks["game"], sticks["view"]["seats"][0]["name"]) == ("sticks", "First")
        assert (await get(node, "/api/rooms/unknown/matches"))["matches"] == []


async def test_a_match_has_its_moves() -> None:
    """A match, finished or running, has exactly its own moves."""
    async with matches(3) as (node, room, ids):
        match = await get(node, f"/api/matches/{ids[1]}")
        assert [move["move"] for move in match["moves"]] == ["a1", "b1", "a2", "b2", "a3"]
        assert (match["start"], match["number"], match["plies"]) == (".........", 2, 5)
        assert match["view"]["board"]["kind"] == "grid"
        running = await get(node, f"/api/matches/{ids[3]}")
        assert (running["over"], running["moves"], running["plies"]) == (None, [], 0)
        ben = Client(node.hub, "ben")
        await ben.ack(ben.move(room, 0, "b2"))
        running = await get(node, f"/api/matches/{ids[3]}")
        assert [move["move"] for move in running["moves"]] == ["b2"]


async def test_a_match_has_the_thoughts_of_the_ai() -> None:
    """A match between AI seats has a thought for each ply."""
    async with serve() as node:
        ada = Client(node.hub, "ada")
        room = await ada.create(seats=(AI1, AI1))
        await ada.ack(ada.join(room))
        while not (await get(node, "/api/matches"))["matches"]:
            pass
        (listed,) = (await get(node, "/api/matches"))["matches"]
        match = await get(node, f"/api/matches/{listed['match']}")
        assert list(match["thoughts"]) == [str(ply) for ply in range(match["plies"])]
        for ply, thought in match["thoughts"].items():
            assert thought["move"] == match["moves"][int(ply)]["move"]


async def test_views_of_any_ply() -> None:
    """A range of plies has a view for each ply; a range that lies within the match is immutable."""
    async with matches() as (node, _, ids):
        base = f"/api/matches/{ids[0]}/views"
        views = (await get(node, base))["views"]
        assert [view["ply"] for view in views] == [0, 1, 2, 3, 4, 5]
        assert views[0]["view"]["pieces"] == {}
        assert views[5]["view"]["pieces"] == {"a1": "X", "b1": "O", "a2": "X", "b2": "O", "a3": "X"}
        for query, plies, is_immutable in (
            ("?from=2&to=4", [2, 3, 4], True), ("?from=0&to=0", [0], True),
            ("?from=5&to=5", [5], True),
            ("?from=3", [3, 4, 5], False), ("?from=0&to=99", [0, 1, 2, 3, 4, 5], False),
            ("?to=2", [0, 1, 2], True),
        ):  # fmt: skip
            answer = await node.get(base + query)
            assert [view["ply"] for view in answer.json["views"]] == plies, query
            assert ("immutable" in answer.headers["cache-control"]) is is_immutable, query
        for query in ("?from=6", "?from=x", "?from=3&to=2", "?to=-1", "?from=99999999999999999999"):
            assert await refusal(node, base + query) == (400, Code.MESSAGE_MALFORMED), query


async def test_a_match_without_its_game_can_be_read() -> None:
    """A match without its game is listed and has its moves; its views get 409 game.changed."""
    is_removed = False

    def find(game_id: str) -> Game:
        if is_removed:
            raise UnknownGame(f"there is no game {game_id}")
        return load_game(game_id)

    async with matches(fake=FakeServer(find_game=find)) as (node, _, ids):
        is_removed = True
        match = await get(node, f"/api/matches/{ids[0]}")
        assert len(match["moves"]) == 5
        assert (match["title"], match["view"]) == ("tic-tac-toe", None)
        assert await refusal(node, f"/api/matches/{ids[0]}/views") == (409, Code.GAME_CHANGED)
        assert [match["match"] for match in (await get(node, "/api/matches"))["matches"]] == ids[:1]


async def test_a_store_that_does_not_answer() -> None:
    """If the store does not answer, requests get 503 store.retry."""
    async with matches() as (node, _, ids):
        node.fake.store.fail("events")
        assert await refusal(node, f"/api/matches/{ids[0]}") == (503, Code.STORE_RETRY)
        await get(node, f"/api/matches/{ids[0]}")


async def test_a_server_error_reveals_no_details() -> None:
    """An unexpected exception gets 500 server.fault; only the log has the details."""
    fake = FakeServer()
    with structlog.testing.capture_logs() as logs:
        async with serve(fake) as node:
            fake.store.projections.matches = failing_rule  # type: ignore[assignment,method-assign]
            answer = await node.get("/api/matches")
            assert (answer.status, answer.json["code"]) == (500, Code.SERVER_FAULT)
            assert b"ZeroDivision" not in answer.body
    assert [line["event"] for line in logs if line["log_level"] == "error"] == ["request failed"]


@asynccontextmanager
async def api_client(api: Api) -> AsyncIterator[TestClient[web.Request, web.Application]]:
    """Opens a client of an API without a node; /details is the metrics port's /readyz."""
    app = make_app(api, [web.get("/details", api.ready_details)])
    async with TestClient(TestServer(app)) as client:
        yield client


async def test_a_node_whose_clock_is_off_is_not_ready() -> None:
    """A node whose clock is more than 250 ms off gets 503; the metrics port shows how much."""
    ahead_ms = [0]
    async with api_client(
        Api(FakeServer().ports("n1"), Limits(Settings()), lambda: False, lambda: ahead_ms[0])
    ) as client:
        for ahead_ms[0], status in ((0, 200), (250, 200), (-250, 200), (251, 503), (-90_000, 503)):
            assert (await client.get("/readyz")).status == status
        assert await (await client.get("/details")).json() == {
            "status": "clock differs",
            "ahead_ms": -90_000,
        }


async def test_draining() -> None:
    """/readyz is 503 once the node drains; /livez stays 200."""
    draining = False
    async with api_client(
        Api(FakeServer().ports("n1"), Limits(Settings()), lambda: draining)
    ) as client:
        assert (await client.get("/readyz")).status == 200
        draining = True
        answer = await client.get("/details")
        assert (answer.status, (await answer.json())["status"]) == (503, "draining")
        assert (await client.get("/readyz")).status == 503
        assert (await client.get("/livez")).status == 200


async def test_the_public_port_hides_why_a_node_is_not_ready() -> None:
    """Only the metrics port gives the reason why a node is not ready, with the store's error."""
    fake = FakeServer()
    async with api_client(Api(fake.ports("n1"), Limits(Settings()), lambda: False)) as client:
        fake.store.fail("check")
        assert await (await client.get("/readyz")).json() == {"status": "not ready"}
        fake.store.fail("check")
        details = await (await client.get("/details")).json()
        assert details["status"] == "store unavailable"
        assert details["error"]


# --- your matches -------------------------------------------------------------------------------


async def test_your_matches_have_running_finished_and_waiting_ones() -> None:
    """A guest gets the matches of its own, public or not, and the rooms in which it waits."""
    async with serve() as node, node.http() as http:
        async with node.guest(name="Ada") as ada, node.guest(name="Ben") as ben:
            rooms = [
                (await ada.ack("create", game="tic-tac-toe", visibility=visibility))["room"]
                for visibility in ("unlisted", "public", "unlisted")
            ]
            for room in rooms[:2]:
                await ben.ack("sit", room=room, seat=1)
            await ben.ack("resign", room=rooms[1])

            async def own(token: str | None) -> Any:
                assert token is not None
                headers = {"Authorization": f"Bearer {token}"}
                answer = await http.request("/api/me/matches", headers=headers)
                return {
                    name: [entry["room"] for entry in answer.json[name]] for name in answer.json
                }

            assert await own(ada.token) == {
                "running": [rooms[0]], "finished": [rooms[1]], "waiting": [rooms[2]],
                "rooms": [rooms[1]], "notifications": [rooms[0]],
            }  # fmt: skip
            assert await own(ben.token) == {
                "running": [rooms[0]], "finished": [rooms[1]], "waiting": [],
                "rooms": [rooms[1]], "notifications": [rooms[0]],
            }  # fmt: skip
        assert await refusal(node, "/api/me/matches") == (401, Code.TOKEN_UNKNOWN)


async def test_lists_name_the_clock_of_a_match_and_the_time_that_is_left() -> None:
    """The lobby and one's own matches have the clock of a running match, the list of finished ones
    its text, its class and what was left; a match has the time of each move.
    """
    fake = FakeServer()
    async with (
        serve(fake) as node,
        node.guest(name="Ada") as ada,
        node.guest(name="Ben") as ben,
    ):
        room = (await ada.ack("create", game="tic-tac-toe", clock="60+5"))["room"]
        (waiting,) = (await mine(node, ada))["waiting"]
        assert (waiting["clock"], waiting["speed"], "times" in waiting) == ("60+5", "blitz", False)
        await ben.ack("sit", room=room, seat=1)
        for ply, (player, move) in enumerate(((ada, "a1"), (ben, "b1"), (ada, "a2"))):
            await player.ack("move", room=room, ply=ply, move=move)
        (running,) = (await mine(node, ben))["running"]
        times = running["times"]
        assert (running["clock"], running["speed"], running["turn"]) == ("60+5", "blitz", 1)
        assert (times["running"], times["control"], times["left_ms"][1]) == (1, "60+5", 60_000)
        assert 60_000 < times["left_ms"][0] <= 65_000
        (listed,) = await node.hub.lobby.rooms()
        assert (listed.clock, listed.speed) == ("60+5", "blitz")
        assert json.loads(msgspec.json.encode(listed.times)) == times
        await ben.ack("add_time", room=room)
        (added,) = (await mine(node, ben))["running"]
        assert added["times"]["left_ms"][0] == times["left_ms"][0] + 15_000
        await ben.ack("resign", room=room)
        for query, count in (("blitz", 1), ("untimed", 0), ("bullet", 0), ("", 1)):
            found = (await get(node, f"/api/matches?speed={query}"))["matches"]
            assert len(found) == count, query
        assert await refusal(node, "/api/matches?speed=fast") == (400, Code.MESSAGE_MALFORMED)
        (over,) = (await get(node, "/api/matches?speed=blitz"))["matches"]
        assert over["clock"] == "60+5"
        assert over["over"]["clocks_ms"][0] == added["times"]["left_ms"][0]
        match = await get(node, f"/api/matches/{over['match']}")
        assert match["left_ms"][:2] == [60_000, 60_000]
        assert match["left_ms"][2] + match["spent_ms"][2] == 65_000


async def mine(node: Node, guest: Any) -> Any:
    """Returns the answer to a guest who asks for their own matches."""
    return (await node.get("/api/me/matches", Authorization=f"Bearer {guest.token}")).json


async def test_a_link_to_an_unlisted_match_does_not_lead_into_its_room() -> None:
    """The match and its events name their room to its players only: whoever has its id may chat and
    sit there. A public match names it to all.
    """
    async with (
        serve() as node,
        node.http() as http,
        node.guest(name="Ada") as ada,
        node.guest(name="Eve") as eve,
    ):

        async def read(match: str, token: str | None) -> str:
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            paths = (f"/api/matches/{match}", f"/api/matches/{match}/events")
            answers = [await http.request(path, headers=headers) for path in paths]
            return b" ".join([answer.body for answer in answers]).decode()

        ben = Client(node.hub, "ben")
        for visibility in ("unlisted", "public"):
            room = (await ada.ack("create", game="sticks", visibility=visibility))["room"]
            await ben.ack(ben.sit(room, 1))
            found = await http.request(f"/api/rooms/{room}/matches")
            (match,) = [each["match"] for each in found.json["matches"]]
            assert (await read(match, ada.token)).count(f'"room":"{room}"') > 1
            for stranger in (eve.token, None):
                assert (f'"{room}"' in await read(match, stranger)) == (visibility == "public")


async def test_a_player_finds_matches_of_unlisted_rooms_among_their_own() -> None:
    """The list of a player has them for that player, and for the opponent; not for a stranger who
    knows the identity, nor without the filter.
    """
    async with (
        serve() as node,
        node.http() as http,
        node.guest(name="Ada") as ada,
        node.guest(name="Ben") as ben,
        node.guest(name="Eve") as eve,
    ):
        room = (await ada.ack("create", game="tic-tac-toe", visibility="unlisted"))["room"]
        await ada.ack("join", room=room)
        await ben.ack("sit", room=room, seat=1)
        await ada.ack("move", room=room, ply=0, move="a1")
        await ben.ack("resign", room=room)

        async def found(query: str, token: str | None) -> list[str]:
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            answer = await http.request(f"/api/matches{query}", headers=headers)
            return [entry["room"] for entry in answer.json["matches"]]

        for player in (ada, ben):
            assert await found(f"?player={player.identity}", player.token) == [room]
            assert await found(f"?player={player.identity}&game=chess", player.token) == []
            assert await found("", player.token) == []
            other = ben if player is ada else ada
            assert await found(f"?player={player.identity}", other.token) == [room]
            for stranger in (eve.token, None):
                assert await found(f"?player={player.identity}", stranger) == []
        assert await found(f"?player={eve.identity}", ada.token) == []


async def test_a_room_whose_host_has_left_the_seat_is_not_waiting() -> None:
    """A room is waiting for its host as long as the host holds a seat and the other one is free."""
    async with serve() as node, node.guest(name="Ada") as ada, node.guest(name="Ben") as ben:
        rooms = [(await ada.ack("create", game="sticks"))["room"] for _ in range(3)]
        assert await _waiting(node, ada.token) == set(rooms)
        await ada.ack("stand", room=rooms[0])
        await ada.ack("stand", room=rooms[1])
        await ben.ack("sit", room=rooms[1], seat=0)
        assert await _waiting(node, ada.token) == {rooms[2]}
        assert await _waiting(node, ben.token) == set(), "Ben has made no room"
        await ada.ack("sit", room=rooms[0], seat=1)
        assert await _waiting(node, ada.token) == {rooms[0], rooms[2]}


async def _waiting(node: Node, token: str | None) -> set[str]:
    """Returns the rooms in which a guest waits for a player."""
    answer = (await node.get("/api/me/matches", Authorization=f"Bearer {token}")).json
    return {entry["room"] for entry in answer["waiting"]}


async def test_your_matches_stay_after_a_restart_and_on_another_node() -> None:
    """The matches come from the store, so every node has them, also while no room is in memory."""
    fake = FakeServer()
    async with serve(fake) as node, node.guest(name="Ada") as ada:
        token = ada.token
        await ada.ack(
            "create", game="tic-tac-toe", seats=[{"who": "me"}, {"who": "ai", "level": 1}]
        )
        other = await ada.ack("create", game="sticks")
        async with serve(fake, node="n2") as second:
            assert await _titles(second, token) == (["Tic-tac-toe"], ["Sticks"])
    async with serve(fake, node="n3") as third:
        assert await _titles(third, token) == (["Tic-tac-toe"], ["Sticks"])
        assert other["room"]


async def _titles(node: Node, token: str | None) -> tuple[list[str], list[str]]:
    """Returns the titles of a guest's running matches and waiting rooms."""
    answer = (await node.get("/api/me/matches", Authorization=f"Bearer {token}")).json
    return (
        [entry["title"] for entry in answer["running"]],
        [entry["title"] for entry in answer["waiting"]],
    )


@pytest.mark.parametrize(
    ("game", "moves", "turn"),
    [
        ("tic-tac-toe", "", 0), ("tic-tac-toe", "b2", 1), ("tic-tac-toe", "b2 a1", 0),
        ("kalah", "", 0), ("kalah", "c1", 0), ("kalah", "c1 a1", 1),
    ],
)  # fmt: skip
async def test_your_running_matches_say_whose_turn_it_is(game: str, moves: str, turn: int) -> None:
    """The seat to move is right after each move, also after extra turns, and is read once."""
    async with serve() as node, node.guest(name="Ada") as ada:
        ada_and_ben = Client(node.hub, ada.identity), Client(node.hub, "ben")
        room = (await ada.ack("create", game=game))["room"]
        await ada_and_ben[1].ack(ada_and_ben[1].sit(room, 1))
        position = load_game(game).start({})
        for ply, move in enumerate(moves.split()):
            mover = ada_and_ben[position.turn]
            await mover.ack(mover.move(room, ply, move))
            _, position, _ = position.advance(move)

        async def read_turn() -> int:
            answer = await node.get("/api/me/matches", Authorization=f"Bearer {ada.token}")
            (match,) = answer.json["running"]
            found: int = match["turn"]
            return found

        assert await read_turn() == turn
        reads = node.fake.store.calls["events"]
        assert await read_turn() == turn
        assert node.fake.store.calls["events"] == reads


async def test_finished_matches_are_filtered() -> None:
    """`player` and `game` limit the list and its later pages; a text that is no id is refused."""
    async with matches(3) as (node, _room, ids):
        newest = ids[:3][::-1]

        async def found(query: str) -> list[str]:
            body = await get(node, f"/api/matches?{query}")
            return [entry["match"] for entry in body["matches"]]

        assert await found("player=ada") == await found("player=ben") == newest
        assert await found("player=cyd") == []
        assert await found("game=chess") == []
        assert await found("game=tic-tac-toe&player=ada") == newest
        page = await get(node, "/api/matches?game=tic-tac-toe&limit=2")
        assert await found(f"game=tic-tac-toe&before={page['next']}") == newest[2:]
        assert (await refusal(node, "/api/matches?player=%00"))[0] == 400


async def test_a_rare_kind_of_match_is_looked_for_page_by_page() -> None:
    """A page without matches has `next` as long as there are matches that were not looked at, and
    `previous` leads back.
    """
    async with matches(5) as (node, _room, ids):
        projections = node.fake.store.projections
        bounded = partial(projections.matches, scan_limit=2)
        projections.matches = bounded  # type: ignore[method-assign]
        target = "/api/matches?limit=2&min_plies=9"
        pages: list[Any] = []
        while not pages or pages[-1]["next"] is not None:
            pages.append(await get(node, target))
            target = f"/api/matches?limit=2&min_plies=9&before={pages[-1]['next']}"
        assert len(pages) > 1
        assert all(page["matches"] == [] for page in pages)
        back = await get(node, f"/api/matches?limit=2&after={pages[-1]['previous']}")
        assert {entry["match"] for entry in back["matches"]} <= set(ids)
        assert back["matches"] or back["previous"]


# --- the order and the levels of games -----------------------------------------------------------


async def test_the_games_keep_their_places() -> None:
    """What was played does not move the games of the list: their order is always the same, and each
    says its goal.
    """
    async with matches(3, game="tic-tac-toe") as (node, _room, _ids):
        games = (await get(node, "/api/games"))["games"]
        assert [game["id"] for game in games] == well_known_first()
        assert all(game["goal"] for game in games)
        node.fake.store.down = True  # whatever the node itself asks of it meanwhile
        assert (await get(node, "/api/games"))["games"] == games


async def test_levels_have_names() -> None:
    """Each level of a game has a name, from Beginner to Master, and no name occurs twice."""
    async with serve() as node:
        for game in (await get(node, "/api/games"))["games"]:
            names = game["level_names"]
            assert len(names) == len(set(names)) == game["levels"]
            assert names[-1:] in (["Master"], [])
            assert names[0:1] in (["Beginner"], []) or len(names) == 1


def test_games_that_most_people_know_come_first() -> None:
    """Without matches, the first games are well known, and every game is listed once."""
    assert well_known_first()[:6] == [
        *("chess", "connect-four", "draughts", "othello", "tic-tac-toe", "nine-mens-morris"),
    ]
    assert sorted(well_known_first()) == sorted(game_ids())
