"""`python -m server.bench first-moves`: the time of the AI's first move in every game.

On an empty code cache each game and level has its own server and cache. The measured time is that
of the first move of a fresh installation, from the message that creates the room, right after the
server's start, to the move's arrival. With a warm cache, one server plays all first moves. A star
marks a search that was shorter than the level's because the game was not compiled yet; "ready" is
when it was compiled, for the room of level 1.

A foreign cache is one that another checkout with the same rules has filled. A locked one has all
code, but another process holds the locks of the games.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import click

from engine.compiler import code_cache
from engine.game import Game
from engine.rules.registry import load_game, production_ids
from server.bench.players import RequestClient, connect
from server.bench.processes import UNLIMITED_ENVIRON, spawn

#: Longest wait for a message, in seconds.
WAIT_S = 120.0
#: Interval of the client's pings, in seconds.
PING_S = 5.0


@dataclass(frozen=True)
class FirstMove:
    """The AI's first move: its time, whether its search was shortened, and when the game was
    compiled.
    """

    seconds: float
    warming: bool
    ready_s: float | None


#: The first moves by game and level; None for one that did not come.
Moves = dict[tuple[str, int], FirstMove | None]


def levels_of(game: Game) -> tuple[int, ...]:
    """The lowest level, the fourth or the last but one, and the highest."""
    return tuple(sorted({1, max(1, min(4, game.levels - 1)), game.levels}))


async def first_move(port: int, game_id: str, level: int, until_ready: bool) -> FirstMove:
    """Creates a room in which the AI begins, and waits for its move."""
    client = RequestClient(await connect(port))
    await client.request("welcome", t="hello", protocol=1)
    start_s = time.perf_counter()
    seats = [{"who": "ai", "level": level}, {"who": "me"}]
    room = (
        await client.request(
            "ack", t="create", id="c", game=game_id, seats=seats, visibility="unlisted"
        )
    )["room"]
    client.player.send(json.dumps({"t": "join", "id": "j", "room": room}).encode())
    pings = asyncio.create_task(keep_alive(client))
    moved_s = ready_s = None
    is_short, is_ready = False, True
    while moved_s is None or (until_ready and ready_s is None and not is_ready):
        message = await client.receive(WAIT_S)
        now_s = time.perf_counter() - start_s
        match message["t"]:
            case "thinking":
                is_short = message.get("warming", is_short)
                is_ready = "ready" not in message
                ready_s = now_s if is_ready and moved_s is not None else ready_s
            case "snapshot" if message["match"]["moves"]:
                moved_s = now_s
            case "event" if message["kind"] == "moved":
                moved_s = now_s
            case "event" if message["kind"] == "finished":
                raise RuntimeError(f"{game_id} at level {level}: {message['reason']}")
    pings.cancel()
    client.player.transport.close()
    return FirstMove(moved_s, is_short, ready_s)


async def measure(port: int, game: Game, level: int, until_ready: bool) -> FirstMove | None:
    """The first move, which is printed at once: a run of many games may be cut short. None if
    nothing was heard of it for WAIT_S.
    """
    try:
        move = await first_move(port, game.id, level, until_ready)
    except TimeoutError:
        move = None
    click.echo(f"{game.id}, level {level}: {_cell(move)} s", err=True)
    return move


async def keep_alive(client: RequestClient) -> None:
    """Keeps a connection open with pings."""
    while True:
        client.player.send(b'{"t":"ping"}')
        await asyncio.sleep(PING_S)


def server_command(data: Path, workers: int) -> tuple[str, ...]:
    """The command of a server on a free port with this number of search processes."""
    return (
        sys.executable, "-m", "server", "--host", "127.0.0.1", "--port", "0",
        "--data", str(data), "--workers", str(workers),
    )  # fmt: skip


def environment(cache: Path) -> dict[str, str]:
    """The settings of a server without rate limits that keeps compiled code in `cache`."""
    return {**UNLIMITED_ENVIRON, "PLYROOM_CACHE": str(cache)}


async def on_empty_caches(games: list[Game], workers: int, foreign: Path | None = None) -> Moves:
    """Each first move on its own installation, with a copy of the cache `foreign` if given."""
    moves: Moves = {}
    for game in games:
        for level in levels_of(game):
            with tempfile.TemporaryDirectory(prefix="plyroom-first-") as folder:
                data, cache = Path(folder) / "data", Path(folder) / "code"
                if foreign is not None:
                    shutil.copytree(foreign, cache)
                async with spawn(
                    *server_command(data, workers), environment=environment(cache)
                ) as server:
                    moves[game.id, level] = await measure(
                        server.port, game, level, until_ready=level == 1
                    )
    return moves


async def compile_games(games: list[Game], cache: Path, checkout: Path | None = None) -> None:
    """Fills a cache with the games' code, from this checkout or from another one."""
    await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "engine.warm", *(game.id for game in games)],
        cwd=checkout,
        env={
            **os.environ, **environment(cache), **({} if checkout is None else {"PYTHONPATH": "."})
        },
        check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip


