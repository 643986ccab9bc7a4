"""Lessons and traces over HTTP, made by real study processes."""

import asyncio
import gzip
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import aiohttp
import psutil
import pytest
import pytest_asyncio

from engine.study_pool.messages import Limits
from engine.study_pool.pool import StudyPool
from engine.teach.algorithms.explain import Plan, explain
from engine.teach.lessons.catalogue import LESSONS, lesson_traces
from engine.teach.states.state import TreeState
from engine.teach.states.tree_text import parse_tree
from server.commands import ThinkingSetting
from server.process.metrics import Metrics
from server.rooms.thinking import search_seed
from tests.server.test_thinking_visibility import MAY_SEE, play_against_ai, setting
from tests.support.clock import until
from tests.support.fake_server import FakeServer
from tests.support.node import Node, serve
from tests.support.room_log import altered_game
from tests.support.traces import join_lines, lines_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

#: A search that takes minutes, and sends its first part at once.
ENDLESS = {"game": "othello", "depth": 5, "algorithm": "minimax"}
#: Requests that are made wrong, and what is put into them.
BODIES = (
    b'{"game": "tic-tac-toe", "depth": 1, "algorithm": "alphabeta", "order": "best"}',
    b'{"tree": "max(A: min(3, 12), B: min(2, 4))", "evaluator": "estimate"}',
    b'{"graph": "a: max(b, c) b: min(1, 2) c: 3", "player": 1}',
    b'{"match": "abcdefghjkmn", "ply": 3}',
)
PIECES = (b"", b"\xff", b'"', b"}", b"9", b"max(", b"\\u0000", b"[" * 50, b"null", b"-inf")
#: A tree of one's own.
TREE = "max(A: min(3, 12), B: min(2, 4))"


@dataclass
class Site:
    """The HTTP API of a node with study processes."""

    url: str
    http: aiohttp.ClientSession
    pool: StudyPool
    node: Node

    @property
    def metrics(self) -> Metrics:
        return self.node.hub.ports.metrics

    async def get(self, path: str) -> Any:
        """Returns the JSON of a successful answer."""
        async with self.http.get(self.url + path) as response:
            assert response.status == 200, await response.text()
            return await response.json(content_type=None)

    async def lines(self, path: str, body: object = None) -> list[dict[str, Any]]:
        """Returns the lines of a trace; without a body it is that of a lesson."""
        method = "GET" if body is None else "POST"
        async with self.http.request(method, self.url + path, json=body) as response:
            assert response.status == 200, await response.text()
            assert response.content_type == "application/x-ndjson"
            return lines_of(await response.read())

    async def refusal(self, body: object, path: str = "/api/trace") -> tuple[int, dict[str, Any]]:
        """Returns the status and the JSON of a refused request."""
        async with self.http.post(self.url + path, json=body) as response:
            return response.status, await response.json()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[StudyPool]:
    """Yields two study processes for all tests of the module."""
    async with StudyPool(2, limits=Limits(60, 300_000)) as shared:
        yield shared


@asynccontextmanager
async def open_site(pool: StudyPool, **settings: Any) -> AsyncIterator[Site]:
    """Runs a node with these study processes."""
    fake = FakeServer()
    fake.studies = pool
    timeout = aiohttp.ClientTimeout(120)
    async with serve(fake, **settings) as node, aiohttp.ClientSession(timeout=timeout) as http:
        yield Site(f"http://{node.host}", http, pool, node)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(pool: StudyPool) -> AsyncIterator[Site]:
    """Yields a node for all tests of the module."""
    async with open_site(pool) as shared:
        yield shared


async def test_the_lessons_and_their_traces(site: Site) -> None:
    """The list has all lessons; a trace is that of `explain`, joined from its chunks."""
    topics = (await site.get("/api/lessons"))["topics"]
    assert [lesson["name"] for topic in topics for lesson in topic["lessons"]] == list(LESSONS)
    lesson = await site.get("/api/lessons/meaning")
    assert "U(X) = 1, U(O) = -1" in lesson["page"]
    lines = await site.lines("/api/lessons/meaning/1")
    assert len(lines) > 2
    assert join_lines(lines) == lesson_traces("meaning")[1]


