"""Matches: pairs are fair, results are repeatable, and a killed match is resumed."""

import errno
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from engine.conformance.native import minimax
from engine.game import ONGOING, Position
from engine.match.__main__ import main
from engine.match.description import Clock, DescriptionError, parse_description
from engine.match.log import Header, Log, LogError, Record, moves_digest, read_log
from engine.match.making import make_player
from engine.match.openings import NoOpening, Openings
from engine.match.play import Adjudication, Choice, Player, PlayerFailed, Situation, play_game
from engine.match.players import job_of
from engine.match.run import CannotPlay, openings_of, run_match
from engine.rules.registry import load_game
from engine.search import driver
from engine.search.driver import Control, Searcher, Table
from engine.search.job import MATE, Job

#: A function from a game's id to its searcher, such as the fixture `searcher_of`.
Searchers = Callable[[str], Searcher]


def header_of(game_id: str, *players: str, seed: int = 1, plies: int = 2) -> Header:
    """Returns the header of a match between two players."""
    game = load_game(game_id)
    return Header(
        game_id,
        game.digest,
        (players[0], players[1]),
        seed,
        plies,
        200,
        game.check_options({}),
        compact=True,
    )


def play_match(
    header: Header, games: int, path: Path | None = None, concurrency: int = 1, fresh: bool = False
) -> list[Record]:
    """Plays a match and returns its records."""
    log = Log(header, path, fresh)
    run_match(log, games, concurrency=concurrency)
    log.close()
    return log.records


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forks the processes of matches from one that has imported the compiler, as a pool does: each
    import takes a second of processor time.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["engine.pool.preload"])
    monkeypatch.setattr("multiprocessing.get_context", lambda method: context)


def test_pairs_are_fair() -> None:
    """The games of a pair share an opening and swap sides; pairs have different openings."""
    records = play_match(header_of("connect-four", "depth=2", "depth=1"), 12)
    assert [record.seat for record in records] == [0, 1] * 6
    assert all(
        first.opening == second.opening
        for first, second in zip(records[::2], records[1::2], strict=True)
    )
    assert len({record.opening for record in records}) == 6
    assert sum(record.half_points for record in records) > 12, "the deeper search wins more"


def test_exchanged_players_reverse_the_results() -> None:
    """The same match with the players exchanged has the reversed results."""
    records = play_match(header_of("connect-four", "depth=4", "depth=2"), 8)
    exchanged = play_match(header_of("connect-four", "depth=2", "depth=4"), 8)
    by_game = {(record.opening, record.seat): record for record in exchanged}
    assert all(
        by_game[record.opening, 1 - record.seat].half_points == 2 - record.half_points
        for record in records
    )


@pytest.mark.parametrize("length", [0, 1, 30, 200, 333, 500, -1])
def test_a_truncated_log_is_completed(length: int, tmp_path: Path) -> None:
    """A match resumed from a log of any length completes it to the same file, byte for byte."""
    header = header_of("tic-tac-toe", "level=1", "persona=random", plies=1)
    complete, part = tmp_path / "whole", tmp_path / "part"
    play_match(header, 10, complete)
    part.write_bytes(complete.read_bytes()[:length])
    play_match(header, 10, part)
    assert part.read_bytes() == complete.read_bytes()
    play_match(header, 10, part)
    assert part.read_bytes() == complete.read_bytes(), "a complete log is unchanged"


def test_a_log_of_another_match(tmp_path: Path) -> None:
    """A log of another match is refused with the difference; --fresh overwrites it."""
    path = tmp_path / "log"
    header = header_of("tic-tac-toe", "depth=1", "depth=2", plies=1)
    play_match(header, 2, path)
    before = path.read_bytes()
    with pytest.raises(LogError, match="seed 1 in the log, 2 now"):
        Log(structs.replace(header, seed=2), path)
    with pytest.raises(LogError, match="rules"):
        Log(structs.replace(header, rules="0" * 16), path)
    assert path.read_bytes() == before
    path.write_bytes(before.replace(b'"n":0', b'"n":7'))
    with pytest.raises(LogError, match="lacks games"):
        Log(header, path)
    path.write_bytes(before)
    other = structs.replace(header, seed=2)
    Log(other, path, fresh=True).close()
    assert path.read_bytes() == before, "the old log stays until a game is added"
    play_match(other, 2, path, fresh=True)
    assert read_log(path)[0] == other


