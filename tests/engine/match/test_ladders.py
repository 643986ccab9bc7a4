"""Ladders: docs/reference/levels.md matches the logs, and replayed games equal the logged ones."""

import time
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import count, pairwise
from pathlib import Path
from zipfile import ZipFile

import pytest

from engine.game import Game, Position
from engine.match import players
from engine.match.archive import RESULTS, Archive, games_with_logs, packed
from engine.match.calibration import Scale, find_levels
from engine.match.description import parse_description
from engine.match.ladder import (
    DEEPLY_MEASURED,
    KIND,
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
from engine.match.log import Header, Record
from engine.match.making import make_player
from engine.match.play import Situation
from engine.match.statistics import summarise
from engine.reference.levels import page, target_verdict
from engine.rules.registry import load_game
from engine.search.levels import level_of

#: The root of the repository.
ROOT = Path(__file__).parents[3]
#: Games with logs of a ladder.
MEASURED = games_with_logs(RESULTS, KIND)
#: The most nodes per move of the levels whose games are replayed.
QUICK_NODES = 10_000


def test_the_page_matches_the_logs() -> None:
    """docs/reference/levels.md is the output of its command."""
    assert (ROOT / "docs/reference/levels.md").read_text("utf-8") == page(RESULTS), (
        "see the command in its first lines"
    )


@pytest.mark.parametrize("game_id", MEASURED)
def test_ladders_are_complete(game_id: str) -> None:
    """Each step has a log with its players and enough games, none of them forfeited."""
    game = load_game(game_id)
    archive = Archive(RESULTS, game_id)
    expected = {step.log_name: step for step in steps(game, top_nodes_of(game))}
    top = reach(game, top_nodes_of(game))
    extra = {top.log_name: top} if top.log_name in archive.names(KIND) else {}
    assert set(archive.names(KIND)) == (expected | extra).keys()
    for name, step in (expected | extra).items():
        header, records = archive.read(name)
        assert header is not None
        expected_header = header_of(game, step)
        for field in ("players", "seed", "options", "opening_plies", "max_plies", "adjudicate"):
            assert getattr(header, field) == getattr(expected_header, field), field
        min_games = (
            REACH_GAMES
            if name in extra
            else MANY_GAMES
            if game_id in DEEPLY_MEASURED
            else FEW_GAMES
        )
        assert len(records) >= min_games
        assert not any(record.forfeit for record in records)


@pytest.mark.parametrize("game_id", MEASURED)
def test_steps_have_the_target_width(game_id: str) -> None:
    """Each level scores 65 to 85 % against the one below; level 1 at most half of its games."""
    game = load_game(game_id)
    for number, step in enumerate(steps(game, top_nodes_of(game)), 1):
        _, records = Archive(RESULTS, game_id).read(step.log_name)
        half_points = [record.half_points for record in records]
        score = sum(half_points) / 2 / len(half_points)
        low, high = (0.0, 0.5) if number == 1 else (0.65, 0.85)
        assert low <= score <= high, f"{step.name}: {score:.1%}; see --calibrate"


@pytest.mark.parametrize("game_id", sorted(YARDSTICK_OF))
def test_level_1_loses_to_the_two_ply_player(game_id: str) -> None:
    """Where greedy is too weak an opponent, level 1 plays two-ply and loses at least half."""
    game = load_game(game_id)
    step = next(steps(game, top_nodes_of(game)))
    assert step.players == ("level=1", "two-ply")
    _, records = Archive(RESULTS, game_id).read(step.log_name)
    assert 2 * sum(record.half_points == 0 for record in records) >= len(records)


def test_targets_of_the_page() -> None:
    """A step should score 65 to 85 %; level 1 should lose half, or score at most half."""

    def verdict(number: int, won: int, drawn: int, lost: int) -> str:
        return target_verdict(number, summarise([2] * won + [1] * drawn + [0] * lost))

    assert [verdict(2, won, 0, 100 - won) for won in (64, 65, 85, 86)] == ["no", "yes", "yes", "no"]
    results = (50, 0, 50), (0, 50, 50), (2, 50, 48), (26, 50, 24)
    assert [verdict(1, *result) for result in results] == ["yes", "yes", "by score", "no"]
    assert target_verdict(3, None) == "no"


def quick_games() -> Iterator[tuple[str, Header, Record]]:
    """Yields twenty games of the ladders, spread over the steps with at most QUICK_NODES."""
    logs = []
    for game_id in MEASURED:
        game = load_game(game_id)
        for number, step in enumerate(steps(game, top_nodes_of(game)), 1):
            if number < game.levels and (level_of(game, number).limit.nodes or 0) <= QUICK_NODES:
                logs.append((game_id, step))
    for i in range(20):
        game_id, step = logs[i * len(logs) // 20]
        header, records = Archive(RESULTS, game_id).read(step.log_name)
        assert header is not None
        yield f"{game_id}-{step.name}", header, records[i * 37 % len(records)]


@pytest.mark.parametrize(
    ("name", "header", "record"), [pytest.param(*game, id=game[0]) for game in quick_games()]
)
def test_replayed_games_equal_the_logged_ones(name: str, header: Header, record: Record) -> None:
    """A replayed game has the logged moves: levels, search and rules are unchanged.

    If one of them was changed on purpose, measure the game's ladder again
    (docs/reference/levels.md).
    """
    assert not changed_games(header, [record]), (
        f"measure again: python -m engine.match.ladder {header.game} --fresh"
    )


def test_a_busy_machine_changes_no_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """A game comes out the same though each look at the clock finds that a second has passed.

    It is replayed in the same way if a time limit, where one is set, is over at once.
    """
    header, records = Archive(RESULTS, "chess").read("ladders/4-3.jsonl")
    assert header is not None
    seconds = count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(seconds)))
    monkeypatch.setattr(players, "expiring", lambda expire, seconds: nullcontext(expire()))
    assert not changed_games(header, [records[111]])


