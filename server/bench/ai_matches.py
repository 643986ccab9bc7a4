"""`python -m server.bench ai-matches --data DIR`: matches of the AI against itself, stored.

Both seats have the same level, and each match starts after some random moves. `plyroom calibration
--data DIR` then compares the AI's chances to win with the results.
"""

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import click

from engine.game import Game, Position
from engine.rules.registry import load_game
from server.bench.first_moves import keep_alive, server_command
from server.bench.players import RequestClient, connect
from server.bench.processes import UNLIMITED_ENVIRON, spawn

#: The default games: two with short matches, and one with another scale.
GAMES = "connect-four,othello,chess"
#: Number of random moves before each match.
OPENING_PLIES = 4
#: Time limit for the next message of a match, in seconds.
WAIT_S = 120.0
#: The settings of the server: no limits, and no pause before the moves of two AIs.
ENVIRON = {**UNLIMITED_ENVIRON, "PLYROOM_AI_DUEL_PACE_MS": "0"}


def random_start(game: Game, rng: random.Random) -> Position:
    """Returns an unfinished position after some random moves."""
    while True:
        position = game.start()
        for _ in range(OPENING_PLIES):
            moves = position.moves()
            if position.outcome() is not None or not moves:
                break
            position = position.play(rng.choice(moves))
        if position.outcome() is None and position.moves():
            return position


def reason_of_failure(end: dict[str, Any]) -> str:
    """Returns the reason why a match failed, from its end; "" for a match that was played."""
    return str(end["reason"]) if end["how"] == "failure" else ""


async def play_match(port: int, game: Game, level: int, start: str) -> str:
    """Plays a match between two AI seats; returns the reason if it failed, and otherwise ""."""
    client = RequestClient(await connect(port))
    pings = asyncio.create_task(keep_alive(client))
    try:
        await client.request("welcome", t="hello", protocol=1)
        seats = [{"who": "ai", "level": level}] * 2
        ack = await client.request(
            "ack", t="create", id="c", game=game.id, seats=seats, start=start
        )
        client.player.send(json.dumps({"t": "join", "id": "j", "room": ack["room"]}).encode())
        while True:
            message = await client.receive(WAIT_S)
            match = message.get("match") if message["t"] == "snapshot" else None
            if match and match.get("over"):
                return reason_of_failure(match["over"])
            if message["t"] == "event" and message["kind"] == "finished":
                return reason_of_failure(message)
    finally:
        pings.cancel()
        client.player.transport.close()


async def play_matches(
    port: int, game: Game, level: int, starts: list[Position], at_once: int
) -> None:
    """Plays a match from each start position, `at_once` of them at a time.

    Says how many failed: on a machine that is too busy, searches find no move in time.
    """
    slots = asyncio.Semaphore(at_once)

    async def play(start: Position) -> str:
        async with slots:
            return await play_match(port, game, level, start.text())

    failures: list[str] = []

    with click.progressbar(length=len(starts), label=f"{game.id}, level {level}") as bar:
        for match in asyncio.as_completed([play(start) for start in starts]):
            reason = await match
            failures += [reason] if reason else []
            bar.update(1)
    if failures:
        click.echo(f"{len(failures)} of {len(starts)} matches failed: {failures[0]}", err=True)


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path), help="Folder to store in.")
@click.option("--games", default=GAMES, show_default=True, help="Games, separated by commas.")
@click.option("--matches", default=100, show_default=True, help="Matches of each game.")
@click.option("--level", default=5, show_default=True, help="Level of both seats.")
@click.option("--workers", default=2, show_default=True, help="Search processes of the server.")
@click.option("--seed", default=1, show_default=True, help="Seed of the random moves.")
def main(data: Path, games: str, matches: int, level: int, workers: int, seed: int) -> None:
    """Play matches of the AI against itself on a server that stores them."""
    rng = random.Random(seed)

    async def play() -> None:
        async with spawn(*server_command(data, workers), environment=ENVIRON) as server:
            for game in map(load_game, games.split(",")):
                starts = [random_start(game, rng) for _ in range(matches)]
                own_level = max(1, min(level, game.levels - 1))
                await play_matches(server.port, game, own_level, starts, 2 * workers)

    asyncio.run(play())
    click.echo(f"Now run: plyroom calibration --data {data}")