async def test_a_tree_of_ones_own(site: Site) -> None:
    """A tree gets its trace; a mistake in it is found by line and column."""
    lines = await site.lines("/api/trace", {"tree": TREE})
    assert join_lines(lines) == explain(TreeState.at_root(parse_tree(TREE)), Plan(), "Tree")
    status, error = await site.refusal({"tree": "max(\n  min(3, 12),\n  min(2 4))"})
    assert (status, error["code"], error["line"], error["column"]) == (400, "trace.text", 3, 9)


async def test_a_position_of_a_game(site: Site) -> None:
    """A search starts from a position and the moves after it, and has the board of its root."""
    body = {"game": "tic-tac-toe", "moves": ["a1", "b1"], "depth": 2}
    head, *_, end = await site.lines("/api/trace", body)
    assert head["head"]["position"] == "XO......."
    assert head["head"]["start"]["pieces"] == {"a1": "X", "b1": "O"}
    assert "notation" not in head["head"], "its moves are written as tokens"
    mate = {"game": "chess", "position": "6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", "depth": 2}
    chess_head, *chunks, chess_end = await site.lines("/api/trace", mate)
    assert "Kf8" in chunks[-1]["written"]["nodes"]["move"], "deeper moves follow the search"
    assert chess_end["end"]["written"] == ["Ra8#"]
    assert chess_head["head"]["notation"]["a1a8"] == "Ra8#"
    assert end["end"]["counts"]["nodes"] <= end["end"]["counts"]["plain_nodes"] == 1 + 7 + 42
    boards = {"game": "tic-tac-toe", "position": "XO.......", "lines": [[], ["c1", "a2"]]}
    async with site.http.post(site.url + "/api/trace/boards", json=boards) as response:
        views = (await response.json())["positions"]
    assert [view["pieces"] for view in views] == [
        {"a1": "X", "b1": "O"}, {"a1": "X", "b1": "O", "c1": "X", "a2": "O"}
    ]  # fmt: skip


async def test_the_printed_listings_over_http(site: Site) -> None:
    """The listings come with results; a reader's tree gets its own, or a place in its text."""
    async with site.http.get(site.url + "/api/listings") as response:
        document = await response.json()
    assert len(document["listings"]) == 9
    first = document["listings"][0]
    assert [result["value"] for result in first["results"]][:2] == [15, 50]
    assert len(first["results"]) == len(document["trees"])
    for tree, status, field in (
        ("max(min(7, 4), min(3, 8))", 200, "results"),
        ("max(min(7, )", 400, "line"),
        ("min(7, 4)", 400, "code"),
    ):
        async with site.http.post(site.url + "/api/listings", json={"tree": tree}) as response:
            assert response.status == status
            assert field in await response.json()
    async with site.http.post(site.url + "/api/listings", json={"tree": "1" * 20_000}) as response:
        assert response.status == 413