def test_a_log_that_cannot_be_opened(tmp_path: Path) -> None:
    """A folder in place of the file, or a file in place of a folder, raises LogError."""
    header = header_of("tic-tac-toe", "depth=1", "depth=2", plies=1)
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "log", Path("")):
        with pytest.raises(LogError, match="cannot be used"):
            Log(header, path)
        with pytest.raises(LogError, match="cannot be used"):
            Log(header, path, fresh=True)
    with pytest.raises(LogError, match="cannot be used"):
        read_log(tmp_path)
    Log(header, tmp_path / "new").close()
    assert [path.name for path in tmp_path.iterdir()] == ["file"], (
        "a match without a game leaves no log"
    )


def test_a_log_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk raises LogError with the reason."""

    def fsync(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", fsync)
    log = Log(header_of("tic-tac-toe", "depth=1", "depth=2"), tmp_path / "log")
    with closing(log), pytest.raises(LogError, match="No space left"):
        log.append(Record(n=0, half_points=1, plies=1))


@pytest.mark.parametrize("concurrency", [1, 2])
def test_a_missing_program(concurrency: int, tmp_path: Path) -> None:
    """The match ends before its first game with an error; an existing log is unchanged."""
    header = header_of("chess", "uci=no-such-program,depth=1", "depth=1")
    for player, message in (
        ("uci=no-such-program,depth=1", "no-such-program cannot be started: No such file"),
        ("uci=/,depth=1", "cannot be started: Permission denied"),
        ("xboard='unbalanced", "is not a command"),
        ("uci= ", "is written as"),
        ("checkout=/no-such-directory,depth=1", "is not a checkout of this project"),
        (f"checkout={tmp_path},depth=1", "is not a checkout of this project"),
    ):
        path = tmp_path / "log"
        path.write_bytes(b"another\n")
        log = Log(structs.replace(header, players=("depth=1", player)), path, fresh=True)
        with pytest.raises((CannotPlay, DescriptionError), match=message):
            run_match(log, 4, concurrency=concurrency)
        log.close()
        assert (log.records, path.read_bytes()) == ([], b"another\n")


def test_a_program_that_dies_in_a_match() -> None:
    """A program that dies loses each of its games, and the match continues to its end."""
    script = Path(__file__).with_name("scripted_engine.py")
    header = header_of("chess", f"uci={sys.executable} -IS {script} uci die 0", "depth=1")
    records = play_match(header, 4)
    assert [(record.half_points, record.forfeit) for record in records] == [(0, True)] * 4
    assert all("ended with code 3" in record.reason for record in records)


@pytest.mark.usefixtures("forked")
def test_deterministic_players_play_an_opening_once() -> None:
    """A match of deterministic players ends before its games repeat, also when it is resumed.

    A match whose players depend on a seed continues.
    """
    header = header_of("sticks", "depth=1", "depth=3", plies=1)
    openings = openings_of(header).distinct(200)
    assert openings < 40
    records = play_match(header, 400)
    assert len(records) == 2 * openings
    assert len({record.opening for record in records}) == openings
    log = Log(header, None)
    for games in (2, 2 * openings, 400):
        run_match(log, games)
    assert log.records == play_match(header, 400, concurrency=2) == records
    assert (
        len(play_match(structs.replace(header, players=("depth=1,margin=9", "depth=3")), 100))
        == 100
    )


@pytest.mark.usefixtures("forked")
def test_processes_play_the_same_match(tmp_path: Path) -> None:
    """Two processes write the same log as one, in the same order."""
    header = header_of("tic-tac-toe", "depth=1,margin=50", "persona=random", plies=1)
    play_match(header, 14, tmp_path / "one")
    play_match(header, 14, tmp_path / "two", concurrency=2)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.long
def test_a_killed_match_is_resumed(tmp_path: Path) -> None:
    """After SIGKILL the worker processes end too, and the same command completes the log."""
    command = [
        sys.executable, "-m", "engine.match", "connect-four", "--player=nodes=20000",
        "--player=level=3", "--games=40", "--compact", "--concurrency=2", "--log",
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    subprocess.run([*command, str(tmp_path / "whole")], env=environment, check=True, timeout=120)
    part = tmp_path / "part"
    process = subprocess.Popen([*command, str(part)], env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    while not part.exists() or part.read_bytes().count(b"\n") < 5:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.read()  # returns when the last process that holds the pipe has ended
    process.stdout.close()
    assert part.read_bytes() != (tmp_path / "whole").read_bytes()
    subprocess.run([*command, str(part)], env=environment, check=True, timeout=120)
    assert part.read_bytes() == (tmp_path / "whole").read_bytes()


def test_openings(searcher_of: Searchers) -> None:
    """Openings depend only on the seed and are legal, distinct and balanced."""
    searcher = searcher_of("othello")
    openings = Openings(searcher, {}, 5, 6)
    again = Openings(searcher, {}, 5, 6)
    assert again[19] == openings[19], "the order of access does not matter"
    positions = []
    for number in range(20):
        position = load_game("othello").start()
        for token in openings[number].moves:
            position = position.play(position.parse_move(token))
        positions.append(position)
        assert len(openings[number].moves) == 6
    assert len(set(positions)) == 20
    assert Openings(searcher, {}, 6, 6)[0] != openings[0]
    assert max(abs(openings[number].score) for number in range(20)) < 100


def test_games_with_few_openings(searcher_of: Searchers) -> None:
    """When a game's openings run out, they become longer and finally repeat."""
    short = Openings(searcher_of("tic-tac-toe"), {}, 1, 1)
    lengths = [len(short[number].moves) for number in range(60)]
    assert lengths[:9] == [1] * 9
    assert max(lengths) == 2
    sticks = Openings(searcher_of("sticks"), load_game("sticks").check_options({}), 1, 1)
    assert len({sticks[number].moves for number in range(30)}) > 6


