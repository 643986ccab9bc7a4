"""Judging a work file: only its scores change, to those of the judging player."""

from pathlib import Path

import pytest

from engine.match.players import TABLE_BITS
from engine.rules.registry import load_game
from engine.search.driver import Control, Searcher, Table
from engine.search.job import Limit
from engine.tune.__main__ import main
from engine.tune.errors import TuneError
from engine.tune.games import Plan, WorkFile, read_matches, read_plan
from engine.tune.judging import judge
from engine.tune.selfplay import SelfPlay

#: The game of the work file.
GAME = load_game("connect-four")
#: The judging player.
PLAYER = "nodes=300,table=fresh"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a work file with six matches."""
    path = tmp_path_factory.mktemp("judging") / "work"
    plan = Plan(1, GAME.id, GAME.digest, 3, 20, 2, 6, {})
    with WorkFile(path, plan) as file:
        SelfPlay(GAME, plan).fill(file, 6)
    return path


@pytest.mark.parametrize("every", [1, 3])
def test_scores_are_those_of_the_player(work: Path, tmp_path: Path, every: int) -> None:
    """Every `every`-th kept position has the player's score; moves and results stay."""
    judged = tmp_path / "judged"
    judge(GAME, work, judged, PLAYER, every)
    searcher = Searcher(GAME)
    count = 0
    for played, again in zip(read_matches(work), read_matches(judged), strict=True):
        assert (again.number, again.moves, again.result) == (
            played.number,
            played.moves,
            played.result,
        )
        assert again.kept == played.kept[played.number % every :: every]
        position = GAME.start()
        scores = dict(zip(again.kept, again.scores, strict=True))
        for ply, token in enumerate(again.moves.split()):
            if ply in scores:
                report = searcher.search(position, Limit(nodes=300), Table(TABLE_BITS), Control())
                assert scores[ply] == report.score
                count += 1
            position = position.replay(token)
    assert count > 10
    plan = read_plan(judged)
    assert plan is not None
    assert (plan.judge, plan.every, plan.nodes) == (PLAYER, every, 20)


def test_a_resumed_run_equals_a_single_one(work: Path, tmp_path: Path) -> None:
    """A resumed run gives the same file; another judge cannot resume it."""
    complete, part = tmp_path / "whole", tmp_path / "part"
    judge(GAME, work, complete, PLAYER, 2)
    lines = complete.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join(lines[:3]) + lines[3][:-5])
    judge(GAME, work, part, PLAYER, 2)
    assert part.read_bytes() == complete.read_bytes()
    with pytest.raises(
        TuneError, match=r"judge nodes=300,table=fresh and not nodes=5, every 2 and not 1"
    ):
        judge(GAME, work, part, "nodes=5", 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chess", "--judge", "nodes=5"], "--judge needs --work FILE"),
        (["chess", "--work", "WORK", "--judge", "nodes=5"], "--judge needs --work FILE"),
        (
            ["chess", "--work", "none", "--judge", "nodes=5", "--judged", "out"],
            "none holds no matches to judge",
        ),
        (
            ["chess", "--work", "WORK", "--judge", "nodes=5", "--judged", "out"],
            "holds matches of connect-four",
        ),
        (
            ["breakthrough", "--work", "BREAK", "--judge", "uci=sunfish", "--judged", "out"],
            "uci programs play chess",
        ),
        (["breakthrough", "--work", "BREAK", "--judge", "speed=5", "--judged", "out"], "--judge: "),
    ],
)
def test_wrong_commands(
    arguments: list[str],
    message: str,
    work: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wrong command exits with 2, prints the reason and writes no file."""
    monkeypatch.chdir(tmp_path)
    other = tmp_path / "breakthrough"
    game = load_game("breakthrough")
    with WorkFile(other, Plan(1, game.id, game.digest, 1, 5, 1, 2, {})):
        pass
    paths = {"WORK": str(work), "BREAK": str(other)}
    assert main([paths.get(word, word) for word in arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