REFUSED: dict[str, tuple[object, str]] = {
    "no subject": ({}, "trace.impossible"),
    "two subjects": ({"game": "chess", "tree": TREE}, "trace.impossible"),
    "an unknown field": ({"tree": TREE, "dept": 3}, "message.malformed"),
    "no object": ([1], "message.malformed"),
    "an unknown game": ({"game": "go"}, "game.unknown"),
    "an unknown option": ({"game": "chess", "options": {"x": "y"}}, "option.unknown"),
    "no position": ({"game": "chess", "position": "x"}, "position.refused"),
    "an illegal move": ({"game": "chess", "moves": ["e2e5"]}, "move.illegal"),
    "an unknown algorithm": ({"tree": TREE, "algorithm": "best"}, "trace.unknown"),
    "an unknown form": ({"tree": TREE, "form": "round"}, "trace.unknown"),
    "an unknown order": ({"tree": TREE, "order": "best:a"}, "trace.unknown"),
    "an unknown evaluator": ({"tree": TREE, "evaluator": "x"}, "trace.unknown"),
    "an unknown cut-off": ({"tree": TREE, "cut_off": "x"}, "trace.unknown"),
    "a form that does not exist": ({"tree": TREE, "algorithm": "negamax", "form": "map"},
                                   "trace.impossible"),
    "too much": ({"game": "chess", "depth": 9}, "trace.too_large"),
    "an unknown match": ({"match": "nothing"}, "match.unknown"),
    "a match and a game": ({"match": "m", "game": "chess"}, "trace.impossible"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_refused(site: Site, name: str) -> None:
    """Each refusal has a code, and a sentence that says what was expected."""
    body, code = REFUSED[name]
    status, error = await site.refusal(body)
    assert (error["code"], 400 <= status < 500) == (code, True)
    assert len(error["message"]) > 10
    if code == "trace.unknown":
        assert "there are" in error["message"]
    if code == "trace.too_large":
        assert "depth 4 takes about" in error["message"]


# --- matches


@setting
async def test_searches_of_a_running_match(site: Site, setting: ThinkingSetting) -> None:
    """Only who may see the AI's thinking gets searches of a running match; after it everyone."""
    node = site.node
    async with node.guest() as player, node.guest() as spectator:
        match = await play_against_ai(player, setting)
        senders = {"player": player.token, "spectator": spectator.token, "anonymous": None}
        for role, token in senders.items():
            answer = await trace_of_match(site, match, token)
            assert answer == ("....X...." if MAY_SEE[role][setting] else "trace.withheld"), role
        await player.ack("resign", room=player.messages[-1]["room"])
        for token in senders.values():
            assert await trace_of_match(site, match, token) == "....X...."


async def test_a_search_of_a_match_between_two_people_is_help(site: Site) -> None:
    """While two people play, nobody gets a search of their position, as nobody gets a hint; unless
    the host has allowed help, at the room's start or later. After the match everyone does.
    """
    node = site.node
    async with node.guest() as ada, node.guest() as ben:
        seats = [{"who": "me"}, {"who": "open"}]

        async def start(**fields: Any) -> tuple[str, str]:
            room = (await ada.ack("create", game="tic-tac-toe", seats=seats, **fields))["room"]
            for player in (ada, ben):
                await player.ack("join", room=room)
            await ben.ack("sit", room=room, seat=1)
            return room, await move_first(room)

        async def move_first(room: str) -> str:
            match = str((await ada.expect("event", kind="started", room=room))["match"])
            await ada.ack("move", room=room, ply=0, move="b2")
            return match

        room, match = await start()
        for token in (ada.token, ben.token, None):
            assert await trace_of_match(site, match, token) == "trace.withheld"
        await ada.ack("resign", room=room)
        assert await trace_of_match(site, match, None) == "....X...."
        await ada.ack("configure", room=room, thinking="all", help=True)
        await ben.ack("rematch", room=room)
        ada.messages.clear()
        await ada.ack("rematch", room=room)
        again = str((await ada.expect("event", kind="started", room=room))["match"])
        await ben.ack("move", room=room, ply=0, move="b2")
        assert await trace_of_match(site, again, ben.token) == "....X...."
        _, helped = await start(help=True)
        assert await trace_of_match(site, helped, ben.token) == "....X...."


async def test_the_seed_of_a_match_is_that_of_its_ai(site: Site) -> None:
    """Without a seed, a search of a match has the seed of the AI's search at that ply."""
    async with site.node.guest() as player:
        match = await play_against_ai(player, "all")
        seeds = []
        for fields in ({"ply": 0}, {"ply": 1}, {"ply": 1, "seed": 7}):
            head, *_ = await site.lines("/api/trace", {"match": match, "depth": 1, **fields})
            seeds.append(head["head"]["seed"])
        assert seeds == [search_seed(match, 0), search_seed(match, 1), 7]
        assert seeds[0] != seeds[1]


async def trace_of_match(site: Site, match: str, token: str | None) -> str:
    """Returns the text of a match's position after one move as it is searched, or the refusal."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    body = {"match": match, "ply": 1, "depth": 1}
    async with site.http.post(site.url + "/api/trace", json=body, headers=headers) as response:
        if response.status != 200:
            return str((await response.json())["code"])
        head, *_ = lines_of(await response.read())
        return str(head["head"]["position"])


# --- faults and crowds


async def test_a_document_is_made_once_for_all(site: Site) -> None:
    """Equal requests share one job; a client that has a lesson already gets no body."""
    body = {"tree": "max(min(7, 8), min(9, 10))"}
    before = site.metrics.study_documents
    traces = await asyncio.gather(*[site.lines("/api/trace", body) for _ in range(30)])
    assert all(trace == traces[0] for trace in traces)
    assert site.metrics.study_documents == before + 1
    async with site.http.get(site.url + "/api/lessons") as response:
        tag = response.headers["ETag"]
    headers = {"If-None-Match": tag}
    async with site.http.get(site.url + "/api/lessons", headers=headers) as response:
        assert (response.status, await response.read()) == (304, b"")


async def test_a_client_chooses_its_encoding(site: Site) -> None:
    """A client that does not name gzip gets plain lines, the same ones."""
    bodies = {}
    for accepted in ("gzip", "identity"):
        headers = {"Accept-Encoding": accepted}
        url = site.url + "/api/lessons/move-order/2"
        async with (
            aiohttp.ClientSession(auto_decompress=False) as http,
            http.get(url, headers=headers) as response,
        ):
            bodies[accepted] = await response.read()
            assert response.headers.get("Content-Encoding", "identity") == accepted
    assert gzip.decompress(bodies["gzip"]) == bodies["identity"]


async def test_a_client_that_goes_away(site: Site) -> None:
    """The job of a client that goes away in the middle of a trace ends; its process goes on."""
    await site.lines("/api/trace", {"tree": "max(1, 5)"})
    killed = site.pool.killed_count
    stopped = site.metrics.study_stopped
    async with site.http.post(site.url + "/api/trace", json=ENDLESS) as response:
        await response.content.readany()
        assert site.pool.load().running == 1
        response.close()
    await until(lambda: site.pool.load().running == 0)
    assert (site.pool.killed_count, site.metrics.study_stopped) == (killed, stopped + 1)


async def test_a_process_that_is_killed(site: Site) -> None:
    """A trace whose process is killed ends with a line that says so; the next one works."""
    failures = site.metrics.study_failures
    async with site.http.post(site.url + "/api/trace", json=ENDLESS) as response:
        await response.content.readany()
        idle = site.pool.pids
        for process in psutil.Process().children():
            if "engine.study_pool.child" in process.cmdline() and process.pid not in idle:
                process.kill()
        await response.read()
    assert site.metrics.study_failures == failures + 1
    async with site.http.post(site.url + "/api/trace", json={**ENDLESS, "seed": 1}) as response:
        first = await response.content.readline()
        assert first.startswith(b'{"head":')


async def test_the_last_line_of_a_failed_trace(site: Site) -> None:
    """After the first lines of a trace an error is its last line, with a code and a sentence."""
    async with site.http.post(site.url + "/api/trace", json={**ENDLESS, "seed": 2}) as response:
        content = await response.content.readline()
        idle = site.pool.pids
        for process in psutil.Process().children():
            if "engine.study_pool.child" in process.cmdline() and process.pid not in idle:
                process.kill()
        content += await response.read()
    error = lines_of(content)[-1]["error"]
    assert error["code"] == "study.failed"
    assert "try again" in error["message"]


async def test_a_class_behind_one_address(site: Site) -> None:
    """Thirty pupils with one address get in, each with a tree of their own."""
    trees = [{"tree": f"max(min({n}, 12), min(2, {n}))"} for n in range(30)]
    answers = await asyncio.gather(*[site.lines("/api/trace", tree) for tree in trees])
    values = [answer[-1]["end"]["value"] for answer in answers]
    assert values == [max(min(n, 12), min(2, n)) for n in range(30)]


async def test_a_stranger_a_thousand_times(pool: StudyPool) -> None:
    """A thousand bad requests of one address fail nothing, and keep no other address out."""
    await send_bad_requests(pool, 1000)


async def send_bad_requests(pool: StudyPool, count: int) -> None:
    """Sends bad requests of one address, then a good one of another."""
    rng = random.Random(17)
    async with open_site(pool, proxies=("127.0.0.1/32",), limit_traces_burst=20) as site:
        statuses: Counter[int] = Counter()
        for _ in range(count // 20):
            posts = [post(site, bad_body(rng), "203.0.113.9") for _ in range(20)]
            statuses.update(await asyncio.gather(*posts))
        assert statuses.total() == count
        assert not [status for status in statuses if status >= 500], statuses
        assert statuses[429] > 0
        assert site.metrics.faults == 0
        assert await post(site, b'{"tree": "max(1, 2)"}', "203.0.113.77") == 200


async def post(site: Site, body: bytes, address: str) -> int:
    """Returns the status of a request of an address."""
    headers = {"X-Forwarded-For": address, "X-Forwarded-Proto": "http"}
    async with site.http.post(site.url + "/api/trace", data=body, headers=headers) as response:
        await response.read()
        return response.status


def bad_body(rng: random.Random) -> bytes:
    """Returns a request that is a little wrong, or much."""
    body = bytearray(rng.choice(BODIES))
    for _ in range(rng.randrange(1, 4)):
        place = rng.randrange(len(body))
        body[place : place + rng.randrange(3)] = rng.choice(PIECES)
    return bytes(body)


async def test_without_study_processes() -> None:
    """A server without study processes says so, with a code."""
    async with StudyPool(0) as pool, open_site(pool) as site:
        for path in ("/api/lessons", "/api/lessons/alpha-cut", "/api/trace/choices"):
            async with site.http.get(site.url + path) as response:
                assert (response.status, (await response.json())["code"]) == (503, "study.off")
        assert (await site.refusal({"tree": TREE}))[1]["code"] == "study.off"


async def test_long_bodies_are_refused(site: Site) -> None:
    """A game's request has at most 8 KiB, one with a text 64 KiB of it."""
    moves = {"game": "chess", "moves": ["g1f3", "g8f6", "f3g1", "f6g8"] * 400}
    assert (await site.refusal(moves))[0] == 413
    text = {"tree": f"max(1, 2) # {'x' * 60_000}"}
    assert (await site.lines("/api/trace", text))[-1]["end"]["value"] == 2
    assert (await site.refusal({"tree": "x" * 70_000}))[1]["code"] == "message.malformed"


async def test_a_search_is_never_answered_as_unchanged(site: Site) -> None:
    """A POST with the tag of its own answer gets the whole document again: only a GET may be
    answered with 304.
    """
    body = {"tree": TREE, "algorithm": "minimax"}
    async with site.http.post(f"{site.url}/api/trace", json=body) as response:
        first, tag = await response.read(), response.headers["ETag"]
    headers = {"If-None-Match": tag}
    async with site.http.post(f"{site.url}/api/trace", json=body, headers=headers) as response:
        assert (response.status, await response.read()) == (200, first)


@pytest.mark.parametrize("path", ["/api/trace", "/api/trace/boards"])
async def test_edited_rules_give_another_document(pool: StudyPool, path: str) -> None:
    """The tag of a search contains the game's rules, so that no cache answers with an old one."""
    body: dict[str, Any] = {"game": "tic-tac-toe"}
    body |= {"lines": [["a1"]]} if path.endswith("boards") else {"depth": 1, "algorithm": "minimax"}
    tags = []
    for digest in ("one", "one", "another"):
        fake = FakeServer(partial(altered_game, digest=digest))
        fake.studies = pool
        async with (
            serve(fake) as node,
            aiohttp.ClientSession() as http,
            http.post(f"http://{node.host}{path}", json=body) as response,
        ):
            assert response.status == 200, await response.text()
            tags.append(response.headers["ETag"])
    assert tags[0] == tags[1] != tags[2]
