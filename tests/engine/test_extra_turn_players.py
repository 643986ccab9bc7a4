"""Players, solver, teaching search and the kit in games in which a side may move again."""

from collections.abc import Callable

import pytest

from engine.conformance.checks import CHECKS, ConformanceError
from engine.conformance.native import minimax
from engine.game import GameFault
from engine.match.description import Clock, parse_description
from engine.match.play import Adjudication, Choice, Situation, play_game
from engine.match.players import SearchPlayer
from engine.rules.registry import load_game
from engine.search.driver import Control, Searcher, Table
from engine.search.job import Limit
from engine.solvers.general import SearchSolver
from engine.teach.algorithms.explain import Plan, explain
from engine.teach.states.state import GameState
from tests.engine.games.planted import planted as planted_game


def test_the_compiled_search_agrees(searcher_of: Callable[[str], Searcher]) -> None:
    """In Kalah the compiled search of a level visits the same nodes as the uncompiled one."""
    position = load_game("kalah").start()
    reports = [
        searcher.search(position, Limit(depth=4), Table(10), Control())
        for searcher in (searcher_of("kalah"), Searcher(load_game("kalah"), compiled=False))
    ]
    assert reports[0].nodes == reports[1].nodes
    assert reports[0].moves == reports[1].moves


@pytest.mark.parametrize("game_id", ["kalah", "dots-and-boxes"])
def test_the_teaching_search_agrees(game_id: str) -> None:
    """The teaching algorithms have the value of minimax in games with extra turns."""
    position = load_game(game_id).start()
    for token in ("c1", "f1", "a2") if game_id == "kalah" else ("a1b1", "a2b2", "a1a2", "b1b2"):
        position = position.advance(token)[1]
    for algorithm in ("minimax", "negamax", "alphabeta"):
        plan = Plan(algorithm, 3, evaluator="estimate", max_nodes=1 << 20, plain_limit=0)
        value = explain(GameState.at_root(position, plan.utilities), plan).value
        assert value == minimax(position, 3, 0)


def test_the_solver_follows_the_side_to_move(searcher_of: Callable[[str], Searcher]) -> None:
    """At the end of a match of Kalah, the values of all moves are those of minimax."""
    game = load_game("kalah")
    solver = SearchSolver(game, 16)
    for text in (
        "0-0-0-2-0-1/22 0-1-0-0-2-1/19 south",
        "0-1-0-1-2-1/18 1-0-0-0-2-1/21 south",
        "0-0-1-0-0-1/21 0-1-0-3-0-0/21 north",
    ):
        position = game.position(text)
        solution = solver.solve(position, Limit(time_ms=60_000), Control())
        assert solution is not None
        for solved in solution.moves:
            child = position.play(solved.move)
            value = minimax(child, 40, 1) * (1 if child.turn == position.turn else -1)
            assert solved.score == (value > 0) - (value < 0), (text, solved)
            if solved.bound == "exact":
                assert solved.value == value


def search_player(searcher: Searcher, text: str) -> SearchPlayer:
    return SearchPlayer(parse_description(text), searcher)


def test_a_player_ponders_until_it_is_to_move_again() -> None:
    """A player that moves again does not ponder; otherwise it expects all moves of the opponent's
    turn.
    """
    game = load_game("kalah")
    player = search_player(Searcher(game), "depth=6,time_ms=60000,ponder=yes")
    start = game.start()
    expected_move_counts = []
    try:
        position = start
        moves: list[str] = []
        for _ in range(24):
            if not position.moves():
                break
            choice = player.choose(Situation(start, tuple(moves), position, 1))
            after = position.play(position.parse_move(choice.move))
            if after.turn == position.turn:
                assert player.pondering is None
            elif player.pondering is not None:
                expected = player.pondering.expected
                assert expected[: len(moves) + 1] == (*moves, choice.move)
                current = after
                for token in expected[len(moves) + 1 :]:
                    assert current.turn == after.turn
                    current = current.play(current.parse_move(token))
                assert current.turn == position.turn
                expected_move_counts.append(len(expected) - len(moves) - 1)
            player.close()
            moves.append(choice.move)
            position = after
    finally:
        player.close()
    assert max(expected_move_counts) > 1  # the opponent is expected to move more than once


class Scripted:
    """A player that plays the first legal move and always reports the same score."""

    clock: Clock | None = None

    def __init__(self, score: int) -> None:
        self.score = score

    def begin(self, seat: int) -> None:
        pass

    def choose(self, situation: Situation) -> Choice:
        tokens = situation.position.tokens()
        return Choice("c1" if "c1" in tokens and not situation.moves else tokens[0], self.score)

    def close(self) -> None:
        pass


def test_an_adjudication_needs_both_players() -> None:
    """Scores of one player that moves several times in a row do not end a game."""
    rule = Adjudication(max_plies=200, score=500, plies=2)
    ended = play_game(load_game("kalah"), {}, (), (Scripted(600), Scripted(-600)), 1, rule)
    assert len(ended.moves) == 3
    assert ended.reason == "adjudicated by both scores"


# --- the kit and the contract


def test_the_kit_refuses_a_rules_file_that_hides_its_extra_turns() -> None:
    """Without EXTRA_TURNS, a move that keeps the turn is a fault, and so is EXTRA_TURNS in a game
    whose moves all pass it.
    """
    hidden = planted_game("kalah", "EXTRA_TURNS = True", "EXTRA_TURNS = False")
    with pytest.raises(ConformanceError, match="set EXTRA_TURNS"):
        CHECKS["turns"](hidden)
    right = "next_turn = mover if last == HOUSES else mover ^ NORTH"
    passing = planted_game("kalah", right, "next_turn = mover ^ NORTH")
    with pytest.raises(ConformanceError, match="has a move that keeps the turn"):
        CHECKS["turns"](passing)


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("@rule\ndef turn(", "def turn(", "its turn needs @rule"),
        ('NUMBERING = "ply"', 'NUMBERING = "move"', "its NUMBERING is 'ply'"),
    ],
)
def test_extra_turns_need_a_rule_and_numbered_plies(right: str, wrong: str, message: str) -> None:
    """A file with EXTRA_TURNS marks `turn` with @rule, and numbers each move by itself."""
    with pytest.raises(GameFault, match=message):
        planted_game("kalah", right, wrong)