@pytest.mark.parametrize(
    ("game_id", "options"), [("tic-tac-toe", {}), ("sticks", {"rows": "1-2-3"})]
)
def test_repeated_openings(game_id: str, options: dict[str, str], searcher_of: Searchers) -> None:
    """`distinct` and `repeats` find the first opening whose position was reached before."""
    game = load_game(game_id)
    options = game.check_options(options)
    openings = Openings(searcher_of(game_id), options, 1, 1)
    positions = []
    for number in range(200):
        position = game.start(options)
        for token in openings[number].moves:
            position = position.play(position.parse_move(token))
        positions.append(position.digest())
    first = next(number for number, digest in enumerate(positions) if digest in positions[:number])
    again = Openings(searcher_of(game_id), options, 1, 1)
    assert (again.distinct(first - 1), again.distinct(200), openings.distinct(200)) == (
        first - 1,
        first,
        first,
    )
    assert [openings.repeats(number) for number in (first - 1, first, first + 1)] == [
        False,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("game_id", "plies"), [("tic-tac-toe", 9), ("tic-tac-toe", 50), ("sticks", 60)]
)
def test_openings_longer_than_the_game(game_id: str, plies: int, searcher_of: Searchers) -> None:
    """Openings longer than the game raise NoOpening; openings of the greatest length exist."""
    game = load_game(game_id)
    with pytest.raises(NoOpening, match=f"always over after {plies} random plies"):
        Openings(searcher_of(game_id), game.check_options({}), 1, plies)[0]
    longest = Openings(searcher_of("tic-tac-toe"), {}, 1, 8)
    assert len(longest[30].moves) == 8


