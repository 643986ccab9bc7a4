"""`python -m server.bench analyses`: the analysis of a match of chess on one free worker.

It measures the times from the request to the first result and to the end, for random matches of 60
plies, with a store in SQLite and a pool of one process.
"""

import asyncio
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import click
from msgspec import Struct

from engine.bench.classes import random_positions
from engine.pool.pool import Pool
from engine.rules.registry import load_game
from server.analysis.feed import AnalysisFeed
from server.analysis.requests import request_analysis
from server.analysis.runner import open_analyses
from server.bench.figures import median
from server.bus.local import LocalBus
from server.commands import Create, Move, Resign
from server.ids import IdentityId, MatchId, NodeId, RoomId
from server.ports import Ports, random_id
from server.process.logs import log_to_stderr
from server.rooms.model import Actor
from server.runtime.node.duties import open_hub
from server.settings import Settings
from server.store.base import StoredMatch, wall_clock_ms
from server.store.location import open_store

#: Length of a match, in plies.
PLIES = 60
#: The promised time from the request to the first result, in seconds.
FIRST_S = 1.0
#: The promised time from the request to the end, in seconds.
TOTAL_S = 40.0
#: The player of both sides, who requests the analyses.
ADA = Actor(IdentityId("ada"), "Ada")


class Times(Struct, frozen=True):
    """The times from the request to the first result and to the end, in seconds."""

    first_s: float
    total_s: float


async def play_match(ports: Ports, game_id: str, seed: int) -> StoredMatch:
    """Plays a random match in which one player has both seats, and resigns it."""
    positions = random_positions(game_id, PLIES + 1, seed)
    async with open_hub(ports) as hub:
        ack = await hub.create(ADA, Create(id=random_id(), game=game_id, one_screen=True))
        room = RoomId(str(ack.room))
        for ply, (before, after) in enumerate(pairwise(positions)):
            token = next(
                token for token in before.tokens() if before.replay(token).text() == after.text()
            )
            await hub.command(room, ADA, Move(random_id(), ply, token, seat=before.turn))
        await hub.command(room, ADA, Resign(random_id(), seat=0))
        runner = hub.runner(room)
        assert runner is not None
        assert runner.room is not None
        assert runner.room.match is not None
        match_id = MatchId(runner.room.match.id)
    match = await ports.store.projections.match(match_id)
    assert match is not None, "it was played"
    return match


async def analyse(ports: Ports, feed: AnalysisFeed, match: StoredMatch) -> Times:
    """Requests the analysis of a match and waits for its end; returns the times."""
    start_s = time.perf_counter()
    first_s = 0.0
    with feed.watch(match.match) as changed:
        await request_analysis(ports, match, ADA.identity)
        feed.publish(match.match)
        while True:
            await changed.wait()
            changed.clear()
            analysis = await ports.store.analyses.find(match.match)
            assert analysis is not None, "it was requested"
            if analysis.done_plies and not first_s:
                first_s = time.perf_counter() - start_s
            if analysis.state in ("done", "failed"):
                assert analysis.state == "done", analysis.reason
                return Times(first_s, time.perf_counter() - start_s)


async def measure(game_id: str, rounds: int) -> list[Times]:
    """The times of `rounds` matches, analysed one after the other."""
    with tempfile.TemporaryDirectory(prefix="plyroom-bench-") as folder:
        settings = Settings(data=Path(folder), limit_studies_per_day=0)
        async with open_store(settings) as store, Pool(1, warm=()) as pool:
            ports = Ports(
                node=NodeId("bench"), settings=settings, store=store, bus=LocalBus(), engines=pool,
                find_game=load_game, now_ms=wall_clock_ms, new_id=random_id,
            )  # fmt: skip
            await pool.warm(game_id)
            matches = [await play_match(ports, game_id, seed) for seed in range(rounds)]
            async with open_analyses(ports) as feed:
                return [await analyse(ports, feed, match) for match in matches]


@click.command()
@click.option("--game", default="chess", show_default=True)
@click.option("--rounds", default=3, type=click.IntRange(1), show_default=True)
def main(game: str, rounds: int) -> None:
    """Measure analyses, and print the medians beside the promised times."""
    log_to_stderr("warning")
    times = asyncio.run(measure(game, rounds))
    first_s = median(each.first_s for each in times)
    total_s = median(each.total_s for each in times)
    click.echo(f"analysis of {PLIES} plies of {game} on one worker, median of {rounds}:")
    for name, value_s, limit_s in (
        ("first result", first_s, FIRST_S), ("whole analysis", total_s, TOTAL_S)
    ):  # fmt: skip
        reached = "yes" if value_s <= limit_s else "no"
        click.echo(f"  {name}: {value_s:.2f} s (within {limit_s:g} s: {reached})")