@pytest.mark.long
@pytest.mark.parametrize("game_id", MEASURED)
def test_a_replayed_game_of_each_step_equals_the_logged_one(game_id: str) -> None:
    """A replayed game of each step of every ladder has the logged moves, even at high levels."""
    game = load_game(game_id)
    for i, step in enumerate(steps(game, top_nodes_of(game))):
        header, records = Archive(RESULTS, game_id).read(step.log_name)
        assert header is not None
        assert not changed_games(header, [records[i * 37 % len(records)]]), step.name


def test_a_finished_ladder_is_only_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command plays each step once and prints its result; run again, it only prints."""
    command = ["tic-tac-toe", "--games", "4", "--folder", str(tmp_path), "--top-nodes", "500"]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert [line.split()[1] for line in printed.splitlines()] == ["1-greedy:", "2-1:", "3-2:"]
    archive = Archive(tmp_path, "tic-tac-toe")
    before = archive.path.read_bytes()
    assert main(command) == 0
    assert capsys.readouterr().out == printed
    assert archive.path.read_bytes() == before
    assert [len(archive.read(name)[1]) for name in archive.names(KIND)] == [4, 4, 4]
    assert not list(tmp_path.glob("*.jsonl")), "no match is under way"


def test_a_ladder_made_with_other_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log made with other rules stays valid if replayed games equal the logged ones.

    Otherwise it is refused, and so is an incomplete log made with other rules.
    """
    command = ["tic-tac-toe", "--games", "4", "--folder", str(tmp_path), "--top-nodes", "500"]
    assert main(command) == 0
    printed = capsys.readouterr().out.splitlines()
    archive, name = Archive(tmp_path, "tic-tac-toe"), "ladders/2-1.jsonl"

    def rewrite(content: str) -> bytes:
        """Replaces the log; returns the bytes of the file."""
        with ZipFile(archive.path) as file:
            logs = {each: file.read(each) for each in file.namelist()}
        archive.path.write_bytes(packed({**logs, name: content.encode()}))
        return archive.path.read_bytes()

    with ZipFile(archive.path) as file:
        older = file.read(name).decode().replace(load_game("tic-tac-toe").digest, "0" * 16)
    before = rewrite(older)
    assert main(command) == 0
    assert capsys.readouterr().out.splitlines() == [
        printed[0], f"{printed[1]}  (with other rules; 4 games came out the same)", printed[2],
    ]  # fmt: skip
    assert archive.path.read_bytes() == before
    digest = archive.read(name)[1][2].digest
    for faulty, message in (
        (older.replace(digest, "f" * 16), "its game 2 comes out differently"),
        ("".join(older.splitlines(True)[:-2]), "is of another match"),
    ):
        before = rewrite(faulty)
        with pytest.raises(SystemExit):
            main(command)
        assert message in capsys.readouterr().err
        assert archive.path.read_bytes() == before
        assert not list(tmp_path.glob("*.jsonl"))


