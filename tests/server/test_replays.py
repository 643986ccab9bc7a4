"""Views of matches: the server draws one per loop iteration, caches them and limits their rate."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from engine.game import GameFault, Position
from engine.rules.registry import load_game
from server.ids import MatchId
from server.limits.by_address import LimitExceeded
from server.protocol.codes import Code
from server.web.replays import Replays
from tests.server.test_api import get, matches
from tests.server.test_http_attacks import AdjustableServer
from tests.support.fake_server import FakeServer
from tests.support.node import Node, serve

GAME = "tic-tac-toe"
MOVES = ["a1", "b1", "a2", "b2", "a3"]


class DrawingCounter:
    """Counts the loop's iterations, and records in which of them a view was drawn."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.iterations = 0
        self.drawn: list[int] = []
        real = Position.view

        def view(position: Position) -> Any:
            self.drawn.append(self.iterations)
            return real(position)

        monkeypatch.setattr(Position, "view", view)

    @asynccontextmanager
    async def counting(self) -> AsyncIterator[None]:
        """Counts while the block runs."""

        async def count() -> None:
            while True:
                self.iterations += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(count())
        try:
            yield
        finally:
            task.cancel()


@pytest.fixture
def drawing(monkeypatch: pytest.MonkeyPatch) -> DrawingCounter:
    return DrawingCounter(monkeypatch)


def start() -> Position:
    """Returns the game's start position."""
    return load_game(GAME).start()


async def page(
    replays: Replays,
    match: str = "m",
    first: int = 0,
    last: int = 5,
    moves: Any = MOVES,
    **options: Any,
) -> bytes:
    """Requests a page of views."""
    options = {"charge": lambda: None, "has_left": lambda: False} | options
    return await replays.page(MatchId(match), start(), moves, first, last, **options)


async def test_one_view_per_iteration_of_the_loop(drawing: DrawingCounter) -> None:
    """Concurrent requests for different matches draw one view per iteration of the loop."""
    replays = Replays()
    async with drawing.counting():
        await asyncio.gather(*(page(replays, f"match {n}") for n in range(4)))
    assert len(drawing.drawn) == 4 * 6
    assert len(set(drawing.drawn)) == len(drawing.drawn), "no two in one iteration"


async def test_each_view_is_drawn_once(drawing: DrawingCounter) -> None:
    """A view is drawn once for all requests, concurrent or later, in any pages."""
    replays = Replays()
    whole, *rest = await asyncio.gather(*(page(replays) for _ in range(5)))
    assert rest == [whole] * 4
    parts = [await page(replays, first=ply, last=ply) for ply in range(6)]
    assert b",".join(parts) == whole
    assert len(drawing.drawn) == 6


async def test_drawing_continues_after_the_cached_views(drawing: DrawingCounter) -> None:
    """A running match is drawn from its last cached ply on.

    If the moves differ, as after a takeback, the views of the new moves are drawn.
    """
    replays = Replays()
    early = await page(replays, last=3, moves=MOVES[:3])
    assert (await page(replays)).startswith(early)
    assert len(drawing.drawn) == 6
    other = await page(replays, moves=[*MOVES[:4], "c3"])
    assert other.startswith(early)
    assert other != await page(Replays())


async def test_cached_views_are_bounded() -> None:
    """The cache drops the least recently used match first.

    A match that is larger than the whole cache is served but not cached.
    """
    replays = Replays(capacity_bytes=3 * 6 * 2600)
    for n in range(20):
        await page(replays, f"match {n}")
        assert replays.cached_bytes <= 3 * 6 * 2600
    assert 0 < len(replays._cache) < 20
    assert "match 19" in replays._cache
    tiny = Replays(capacity_bytes=1)
    assert await page(tiny) == await page(replays)
    assert (tiny.cached_bytes, len(tiny._cache)) == (0, 0)


async def test_drawing_stops_when_the_client_has_left(drawing: DrawingCounter) -> None:
    """If the client has left, drawing stops with ConnectionError after at most one more view."""
    with pytest.raises(ConnectionError):
        await page(Replays(), has_left=lambda: len(drawing.drawn) >= 2)
    assert len(drawing.drawn) == 2


