"""Ladders: docs/reference/levels.md matches the logs, and replayed games come out as they were
logged.
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from engine.game import Game, Position
from engine.match.calibration import Scale, find_levels
from engine.match.description import parse_description
from engine.match.ladder import (
    DEEPLY_MEASURED,
    FOLDER,
    MANY_GAMES,
    PERFECT_TOP,
    REACH_GAMES,
    YARDSTICK_OF,
    changed_games,
    header_of,
    main,
    options_of,
    reach,
    steps,
    top_nodes_of,
)
from engine.match.ladder import GAMES as FEW_GAMES
from engine.match.log import Header, Record, read_log
from engine.match.making import make_player
from engine.match.page import page, target_verdict
from engine.match.play import Situation
from engine.match.statistics import summarise
from engine.rules.registry import load_game
from engine.search.levels import level_of

ROOT = Path(__file__).parents[3]
MEASURED = sorted(folder.name for folder in (ROOT / FOLDER).iterdir())
QUICK_NODES = 10_000


def test_the_page_is_made_from_the_logs() -> None:
    """docs/reference/levels.md is the output of its command."""
    assert (ROOT / "docs/reference/levels.md").read_text("utf-8") == page(ROOT / FOLDER), (
        "see the command in its first lines"
    )


@pytest.mark.parametrize("game_id", MEASURED)
def test_ladders_are_whole(game_id: str) -> None:
    """Each step has a log with its players and enough games, none of them forfeited."""
    game = load_game(game_id)
    expected = {f"{step.name}.jsonl": step for step in steps(game, top_nodes_of(game))}
    more = (
        {"reach.jsonl": reach(game, top_nodes_of(game))}
        if (ROOT / FOLDER / game_id / "reach.jsonl").exists()
        else {}
    )
    assert {path.name for path in (ROOT / FOLDER / game_id).iterdir()} == (expected | more).keys()
    for name, step in (expected | more).items():
        header, records, _ = read_log(ROOT / FOLDER / game_id / name)
        assert header is not None
        wanted = header_of(game, step)
        for played in ("players", "seed", "options", "opening_plies", "max_plies", "adjudicate"):
            assert getattr(header, played) == getattr(wanted, played), played
        owed = (
            REACH_GAMES if name in more else MANY_GAMES if game_id in DEEPLY_MEASURED else FEW_GAMES
        )
        assert len(records) >= owed
        assert not any(record.forfeit for record in records)


@pytest.mark.parametrize("game_id", MEASURED)
def test_steps_are_as_wide_as_wanted(game_id: str) -> None:
    """Each level scores 65 to 85 % against the one below; level 1 at most half of its games."""
    game = load_game(game_id)
    for number, step in enumerate(steps(game, top_nodes_of(game)), 1):
        _, records, _ = read_log(ROOT / FOLDER / game_id / f"{step.name}.jsonl")
        half_points = [record.half_points for record in records]
        score = sum(half_points) / 2 / len(half_points)
        low, high = (0.0, 0.5) if number == 1 else (0.65, 0.85)
        assert low <= score <= high, f"{step.name}: {score:.1%}; see --calibrate"


@pytest.mark.parametrize("game_id", sorted(YARDSTICK_OF))
def test_level_1_loses_to_players_who_can_win(game_id: str) -> None:
    """If a greedy player cannot win won games, level 1 plays two-ply and loses at least half."""
    game = load_game(game_id)
    step = next(steps(game, top_nodes_of(game)))
    assert step.players == ("level=1", "two-ply")
    _, records, _ = read_log(ROOT / FOLDER / game_id / f"{step.name}.jsonl")
    assert 2 * sum(record.half_points == 0 for record in records) >= len(records)


def test_what_is_wanted() -> None:
    """A step should score 65 to 85 %; level 1 should lose half, or score at most half."""

    def verdict(number: int, won: int, drawn: int, lost: int) -> str:
        return target_verdict(number, summarise([2] * won + [1] * drawn + [0] * lost))

    assert [verdict(2, won, 0, 100 - won) for won in (64, 65, 85, 86)] == ["no", "yes", "yes", "no"]
    results = (50, 0, 50), (0, 50, 50), (2, 50, 48), (26, 50, 24)
    assert [verdict(1, *result) for result in results] == ["yes", "yes", "by score", "no"]
    assert target_verdict(3, None) == "no"


def quick_games() -> Iterator[tuple[str, Header, Record]]:
    """Twenty games of the ladders, spread over all steps with at most QUICK_NODES."""
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


@pytest.mark.parametrize(
    ("name", "header", "record"), [pytest.param(*game, id=game[0]) for game in quick_games()]
)
def test_games_of_the_ladders_come_out_the_same(name: str, header: Header, record: Record) -> None:
    """A replayed game has the logged moves: levels, search and rules are those that were measured.

    If this fails because one of them was changed on purpose, measure the game's ladder anew
    (docs/reference/levels.md).
    """
    assert not changed_games(header, [record]), (
        f"measure anew: python -m engine.match.ladder {header.game} --fresh"
    )


@pytest.mark.long
@pytest.mark.parametrize("game_id", MEASURED)
def test_a_game_of_each_step_comes_out_the_same(game_id: str) -> None:
    """A replayed game of each step of every ladder has the logged moves, even at high levels."""
    game = load_game(game_id)
    for i, step in enumerate(steps(game, top_nodes_of(game))):
        header, records, _ = read_log(ROOT / FOLDER / game_id / f"{step.name}.jsonl")
        assert header is not None
        assert not changed_games(header, [records[i * 37 % len(records)]]), step.name


def test_a_ladder_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command plays each step once and prints its result; run again, it only prints."""
    command = ["tic-tac-toe", "--games", "4", "--folder", str(tmp_path), "--top-nodes", "500"]
    assert main(command) == 0
    told = capsys.readouterr().out
    assert [line.split()[1] for line in told.splitlines()] == ["1-greedy:", "2-1:", "3-2:"]
    before = {path: path.read_bytes() for path in (tmp_path / "tic-tac-toe").iterdir()}
    assert main(command) == 0
    assert capsys.readouterr().out == told
    assert {path: path.read_bytes() for path in before} == before
    assert all(content.count(b"\n") == 5 for content in before.values())


