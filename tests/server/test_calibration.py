"""`plyroom calibration` compares the AI's chances to win with the results of stored matches."""

import random
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from sqlalchemy import Connection

from engine.calibration import shown_chance
from engine.rules.registry import load_game
from engine.search.job import MATE
from engine.win_chance import scale_of
from server.commands import AiSeat, MySeat, Resign
from server.events import Moved, Occupant, format_event_body
from server.ops.admin import main
from server.ops.calibration import ENOUGH_MATCHES, Calibration, calibrate, format_calibration
from server.protocol.wording import StoredThought
from server.rooms.model import MatchResult
from server.store import tables as t
from tests.support.databases import KINDS, SqliteDatabase, empty_database
from tests.support.fake_server import Client, FakeServer

#: A number of matches at which the means of results are close to the chances.
MANY = 2_000
LEVELS = (Occupant("ai:0", "Level 5", "ai", level=5), Occupant("ai:1", "Level 3", "ai", level=3))


@dataclass
class Match:
    """A match to store: a seat and a score for each move, and the result."""

    scores: list[tuple[int, int]]
    winner: int | None
    how: str = "board"
    game: str = "chess"
    seats: tuple[Occupant, ...] = LEVELS
    #: The plies of the final line; by default all moves.
    plies: int | None = None
    thought: dict[str, Any] | None = None


def insert(connection: Connection, matches: list[Match]) -> None:
    """Stores matches, each in a room of its own: their rows, moves and thoughts."""
    encode = msgspec.json.encode
    for number, match in enumerate(matches):
        name = f"m{number:06}"
        over = MatchResult(match.winner, match.how, "")
        connection.execute(
            t.matches.insert().values(
                id=name, room=name, game=match.game, number=1, options=b"{}",
                seats=encode(match.seats), start="", rules="", public=True, first_v=1, started_ms=1,
                last_v=99, finished_ms=2, over=encode(over),
                plies=len(match.scores) if match.plies is None else match.plies,
            )
        )  # fmt: skip
        for ply, (seat, score) in enumerate(match.scores):
            v = ply + 2
            event = Moved(name, ply, seat, "e2e4", "")
            row = {"room": name, "v": v, "at_ms": 1, "audience": 0}
            connection.execute(t.events.insert().values(**row, body=format_event_body(event)))
            thought = StoredThought(**{"depth": 3, "score": score, **(match.thought or {})})
            connection.execute(
                t.thoughts.insert().values(match=name, v=v, ply=ply, body=encode(thought))
            )


async def calibrated(
    database: SqliteDatabase, matches: list[Match], min_level: int = 1
) -> list[Calibration]:
    """Stores matches and returns the calibration of their games."""
    await database.run(lambda connection: insert(connection, matches))
    return await database.run(
        lambda connection: calibrate(connection, load_game, min_level), snapshot=True
    )


@pytest.fixture
async def database(request: pytest.FixtureRequest) -> Any:
    async with empty_database("sqlite", request) as opened:
        yield opened


async def test_results_with_the_predicted_chance_are_calibrated(database: SqliteDatabase) -> None:
    """If each side wins as often as its score says, the mean result of each range is its chance."""
    rng = random.Random(5)
    scale = scale_of(load_game("chess"))
    matches = []
    for _ in range(MANY):
        score = rng.randrange(-900, 900)
        winner = 0 if rng.random() < shown_chance(score, scale) else 1
        matches.append(Match([(0, score), (1, -score)], winner))
    matches.append(Match([(0, 0), (1, MATE - 3)], 1))
    (chess,) = await calibrated(database, matches)
    assert (chess.game, chess.matches, chess.draws) == ("chess", MANY + 1, 0)
    assert (chess.positions, chess.forced, chess.forced_right) == (2 * MANY + 1, 1, 1.0)
    assert chess.has_enough_matches
    assert chess.loss < chess.even_loss
    for each in chess.bins:
        assert abs(each.predicted - each.scored) < 0.1
    assert sum(each.positions for each in chess.bins) == chess.positions
    assert "too few" not in format_calibration(chess)


async def test_what_counts(database: SqliteDatabase) -> None:
    """Only moves of the final line count, of seats at a level, in matches that were decided."""
    person = Occupant("ada", "Ada")
    swindler = Occupant("ai:2", "Swindler", "ai", persona="swindler")
    ignored = [
        Match([(0, 50)], 0, how="abort"),
        Match([(0, 50)], 0, how="gone"),
        Match([(0, 50)], 0, seats=(swindler, person)),
        Match([(0, 50)], 0, seats=(person, LEVELS[1])),
        Match([(0, 50)], 0, thought={"value": "3"}),
        Match([(0, 50)], 0, thought={"depth": 0}),
        Match([(0, 50)], 0, game="no-longer-installed"),
    ]
    counted = [
        Match([(0, 50), (1, 50)], None, how="agreement"),
        Match([(0, 50), (0, 70), (0, 90)], 0, how="resign", plies=2),
    ]
    (chess,) = await calibrated(database, ignored + counted)
    assert (chess.matches, chess.draws, chess.positions) == (2, 1, 4)
    (strong,) = await database.run(lambda c: calibrate(c, load_game, min_level=5), snapshot=True)
    assert (strong.matches, strong.positions) == (2, 3)
    text = format_calibration(chess)
    assert f"too few matches to judge; {ENOUGH_MATCHES} or more" in text


@pytest.mark.parametrize("kind", KINDS)
async def test_the_matches_of_a_server(kind: str, request: pytest.FixtureRequest) -> None:
    """The AI's score of a played match is compared with the result for the AI's seat."""
    async with empty_database(kind, request) as database:
        async with database.open() as store:
            fake = FakeServer(store=store)
            fake.engines.score = 100
            async with fake.hub() as hub:
                ada = Client(hub, "ada")
                room = await ada.create("tic-tac-toe", seats=(MySeat(), AiSeat(1)))
                await ada.ack(ada.join(room))
                await ada.ack(ada.move(room, 0, "b2"))
                await ada.until(lambda m: m["t"] == "event" and m.get("ply") == 1)
                await ada.ack(ada.plain(Resign, room))
        (game,) = await database.run(lambda c: calibrate(c, load_game), snapshot=True)
        assert (game.game, game.matches, game.positions) == ("tic-tac-toe", 1, 1)
        (used,) = [each for each in game.bins if each.positions]
        scale = scale_of(load_game("tic-tac-toe"))
        assert (used.predicted, used.scored) == (round(shown_chance(100, scale), 3), 1.0)


async def test_the_command(database: SqliteDatabase) -> None:
    """The command prints a table or JSON for each game, and says when there is nothing."""
    folder = database.path.parent
    database.path.rename(folder / "plyroom.sqlite3")
    database.path = folder / "plyroom.sqlite3"
    command = ["calibration", "--data", str(folder)]
    run = CliRunner().invoke
    assert "no finished matches" in run(main, command).output
    await calibrated(database, [Match([(0, 200), (1, -200)], 0)])
    assert "chess: 1 match (0 drawn), 2 positions" in run(main, command).output
    (line,) = run(main, [*command, "--json"]).output.splitlines()
    assert msgspec.json.decode(line)["positions"] == 2
    assert "no finished matches" in run(main, [*command, "--game", "othello"]).output