@pytest.mark.parametrize(
    ("game_id", "level"), [("chess", 2), ("connect-four", 5), ("tic-tac-toe", 1)]
)
def test_levels_play_as_on_the_server(game_id: str, level: int, searcher_of: Searchers) -> None:
    """A level plays the move that the server's search gives for the start and all moves."""
    game = load_game(game_id)
    player = make_player(parse_description(f"level={level}"), game, game.check_options({}))
    player.begin(0)
    start = position = game.start()
    tokens: list[str] = []
    for ply in range(8):
        situation = Situation(start, tuple(tokens), position, 77)
        job = Job(
            game_id,
            game.digest,
            dict(position.options),
            start.text(),
            tuple(tokens),
            "room",
            level=level,
            seed=77,
        )
        expected = driver.answer(
            job, searcher_of(game_id), lambda: Table(14), Control(), clock=lambda: 0.0
        )
        chosen = player.choose(situation)
        assert (chosen.move, chosen.nodes) == (expected.move, expected.info.nodes), ply
        tokens.append(chosen.move)
        position = position.play(position.parse_move(chosen.move))
        if not position.moves():
            break


def test_a_job_starts_after_the_last_irreversible_move() -> None:
    """A job has only the moves after the last irreversible one, here a pawn's."""
    start = position = load_game("chess").start()
    tokens = ("e2e4", "g8f6", "g1f3", "f6g8", "f3g1")
    for token in tokens:
        position = position.play(position.parse_move(token))
    job = job_of(Situation(start, tokens, position, 1), 3)
    assert job.moves == tokens[1:]
    replayed = load_game("chess").position(job.start)
    for token in job.moves:
        replayed = replayed.play(replayed.parse_move(token))
    assert (replayed.digest(), replayed.past) == (position.digest(), position.past)


def best_moves(position: Position) -> set[str]:
    """Returns the moves after which the evaluation or the result is best for the side to move."""
    game, scores = position.game, {}
    for move in position.moves():
        child = position.play(move)
        outcome = child.outcome()
        if outcome is not None:
            value = (
                0 if outcome.winner is None else MATE if outcome.winner == position.turn else -MATE
            )
        else:
            value = -int(game.rules.evaluate(child.state, None))
        scores[position.format_move(move)] = value
    return {token for token, value in scores.items() if value == max(scores.values())}


@pytest.mark.parametrize("game_id", ["connect-four", "sticks", "tic-tac-toe"])
def test_greedy_plays_the_best_move_of_one_ply(game_id: str) -> None:
    """The greedy player plays a best move of one ply and varies between equal ones."""
    game = load_game(game_id)
    player = make_player(parse_description("greedy"), game, {})
    position = game.start()
    varied = set()
    while position.moves():
        assert game.result_and_moves(position.state)[0] == ONGOING
        moves = {player.choose(Situation(position, (), position, seed)).move for seed in range(5)}
        assert moves <= best_moves(position)
        varied.add(len(moves) > 1)
        position = position.play(position.parse_move(min(moves)))
    assert True in varied


@pytest.mark.parametrize("game_id", ["connect-four", "sticks", "tic-tac-toe"])
def test_two_ply_considers_the_replies(game_id: str) -> None:
    """The two-ply player plays a best move of two-ply minimax and varies between equal ones."""
    game = load_game(game_id)
    player = make_player(parse_description("two-ply"), game, {})
    position = game.start()
    varied = set()
    while position.moves():
        values = {
            position.format_move(move): -minimax(position.play(move), 1, 1)
            for move in position.moves()
        }
        best = {move for move, value in values.items() if value == max(values.values())}
        moves = {player.choose(Situation(position, (), position, seed)).move for seed in range(5)}
        assert moves <= best
        varied.add(len(moves) > 1)
        position = position.play(position.parse_move(min(moves)))
    assert True in varied


