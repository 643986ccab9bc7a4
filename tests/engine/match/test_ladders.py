"""Ladders: what docs/levels.md says was played, and comes out the same when it is played again."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from engine.games.registry import load_game
from engine.match.calibration import Scale, climb
from engine.match.ladder import FOLDER, IN_DEPTH, MANY_GAMES, REACH_GAMES, header_of, main, reach, steps, top_nodes_of
from engine.match.ladder import GAMES as FEW_GAMES
from engine.match.log import Header, Record, read_log
from engine.match.openings import Opening
from engine.match.page import page
from engine.match.run import Bench
from engine.search.levels import level_of

ROOT = Path(__file__).parents[3]
MEASURED = sorted(folder.name for folder in (ROOT / FOLDER).iterdir())
QUICK_NODES = 10_000


def test_the_page_is_made_from_the_logs() -> None:
    """docs/levels.md is what its command prints."""
    assert (ROOT / "docs/levels.md").read_text("utf-8") == page(ROOT / FOLDER), "see the command in its first lines"


@pytest.mark.parametrize("game_id", MEASURED)
def test_ladders_are_whole(game_id: str) -> None:
    """There is a log for each step, with its players and as many games as the game is owed, none of them forfeited."""
    game = load_game(game_id)
    expected = {f"{step.name}.jsonl": step for step in steps(game, top_nodes_of(game))}
    more = (
        {"reach.jsonl": reach(game, top_nodes_of(game))} if (ROOT / FOLDER / game_id / "reach.jsonl").exists() else {}
    )
    assert {path.name for path in (ROOT / FOLDER / game_id).iterdir()} == (expected | more).keys()
    for name, step in (expected | more).items():
        header, records, _ = read_log(ROOT / FOLDER / game_id / name)
        assert header is not None
        wanted = header_of(game, step)
        for played in ("players", "seed", "options", "opening_plies", "max_plies", "adjudicate"):
            assert getattr(header, played) == getattr(wanted, played), played
        owed = REACH_GAMES if name in more else MANY_GAMES if game_id in IN_DEPTH else FEW_GAMES
        assert len(records) >= owed
        assert not any(record.forfeit for record in records)


def quick_games() -> Iterator[tuple[str, Header, Record]]:
    """Twenty games of the ladders, spread over all steps that take no more than a moment."""
    logs = []
    for game_id in MEASURED:
        game = load_game(game_id)
        for number, step in enumerate(steps(game, top_nodes_of(game)), 1):
            if number < game.levels and (level_of(game, number).limit.nodes or 0) <= QUICK_NODES:
                logs.append((game_id, step.name))
    for i in range(20):
        game_id, name = logs[i * len(logs) // 20]
        header, records, _ = read_log(ROOT / FOLDER / game_id / f"{name}.jsonl")
        assert header is not None
        yield f"{game_id}-{name}", header, records[i * 37 % len(records)]


@pytest.mark.parametrize(("name", "header", "record"), [pytest.param(*game, id=game[0]) for game in quick_games()])
def test_games_of_the_ladders_come_out_the_same(name: str, header: Header, record: Record) -> None:
    """Played again with its seed, a game has the same moves: levels, search and rules are those that were measured.

    When this fails because one of them was changed on purpose, the game's ladder is measured anew (docs/levels.md).
    """
    bench = Bench(header)
    again = bench.play(record.n, Opening(tuple(record.opening.split()), 0))
    bench.close()
    assert again == record, f"measure anew: python -m engine.match.ladder {header.game} --fresh"


def test_a_ladder_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command plays each step once, says how it went, and has nothing left to play when it is asked again."""
    command = ["tic-tac-toe", "--games", "4", "--folder", str(tmp_path), "--top-nodes", "500"]
    assert main(command) == 0
    told = capsys.readouterr().out
    assert [line.split()[1] for line in told.splitlines()] == ["1-greedy:", "2-1:", "3-2:"]
    before = {path: path.read_bytes() for path in (tmp_path / "tic-tac-toe").iterdir()}
    assert main(command) == 0
    assert capsys.readouterr().out == told
    assert {path: path.read_bytes() for path in before} == before
    assert all(content.count(b"\n") == 5 for content in before.values())


def test_what_more_nodes_gain_is_measured_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One match more tells how the top scores with ten times the nodes, and the page says it below the table."""
    command = ["tic-tac-toe", "--folder", str(tmp_path), "--games", "2"]
    assert main(command) == 0
    assert "With 50,000 nodes" not in page(tmp_path)
    assert main([*command, "--reach"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("tic-tac-toe     reach:")
    header, records, _ = read_log(tmp_path / "tic-tac-toe" / "reach.jsonl")
    assert header is not None
    assert header.players == ("nodes=50000", "level=2")
    assert len(records) == 2
    assert "With 50,000 nodes the top scores" in page(tmp_path)


class Curve(Scale):
    """A scale on which strength is known: points differ by Elo, and the top is so far above the bottom."""

    def __init__(self, range_elo: float) -> None:
        self.range_elo = range_elo
        self.trials = 0

    def at(self, point: float) -> tuple[int, int, int]:
        return (round(point * 1_000_000), 0, 0)

    def score(self, settings: tuple[int, int, int], other: tuple[int, int, int] | str) -> float:
        self.trials += 1
        assert not isinstance(other, str)
        return 1 / (1 + 10 ** (-(settings[0] - other[0]) * self.range_elo / 1_000_000 / 400))


def test_calibration_begins_below_where_it_has_to() -> None:
    """Where the weak end of the scale is too strong for the second level, that one is taken from below."""
    scale = Curve(600)
    found = climb(scale, (-500_000, 0, 0), 0.75)
    assert found is not None
    assert len(found) > 3
    assert found[1][0] < 0 < found[-1][0]
    for lower, higher in pairwise(found):
        assert scale.score(higher, lower) == pytest.approx(0.75, abs=0.08)


@pytest.mark.parametrize(("range_elo", "levels"), [(100, 1), (300, 1), (450, 2), (900, 4), (3000, None)])
def test_calibration_climbs_in_equal_steps(range_elo: float, levels: int | None) -> None:
    """Each level scores the target against the one below, the top no more than wanted; too long a way is refused."""
    scale = Curve(range_elo)
    found = climb(scale, (0, 0, 0), 0.75)
    assert (len(found) if found else None) == levels
    for lower, higher in pairwise(found or []):
        assert scale.score(higher, lower) == pytest.approx(0.75, abs=0.08)
    if found:
        assert scale.score(scale.at(1), found[-1]) <= 0.85
