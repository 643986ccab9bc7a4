"""Lessons and traces over HTTP, made by real study processes."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from engine.study_pool.messages import Limits
from engine.study_pool.pool import StudyPool
from engine.teach.explain import Plan, explain
from engine.teach.lessons.catalogue import LESSONS, lesson_traces
from engine.teach.state import TreeState
from engine.teach.tree_text import parse_tree
from tests.support.fake_server import FakeServer
from tests.support.node import serve
from tests.support.traces import join_lines, lines_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

#: A tree of one's own.
TREE = "max(A: min(3, 12), B: min(2, 4))"


@dataclass
class Site:
    """The HTTP API of a node with study processes."""

    url: str
    http: aiohttp.ClientSession
    pool: StudyPool
    fake: FakeServer

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
async def site() -> AsyncIterator[Site]:
    """Yields a node with two study processes, for all tests of the module."""
    async with (
        StudyPool(2, limits=Limits(60, 300_000)) as pool,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(120)) as http,
    ):
        fake = FakeServer()
        fake.studies = pool
        async with serve(fake) as node:
            yield Site(f"http://127.0.0.1:{node.running.port}", http, pool, fake)


async def test_the_lessons_and_their_traces(site: Site) -> None:
    """The list has all lessons; the longest trace is that of `explain`, joined from its chunks."""
    topics = (await site.get("/api/lessons"))["topics"]
    assert [lesson["name"] for topic in topics for lesson in topic["lessons"]] == list(LESSONS)
    lesson = await site.get("/api/lessons/tic-tac-toe")
    assert "18,297" in lesson["page"]
    lines = await site.lines("/api/lessons/tic-tac-toe/0")
    assert len(lines) > 10
    assert join_lines(lines) == lesson_traces("tic-tac-toe")[0]


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
    assert end["end"]["counts"]["nodes"] <= end["end"]["counts"]["plain_nodes"] == 1 + 7 + 42
    boards = {"game": "tic-tac-toe", "position": "XO.......", "lines": [[], ["c1", "a2"]]}
    async with site.http.post(site.url + "/api/trace/boards", json=boards) as response:
        views = (await response.json())["positions"]
    assert [view["pieces"] for view in views] == [
        {"a1": "X", "b1": "O"}, {"a1": "X", "b1": "O", "c1": "X", "a2": "O"}
    ]  # fmt: skip


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