def test_two_ply_avoids_stalemate_when_ahead() -> None:
    """With a queen against a bare king greedy stalemates, and two-ply does not."""
    game = load_game("chess")
    ends: dict[str, set[str]] = {}
    for kind in ("greedy", "two-ply"):
        player = make_player(parse_description(kind), game, {})
        for text in (
            "7k/5Q2/3K4/8/8/8/8/8 w - - 0 1",
            "2k5/K7/3Q4/8/8/8/8/8 w - - 0 1",
            "5K1k/8/8/8/8/3Q4/8/8 w - - 0 1",
        ):
            position = game.position(text)
            after = position.play(
                position.parse_move(player.choose(Situation(position, (), position, 1)).move)
            )
            outcome = after.outcome()
            ends.setdefault(kind, set()).add(outcome.reason if outcome else "")
    assert ends == {"greedy": {"stalemate"}, "two-ply": {"", "checkmate"}}


class Scripted:
    """A player that plays the first legal move and reports a fixed score after a fixed time."""

    def __init__(
        self, score: int | None = None, seconds: float = 0, clock: Clock | None = None
    ) -> None:
        self.clock = clock
        self.score = score
        self.seconds = seconds
        self.now = [0.0]
        self.clocks: list[tuple[int, int] | None] = []

    def begin(self, seat: int) -> None:
        pass

    def choose(self, situation: Situation) -> Choice:
        self.now[0] += self.seconds
        self.clocks.append(situation.clocks_ms)
        return Choice(situation.position.tokens()[0], self.score)

    def close(self) -> None:
        pass


def test_clocks() -> None:
    """A move costs its time and adds the increment; a player whose clock runs out loses."""
    slow, quick = (
        Scripted(seconds=0.9, clock=Clock(1000, 100)),
        Scripted(seconds=0.05, clock=Clock(1000, 100)),
    )
    quick.now = slow.now
    game = load_game("connect-four")
    ended = play_game(game, {}, (), (slow, quick), 1, Adjudication(), clock=lambda: slow.now[0])
    assert (ended.winner, ended.forfeit) == (1, True)
    assert "out of time by 700 ms" in ended.reason
    assert slow.clocks == [(1000, 1000), (200, 1050)]
    assert ended.time_ms == [1800, 50]


def test_adjudication() -> None:
    """A game is adjudicated only on request and if both scores agree for enough plies."""
    game = load_game("othello")
    rule = Adjudication(max_plies=40, score=500, plies=6)

    def result(
        first: int | None, second: int | None, rule: Adjudication = rule
    ) -> tuple[int | None, str, int]:
        ended = play_game(game, {}, (), (Scripted(first), Scripted(second)), 1, rule)
        return ended.winner, ended.reason, len(ended.moves)

    assert result(600, -600) == (0, "adjudicated by both scores", 6)
    assert result(-500, 500) == (1, "adjudicated by both scores", 6)
    assert result(600, 600) == result(None, -900) == result(600, -499) == (None, "40 plies", 40)
    assert result(600, -600, replace(rule, score=None)) == (None, "40 plies", 40)


def test_a_claim_is_a_draw() -> None:
    """A game ends as a draw at the third repetition, which the rules let a player claim."""

    class Shuffler(Scripted):
        def choose(self, situation: Situation) -> Choice:
            return Choice(("g1f3", "g8f6", "f3g1", "f6g8")[len(situation.moves) % 4])

    ended = play_game(load_game("chess"), {}, (), (Shuffler(), Shuffler()), 1, Adjudication())
    assert (ended.winner, len(ended.moves)) == (None, 8)
    assert "3 times" in ended.reason


def test_a_player_that_fails_at_the_start_loses() -> None:
    """A player that fails before its first move loses the game."""

    class Broken(Scripted):
        def begin(self, seat: int) -> None:
            raise PlayerFailed("broken")

    players: tuple[Player, Player] = (Scripted(), Broken())
    ended = play_game(load_game("sticks"), {}, (), players, 1, Adjudication())
    assert (ended.winner, ended.reason, ended.forfeit) == (0, "broken", True)