def test_a_folder_that_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command exits with 2, and its last line names the file."""
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(SystemExit) as ended:
        main(["tic-tac-toe", "--folder", str(path)])
    assert ended.value.code == 2
    assert str(path) in capsys.readouterr().err.splitlines()[-1]


def test_the_reach_of_the_top_level(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--reach measures an exact top level itself, and any other by ten times its nodes.

    The page shows the result below the table.
    """
    assert reach(load_game("chess"), 25_000).players == ("nodes=250000", "level=7")
    command = ["tic-tac-toe", "--folder", str(tmp_path), "--games", "2"]
    assert main(command) == 0
    assert "Level 3 itself" not in page(tmp_path)
    assert main([*command, "--reach"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("tic-tac-toe     reach:")
    header, records = Archive(tmp_path, "tic-tac-toe").read("ladders/reach.jsonl")
    assert header is not None
    assert header.players == ("level=3", "level=2")
    assert len(records) == 2
    assert (
        "Level 3 itself, which plays perfectly because it searches to the end of the game, scores"
        in page(tmp_path)
    )


def exact_value(position: Position, known: dict[str, int]) -> int:
    """Returns the value for the side to move, 1, 0 or -1, by exhaustive search."""
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


def moves_of_the_top_level(game: Game, seat: int) -> Iterator[tuple[Position, Position]]:
    """Yields each position that the top level can meet in a seat, and the one after its move."""
    player = make_player(parse_description(f"level={game.levels}"), game, options_of(game))
    start = game.start(options_of(game))
    player.begin(seat)
    visited, stack = set(), [start]
    while stack:
        position = stack.pop()
        if position.digest() in visited or position.outcome() is not None:
            continue
        visited.add(position.digest())
        if position.turn != seat:
            stack += [position.play(move) for move in position.moves()]
            continue
        choice = player.choose(Situation(position, (), position, 1))
        after = position.play(position.parse_move(choice.move))
        yield position, after
        stack.append(after)


@pytest.mark.parametrize("game_id", sorted(set(PERFECT_TOP) - {"connect-four"}))
def test_the_top_plays_perfectly(game_id: str) -> None:
    """An exact top level keeps the value of every position, whatever the opponent plays.

    Connect four has its own tests of this.
    """
    game = load_game(game_id)
    known: dict[str, int] = {}
    position_count = 0
    for seat in (0, 1):
        for before, after in moves_of_the_top_level(game, seat):
            assert -exact_value(after, known) == exact_value(before, known), before.text()
            position_count += 1
    assert position_count > 50


class LinearScale(Scale):
    """A scale whose strength rises linearly by `range_elo` from bottom to top."""

    def __init__(self, range_elo: float) -> None:
        self.range_elo = range_elo
        self.trials = 0

    def at(self, point: float) -> tuple[int, int, int]:
        return (round(point * 1_000_000), 0, 0)

    def measure_score(
        self, settings: tuple[int, int, int], other: tuple[int, int, int] | str
    ) -> float:
        self.trials += 1
        assert not isinstance(other, str)
        return 1 / (1 + 10 ** (-(settings[0] - other[0]) * self.range_elo / 1_000_000 / 400))


def test_calibration_starts_below_the_scale_if_necessary() -> None:
    """If the weak end of the scale is too strong for level 2, level 2 lies below the scale."""
    scale = LinearScale(600)
    levels_found = find_levels(scale, (-500_000, 0, 0), 0.75)
    assert levels_found is not None
    assert len(levels_found) > 3
    assert levels_found[1][0] < 0 < levels_found[-1][0]
    for lower, higher in pairwise(levels_found):
        assert scale.measure_score(higher, lower) == pytest.approx(0.75, abs=0.08)


@pytest.mark.parametrize(
    ("range_elo", "levels"), [(100, 1), (300, 1), (450, 2), (900, 4), (3000, None)]
)
def test_calibration_climbs_in_equal_steps(range_elo: float, levels: int | None) -> None:
    """Each level scores the target against the one below, and the top at most 85 %.

    A range that needs too many levels is refused.
    """
    scale = LinearScale(range_elo)
    levels_found = find_levels(scale, (0, 0, 0), 0.75)
    assert (len(levels_found) if levels_found else None) == levels
    for lower, higher in pairwise(levels_found or []):
        assert scale.measure_score(higher, lower) == pytest.approx(0.75, abs=0.08)
    if levels_found:
        assert scale.measure_score(scale.at(1), levels_found[-1]) <= 0.85