async def on_a_foreign_cache(games: list[Game], workers: int) -> Moves:
    """Each first move on its own installation, with a cache that another checkout has filled."""
    with tempfile.TemporaryDirectory(prefix="plyroom-first-") as folder:
        checkout, cache = Path(folder) / "checkout", Path(folder) / "code"
        engine = Path(code_cache.installation()["engine"])
        shutil.copytree(
            engine, checkout / "engine", ignore=shutil.ignore_patterns("__pycache__", "results")
        )
        await compile_games(games, cache, checkout)
        return await on_empty_caches(games, workers, cache)


async def on_a_warm_cache(games: list[Game], workers: int, is_locked: bool = False) -> Moves:
    """All first moves on a server whose games were compiled before it started.

    With `is_locked` this process holds the locks of the games meanwhile.
    """
    with tempfile.TemporaryDirectory(prefix="plyroom-first-") as folder, ExitStack() as locks:
        cache = Path(folder) / "code"
        await compile_games(games, cache)
        if is_locked:
            (own,) = cache.glob("code-*")
            for game in games:
                locks.enter_context(code_cache.locked(own, game.id))
        async with spawn(
            *server_command(Path(folder) / "data", workers), environment=environment(cache)
        ) as server:
            return {
                (game.id, level): await measure(server.port, game, level, until_ready=False)
                for game in games
                for level in levels_of(game)
            }


def _cell(move: FirstMove | None) -> str:
    if move is None:
        return f"over {WAIT_S:.0f}"
    return f"{move.seconds:.2f}{'*' if move.warming else ''}"


def table(games: list[Game], measured: dict[str, Moves]) -> str:
    """Seconds to the first move by kind of cache, as a table in Markdown."""
    heads = [f"{kind} cache, s" for kind in measured]
    lines = [
        f"| game | levels | {' | '.join(heads)} | ready, s |",
        "| - | - |" + " - |" * (len(heads) + 1),
    ]
    for game in games:
        levels = levels_of(game)
        cells = [
            " / ".join(_cell(moves[game.id, level]) for level in levels)
            for moves in measured.values()
        ]
        first = next(iter(measured.values())).get((game.id, 1))
        ready = f"{first.ready_s:.1f}" if first is not None and first.ready_s is not None else ""
        lines.append(
            f"| {game.id} | {', '.join(map(str, levels))} | {' | '.join(cells)} | {ready} |"
        )
    return "\n".join(lines)


@click.command()
@click.option("--games", help="Ids of games, separated by commas.  [default: all]")
@click.option(
    "--workers", default=2, type=click.IntRange(1, 64), help="Search processes.", show_default=True
)
@click.option(
    "--cache", "caches", type=click.Choice(["empty", "foreign", "warm", "locked"]), multiple=True,
    help="The kinds of cache.  [default: all]",
)  # fmt: skip
def main(games: str | None, workers: int, caches: tuple[str, ...]) -> None:
    """Measure the AI's first moves and print them."""
    selected = [load_game(name) for name in (games.split(",") if games else production_ids())]
    measures = {
        "empty": lambda: on_empty_caches(selected, workers),
        "foreign": lambda: on_a_foreign_cache(selected, workers),
        "warm": lambda: on_a_warm_cache(selected, workers),
        "locked": lambda: on_a_warm_cache(selected, workers, is_locked=True),
    }
    measured = {kind: asyncio.run(measures[kind]()) for kind in caches or measures}
    click.echo(table(selected, measured))
