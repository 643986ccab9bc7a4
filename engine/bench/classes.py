"""Measures how analyses delay live searches: `python -m engine.bench.classes`.

Twenty AI rooms at levels 6 to 8 play on a pool of two workers, with and without four analyses of
60 plies beside them, in turns. Each room asks for a move at fixed times, the same in all rounds.
The delay of a search is the time from its request to its answer.
"""

import asyncio
import random
import time
from collections.abc import Sequence
from statistics import median

import click
from msgspec import Struct

from engine.game import Position
from engine.pool.pool import Pool
from engine.rules.registry import load_game
from engine.search.job import Job, Limit, Use

#: The games and the levels of the rooms.
GAMES = ("chess", "othello", "connect-four")
LEVELS = (6, 7, 8)
ROOMS = 20
#: Time between two moves of a room's AI, in seconds: the time that a person thinks.
MOVE_EVERY_S = 16.0
#: The number of analyses.
STUDIES = 4
#: The length of an analysis, in plies.
PLIES = 60
#: The nodes of each ply of an analysis.
NODES = 60_000
#: The promised ratio of the median delays with and without analyses.
P50_RATIO = 1.10
#: The promised ratio of the 99th percentiles of the delays with and without analyses.
P99_RATIO = 1.25
#: The promised difference of these percentiles, in ms, which is enough without the ratio.
P99_MS = 50.0


class Arm(Struct, frozen=True):
    """Half a round: the delays of its live searches, and the analysed and preempted plies."""

    delays_ms: list[float]
    plies: int
    preempted: int

    def percentile(self, percent: float) -> float:
        """The delay that this share of the searches does not exceed."""
        ordered = sorted(self.delays_ms)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def random_positions(game_id: str, plies: int, seed: int) -> list[Position]:
    """The positions of a random match, at most `plies` of them after the start."""
    rng, position = random.Random(seed), load_game(game_id).start()
    positions = [position]
    while len(positions) < plies and (moves := position.moves()):
        position = position.play(rng.choice(moves))
        positions.append(position)
    return [each for each in positions if each.moves()]


def job_at(position: Position, room: str, level: int | None, use: Use = "live") -> Job:
    """The job for a move of an AI at a level, or for the analysis of a position."""
    game, limit = position.game, Limit() if level is not None else Limit(nodes=NODES)
    return Job(
        game.id, game.digest, dict(position.options), position.text(), (), room,
        level=level, limit=limit, use=use, lines=1 if level is not None else 3,
    )  # fmt: skip


async def play_room(pool: Pool, number: int, seconds: float, name: str) -> list[float]:
    """Asks for a move every MOVE_EVERY_S; returns the delays in ms."""
    game_id, level = GAMES[number % len(GAMES)], LEVELS[number // len(GAMES) % len(LEVELS)]
    positions = random_positions(game_id, 20, number)[4:]
    delays_ms: list[float] = []
    begun_s = time.perf_counter()
    due_s = MOVE_EVERY_S * number / ROOMS
    while due_s < seconds:
        await asyncio.sleep(max(0.0, begun_s + due_s - time.perf_counter()))
        position = positions[len(delays_ms) % len(positions)]
        asked_s = time.perf_counter()
        await pool.search(job_at(position, f"{name} {number}", level))
        delays_ms.append(1000 * (time.perf_counter() - asked_s))
        due_s += MOVE_EVERY_S
    return delays_ms


async def study(pool: Pool, number: int, plies: list[int]) -> None:
    """Analyses the positions of a match again and again, until cancelled; counts the plies."""
    positions = random_positions("chess", PLIES, 1000 + number)
    while True:
        for position in reversed(positions):
            await pool.search(job_at(position, f"study:{number}", None, "study"))
            plies.append(1)


async def measure(pool: Pool, seconds: float, name: str, studies: int) -> Arm:
    """Plays in all rooms for some seconds beside `studies` analyses."""
    plies: list[int] = []
    before = pool.load().of("study").preempted
    tasks = [asyncio.create_task(study(pool, number, plies)) for number in range(studies)]
    rooms = (play_room(pool, number, seconds, name) for number in range(ROOMS))
    delays_ms = [delay for room in await asyncio.gather(*rooms) for delay in room]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return Arm(delays_ms, len(plies), pool.load().of("study").preempted - before)


async def warm_up(pool: Pool, workers: int) -> None:
    """Compiles the games, and loads them in each worker."""
    for game_id in GAMES:
        await pool.warm(game_id)
    for game_id in GAMES:
        position = load_game(game_id).start()
        jobs = [job_at(position, f"warm {number}", 8) for number in range(workers)]
        await asyncio.gather(*map(pool.search, jobs))


def report(rounds: Sequence[tuple[Arm, Arm]]) -> list[str]:
    """The lines that compare the rounds: the medians of the rounds' percentiles."""
    lines = []
    for percent in (50, 99):
        without = median(arms[0].percentile(percent) for arms in rounds)
        beside = median(arms[1].percentile(percent) for arms in rounds)
        ratio = median(arms[1].percentile(percent) / arms[0].percentile(percent) for arms in rounds)
        is_reached = ratio <= (P50_RATIO if percent == 50 else P99_RATIO)
        is_reached = is_reached or (percent == 99 and beside - without <= P99_MS)
        lines.append(
            f"live search p{percent}: {without:,.1f} ms alone, {beside:,.1f} ms beside analyses,"
            f" ratio {ratio:.2f} ({'reached' if is_reached else 'not reached'})"
        )
    plies = sum(arms[1].plies for arms in rounds)
    preempted = sum(arms[1].preempted for arms in rounds)
    live = sum(len(arms[1].delays_ms) for arms in rounds)
    lines.append(
        f"{live} live searches beside {plies} analysed plies; {preempted} plies were preempted"
    )
    return lines


async def run(workers: int, round_count: int, seconds: float) -> None:
    """Measures all rounds and prints them."""
    async with Pool(workers, warm=()) as pool:
        await warm_up(pool, workers)
        rounds = []
        for number in range(round_count):
            order = (0, STUDIES) if number % 2 == 0 else (STUDIES, 0)
            arms = {
                count: await measure(pool, seconds, f"{number}/{count}", count) for count in order
            }
            rounds.append((arms[0], arms[STUDIES]))
            click.echo(f"round {number + 1}:  " + "  ".join(
                f"p50 {arm.percentile(50):.1f} ms, p99 {arm.percentile(99):.1f} ms"
                for arm in rounds[-1]
            ))  # fmt: skip
        click.echo("\n".join(report(rounds)))


@click.command()
@click.option("--workers", default=2, show_default=True, help="Search processes of the pool.")
@click.option("--rounds", default=5, show_default=True, help="Rounds, each with and without.")
@click.option("--seconds", default=48.0, show_default=True, help="Length of half a round.")
def main(workers: int, rounds: int, seconds: float) -> None:
    """Measures the delay of live searches with and without analyses beside them."""
    click.echo(
        f"{ROOMS} AI rooms at levels {LEVELS[0]} to {LEVELS[-1]}, {workers} workers,"
        f" {STUDIES} analyses of {PLIES} plies"
    )
    asyncio.run(run(workers, rounds, seconds))


if __name__ == "__main__":
    main()