async def test_an_exception_of_a_game_leaves_the_cache_unchanged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An exception of the game reaches the caller, and the next request gets the usual result."""
    replays = Replays()
    real, fails = Position.view, [3]

    def view(position: Position) -> Any:
        if len(replays._cache[MatchId("m")].views) in fails:
            fails.clear()
            raise GameFault("a fault of the test")
        return real(position)

    monkeypatch.setattr(Position, "view", view)
    with pytest.raises(GameFault):
        await page(replays)
    views = await page(replays)
    monkeypatch.undo()
    assert views == await page(Replays())


class UnchangingPosition:
    """A position that never changes."""

    def replay(self, move: str) -> "UnchangingPosition":
        return self

    def view(self) -> str:
        return ""


@pytest.mark.parametrize(("last", "charged"), [(0, 1), (99, 1), (100, 2), (250, 3)])
async def test_drawing_is_charged_per_hundred_plies(last: int, charged: int) -> None:
    """Drawing is charged once per hundred plies or part of them; cached views are free.

    After a refusal nothing is drawn.
    """
    replays, charges = Replays(), 0

    def charge() -> None:
        nonlocal charges
        charges += 1
        if charges > charged:
            raise LimitExceeded(Code.RATE_EXCEEDED, "no more", 1)

    for _ in range(2):
        await replays.page(
            MatchId("m"), cast(Position, UnchangingPosition()), ["a"] * last, 0, last, charge,
            lambda: False,
        )  # fmt: skip
        assert charges == charged
    cached_bytes = replays.cached_bytes
    with pytest.raises(LimitExceeded):
        await page(replays, "another", charge=charge)
    assert replays.cached_bytes == cached_bytes


# --- over HTTP ------------------------------------------------------------------------------------


def record_reads(node: Node) -> list[str]:
    """Returns a list to which the rooms are added whose logs are read from the store."""
    rooms: list[str] = []
    logs = node.fake.store.logs
    real = logs.events

    async def events(room: str, after_v: int, limit: int = 1000) -> Any:
        rooms.append(room)
        return await real(room, after_v, limit)

    logs.events = events  # type: ignore[method-assign]
    return rooms


async def test_a_finished_match_is_read_once(drawing: DrawingCounter) -> None:
    """A finished match is cached: repeated requests read no log and draw no view."""
    async with matches() as (node, _, ids):
        logs = record_reads(node)
        drawing.drawn.clear()
        for _ in range(3):
            await get(node, f"/api/matches/{ids[0]}")
            assert len((await get(node, f"/api/matches/{ids[0]}/views"))["views"]) == 6
        assert len(logs) == 1
        assert len(drawing.drawn) == 6


async def test_drawing_is_limited_by_address() -> None:
    """Views beyond an address's limit get 429 with Retry-After; cached views are free."""
    fake: FakeServer = AdjustableServer()
    assert isinstance(fake, AdjustableServer)
    limits = {"limit_replays_burst": 2, "limit_replays_per_minute": 6}
    async with matches(4, fake, settings=limits) as (node, _, ids):
        for match in (*ids[:2], *ids[:2]):
            assert (await node.get(f"/api/matches/{match}/views")).status == 200
        refused = await node.get(f"/api/matches/{ids[2]}/views")
        assert (refused.status, refused.json["code"], refused.headers["retry-after"]) == (
            429,
            Code.RATE_EXCEEDED,
            "10",
        )
        assert (await node.get(f"/api/matches/{ids[2]}")).status == 200
        fake.ahead_ms += 10_000
        assert (await node.get(f"/api/matches/{ids[2]}/views")).status == 200
        assert (await node.get(f"/api/matches/{ids[3]}/views")).status == 429


async def test_descriptions_of_games_are_drawn_one_per_iteration(drawing: DrawingCounter) -> None:
    """The first request for the games draws one board per iteration of the loop."""
    async with serve() as node, drawing.counting():
        await get(node, "/api/games")
        assert len(drawing.drawn) > 5
        assert len(set(drawing.drawn)) == len(drawing.drawn)
        drawn = len(drawing.drawn)
        await get(node, "/api/games")
        assert len(drawing.drawn) == drawn