def test_another_checkout(tmp_path: Path) -> None:
    """A checkout of this project plays the same moves as a player in this process."""
    root = Path(__file__).parents[3]
    header = header_of("tic-tac-toe", "depth=2,margin=20", "depth=1,margin=9", plies=1)
    direct = play_match(header, 4)
    with_checkout = play_match(
        structs.replace(header, players=(f"checkout={root},depth=2,margin=20", header.players[1])),
        4,
    )
    assert [record.digest for record in with_checkout] == [record.digest for record in direct]
    with pytest.raises(CannotPlay, match="levels 1 to"):
        play_match(structs.replace(header, players=(f"checkout={root},level=9", "depth=1")), 2)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints one JSON object and resumes its log, which has a record for each game."""
    log = tmp_path / "log"
    command = [
        "sticks", "--player", "depth=9", "--player", "persona=random", "--option", "rows=1-3-5-7",
        "--log", str(log), "--json",
    ]  # fmt: skip
    assert main([*command, "--games", "5"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["match"]["options"], first["summary"]["games"]) == ({"rows": "1-3-5-7"}, 6)
    assert main([*command, "--games", "10", "--pgn", str(tmp_path / "games.pgn")]) == 0
    second = json.loads(capsys.readouterr().out)
    assert second["summary"]["games"] == 10
    assert second["summary"]["score"] > 0.7
    header, records, _ = read_log(log)
    assert header is not None
    for record in records:
        position = load_game("sticks").start(header.options)
        for token in record.moves.split():
            position = position.play(position.parse_move(token))
        outcome = position.outcome()
        assert outcome is not None
        assert record.half_points == 2 * (outcome.winner == record.seat)
        assert record.digest == moves_digest(record.moves.split())
        assert record.moves.startswith(record.opening)
    texts = (tmp_path / "games.pgn").read_text("utf-8").split("[Event ")[1:]
    for record, text in zip(records, texts, strict=True):
        assert f'[{("First", "Second")[record.seat]} "{header.players[0]}"]' in text
        moves = re.sub(r"\{[^}]*\}|\d+\.", " ", text.partition("\n\n")[2]).split()
        assert moves[:-1] == record.moves.split()
        assert moves[-1] == ("1-0" if record.half_points == 2 * (record.seat == 0) else "0-1")
    assert records[4].opening == " ".join(openings_of(header)[2].moves)
    assert main([*command[:-1], "--sprt", "0,100"]) == 0
    assert "SPRT of 0 against 100 Elo: H1 accepted" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-game"], "there is no game"),
        (["chess", "--player", "level=1"], "two players"),
        (["chess", "--player", "level=1", "--player", "level=99"], "levels 1 to"),
        (
            ["sticks", "--player", "depth=1", "--player", "depth=1", "--option", "rows"],
            "NAME=VALUE",
        ),
        (
            ["sticks", "--player", "depth=1", "--player", "depth=1", "--option", "size=3"],
            "no option",
        ),
        (["sticks", "--without", "magic"], "no feature"),
        (["sticks", "--player", "depth=1", "--player", "depth=1", "--sprt", "5"], "--sprt"),
        (
            ["sticks", "--player", "depth=1", "--player", "depth=1", "--opening-plies", "60"],
            "always over",
        ),
        (["chess", "--player", "depth=1", "--player", "uci=no-such-program"], "cannot be started"),
        (["sticks", "--without", "null-move"], "sticks can use"),
        (["chess", "--without", "lmr", "--max-plies", "8"], "over after openings of 8"),
        (["sticks", "--without", "lmr", "--log", "/"], "cannot be used"),
        (["sticks", "--without", "lmr", "--pgn", "x", "--compact"], "which --pgn needs"),
        (["sticks", "--without", "lmr", "--log", ""], "cannot be used"),
    ],
)
def test_wrong_commands(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong command exits with 2 and says what was expected."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
