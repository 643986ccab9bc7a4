"""Jobs with several lines: exact scores and lines of the best moves (`Job.lines`)."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from engine.rules.registry import load_game
from engine.search.driver import Control, Searcher, Table, answer
from engine.search.job import LINES, MAX_JOB_LINES, MAX_LINE_MOVES, Info, Job, Limit, Result
from server.analysis.positions import ply_result

Searchers = Callable[[str], Searcher]


def study(game_id: str, moves: tuple[str, ...], lines: int, nodes: int = 5_000) -> Job:
    """The job of an analysis."""
    game = load_game(game_id)
    return Job(
        game.id, game.digest, {}, game.start().text(), moves, "study", limit=Limit(nodes=nodes),
        needs=(LINES,), use="study", lines=lines,
    )  # fmt: skip


def run(searcher: Searcher, job: Job) -> Info:
    return answer(job, searcher, lambda: Table(14), Control()).info


@pytest.mark.parametrize(("game_id", "moves"), [("connect-four", ("d", "d")), ("othello", ())])
def test_the_best_moves_have_exact_scores_and_lines(
    searcher_of: Searchers, game_id: str, moves: tuple[str, ...]
) -> None:
    """A job with three lines has three moves with exact scores, each with a legal line that begins
    with it. They are the best: no other move has a higher bound.
    """
    searcher = searcher_of(game_id)
    info = run(searcher, study(game_id, moves, 3))
    exact = [move for move in info.moves if move.bound == "exact"]
    assert len(exact) >= 3
    assert info.pv[0] == info.moves[0].move == exact[0].move
    assert [move.score for move in exact] == sorted((move.score for move in exact), reverse=True)
    others = [move.score for move in info.moves if move.bound != "exact"]
    assert all(score <= exact[2].score for score in others)
    start = load_game(game_id).start()
    for token in moves:
        start = start.replay(token)
    for move in exact[:3]:
        assert move.line[0] == move.move
        assert len(move.line) <= MAX_LINE_MOVES
        position = start
        for token in move.line:
            position = position.play(position.parse_move(token))


def test_a_job_with_one_line_is_unchanged(searcher_of: Searchers) -> None:
    """Without `lines` a report has no lines of moves; a level never has."""
    searcher = searcher_of("connect-four")
    one = run(searcher, replace(study("connect-four", (), 1), needs=()))
    assert not any(move.line for move in one.moves)
    level = Job(
        "connect-four", searcher.game.digest, {}, searcher.game.start().text(), (), "r", level=3,
        lines=3,
    )  # fmt: skip
    assert not any(move.line for move in run(searcher, level).moves)
    many = run(searcher, study("connect-four", (), 99))
    assert sum(move.bound == "exact" for move in many.moves) <= len(many.moves)
    assert MAX_JOB_LINES < 7


def test_the_result_depends_on_the_job_alone(searcher_of: Searchers) -> None:
    """The stored result of a job is the same before and after other searches (I32)."""
    searcher = searcher_of("othello")
    first = run(searcher, study("othello", (), 3))
    run(searcher, study("othello", ("d3",), 3, nodes=20_000))
    again = run(searcher, study("othello", (), 3))
    start = searcher.game.start()
    stored = [ply_result(start, Result(info.pv[0], info)) for info in (first, again)]
    assert stored[0] == stored[1]