def test_a_ladder_of_other_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A step with other rules stands if some of its games come out the same, else it is refused.

    An incomplete step with other rules is refused too.
    """
    command = ["tic-tac-toe", "--games", "4", "--folder", str(tmp_path), "--top-nodes", "500"]
    assert main(command) == 0
    told = capsys.readouterr().out.splitlines()
    path = tmp_path / "tic-tac-toe" / "2-1.jsonl"
    older = path.read_text().replace(load_game("tic-tac-toe").digest, "0" * 16)
    path.write_text(older)
    assert main(command) == 0
    assert capsys.readouterr().out.splitlines() == [
        told[0], f"{told[1]}  (of other rules; 4 games came out the same)", told[2],
    ]  # fmt: skip
    assert path.read_text() == older
    digest = read_log(path)[1][2].digest
    for faulty, said in (
        (older.replace(digest, "f" * 16), "its game 2 comes out differently"),
        ("".join(older.splitlines(True)[:-2]), "is of another match"),
    ):
        path.write_text(faulty)
        with pytest.raises(SystemExit):
            main(command)
        assert said in capsys.readouterr().err
        assert path.read_text() == faulty


def test_a_folder_that_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command exits with 2, and its last line names the file."""
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(SystemExit) as ended:
        main(["tic-tac-toe", "--folder", str(path)])
    assert ended.value.code == 2
    assert str(path) in capsys.readouterr().err.splitlines()[-1]


def test_how_far_the_top_reaches_is_measured_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--reach measures the top itself if it is exact, else with ten times the nodes.

    The page has the result below the table.
    """
    assert reach(load_game("chess"), 25_000).players == ("nodes=250000", "level=7")
    command = ["tic-tac-toe", "--folder", str(tmp_path), "--games", "2"]
    assert main(command) == 0
    assert "Level 3 itself" not in page(tmp_path)
    assert main([*command, "--reach"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("tic-tac-toe     reach:")
    header, records, _ = read_log(tmp_path / "tic-tac-toe" / "reach.jsonl")
    assert header is not None
    assert header.players == ("level=3", "level=2")
    assert len(records) == 2
    assert (
        "Level 3 itself, which plays perfectly because it searches to the end of the game, scores"
        in page(tmp_path)
    )


def exact_value(position: Position, known: dict[str, int]) -> int:
    """The value for the side to move with best play, 1, 0 or -1, by exhaustive search."""
    digest = position.digest()
    if digest not in known:
        outcome = position.outcome()
        if outcome is not None:
            known[digest] = (
                0 if outcome.winner is None else 1 if outcome.winner == position.turn else -1
            )
        else:
            known[digest] = max(
                -exact_value(position.play(move), known) for move in position.moves()
            )
    return known[digest]


def lines_of_the_top(game: Game, seat: int) -> Iterator[tuple[Position, Position]]:
    """Each position that the top level can meet in a seat, whatever the other side plays, and what
    it makes of it.
    """
    player = make_player(parse_description(f"level={game.levels}"), game, options_of(game))
    start = game.start(options_of(game))
    player.begin(seat)
    met, waiting = set(), [start]
    while waiting:
        position = waiting.pop()
        if position.digest() in met or position.outcome() is not None:
            continue
        met.add(position.digest())
        if position.turn != seat:
            waiting += [position.play(move) for move in position.moves()]
            continue
        choice = player.choose(Situation(position, (), position, 1))
        after = position.play(position.parse_move(choice.move))
        yield position, after
        waiting.append(after)


@pytest.mark.parametrize("game_id", sorted(set(PERFECT_TOP) - {"connect-four"}))
def test_the_top_plays_perfectly(game_id: str) -> None:
    """An exact top level keeps the value of every position, whatever the opponent plays.

    Connect four has tests of its own for this.
    """
    game = load_game(game_id)
    known: dict[str, int] = {}
    positions = 0
    for seat in (0, 1):
        for before, after in lines_of_the_top(game, seat):
            assert -exact_value(after, known) == exact_value(before, known), before.text()
            positions += 1
    assert positions > 50


class Curve(Scale):
    """A scale with known strength: it rises linearly, by `range_elo` from bottom to top."""

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
    """If the weak end of the scale is too strong for level 2, that level comes from below it."""
    scale = Curve(600)
    found = find_levels(scale, (-500_000, 0, 0), 0.75)
    assert found is not None
    assert len(found) > 3
    assert found[1][0] < 0 < found[-1][0]
    for lower, higher in pairwise(found):
        assert scale.score(higher, lower) == pytest.approx(0.75, abs=0.08)


@pytest.mark.parametrize(
    ("range_elo", "levels"), [(100, 1), (300, 1), (450, 2), (900, 4), (3000, None)]
)
def test_calibration_climbs_in_equal_steps(range_elo: float, levels: int | None) -> None:
    """Each level scores the target against the one below, and the top at most 85 %.

    A range that needs too many levels is refused.
    """
    scale = Curve(range_elo)
    found = find_levels(scale, (0, 0, 0), 0.75)
    assert (len(found) if found else None) == levels
    for lower, higher in pairwise(found or []):
        assert scale.score(higher, lower) == pytest.approx(0.75, abs=0.08)
    if found:
        assert scale.score(scale.at(1), found[-1]) <= 0.85
