"""The games of the founding texts that only the teaching search plays, and evaluators by name."""

from typing import Any

import pytest

from engine.game import GameError, GameFault
from engine.rules.registry import game_ids, load_game, production_ids
from engine.rules.resolved import resolve_rules
from engine.search.driver import Searcher
from engine.teach.algorithms.explain import ALGORITHMS, Plan, explain
from engine.teach.errors import NotPossible, UnknownName
from engine.teach.output.text import node_names
from engine.teach.states import evaluators
from engine.teach.states.graph import graph_of, sizes_of
from engine.teach.states.players import GameForBoth
from engine.teach.states.state import GameState, Scale, TreeState
from engine.teach.states.tree_text import parse_tree
from engine.teach.trace import Trace, Value
from tests.engine.teach.test_founding_numbers import row
from tests.engine.test_resolved_rules import minimal_rules

#: The utilities of a win, a draw and a loss in a game without points.
PLAIN = Scale(-1, 0, 1)


def root_of(game_id: str, player: int = 0, **options: str) -> GameState:
    """Returns the start of a game, with a player as MAX (0: the side to move)."""
    position = load_game(game_id).start(options)
    return GameState.at_root(position, PLAIN, player - 1 if player else None)


def value_at(trace: Trace, move: str) -> Value | None:
    """Returns the value of a move at the root."""
    (index,) = [
        index
        for index, parent in enumerate(trace.nodes.parent)
        if parent == 0 and trace.nodes.move[index] == move
    ]
    return trace.nodes.value[index]


def searched(root: GameState, algorithm: str = "minimax", **fields: Any) -> Trace:
    """Returns the search of a game to its end."""
    return explain(root, Plan(algorithm, evaluator="zero", **fields))


def test_rock_paper_scissors_has_the_numbers_of_the_text() -> None:
    """Row 7: 13 states; every first sign is worth -1; with private utilities scissors are worth
    -20, and rock, the first best, is played.
    """
    expected = row(7)
    assert sizes_of(graph_of(root_of("rock-paper-scissors"))).states == expected["states"]
    for utilities in ("plain", "private"):
        trace = searched(root_of("rock-paper-scissors", utilities=utilities))
        assert {move: value_at(trace, move) for move in expected[utilities]} == expected[utilities]
        assert trace.line[0] == expected["plays"]


def test_private_utilities() -> None:
    """Row 7: the points of each player are their own private utilities."""
    expected = row(7)["utilities"]
    game = load_game("rock-paper-scissors")
    points = {}
    for signs in ("scissors-rock", "scissors-paper", "rock-paper", "rock-scissors", "rock-rock"):
        outcome = game.position(signs, {"utilities": "private"}).outcome()
        assert outcome is not None
        points[signs] = outcome.points
    assert points == {
        "scissors-rock": (expected["smashed"], expected["win"]),
        "scissors-paper": (expected["cutting"], expected["loss"]),
        "rock-paper": (expected["loss"], expected["win"]),
        "rock-scissors": (expected["win"], expected["smashed"]),
        "rock-rock": (expected["tie"], expected["tie"]),
    }


def test_max_n_of_private_utilities() -> None:
    """Each player maximizes their own points: after paper the second player cuts it."""
    position = load_game("rock-paper-scissors").start({"utilities": "private"})
    trace = explain(GameForBoth.at_root(position, (PLAIN, PLAIN)), Plan("max-n", evaluator="zero"))
    assert value_at(trace, "paper") == (-1, 15)


def test_points_are_utilities_only_of_teaching_games() -> None:
    """In a game with levels the winner decides the utility, even if the result has points."""
    position = load_game("dots-and-boxes").position("fffffe .rrrrbbbb red").advance("a1b1")[1]
    outcome = position.outcome()
    assert outcome is not None
    assert outcome.points == (5, 4)
    assert [GameState.at_root(position, PLAIN, seat).utility() for seat in (0, 1)] == [1, -1]


def test_greedy_friends() -> None:
    """Row 5: alpha-beta visits 7 of 9 nodes and finds 10; friend two would give 2."""
    expected = row(5)
    pruned = searched(root_of("coin-friends"), "alphabeta")
    assert (pruned.counts.nodes, pruned.counts.plain_nodes) == (
        expected["nodes"],
        expected["all_nodes"],
    )
    assert (pruned.value, pruned.line[0]) == (expected["value"], "one")
    assert value_at(searched(root_of("coin-friends")), "two") == expected["plain_two"]


def test_generous_friends() -> None:
    """Row 6: the root is MIN, the friends are MAX; friend two shows 50, the rest is skipped."""
    expected = row(6)
    trace = searched(root_of("coin-friends", friends="generous"), "alphabeta")
    assert trace.nodes.kind[:2] == ("min", "max")
    assert (value_at(trace, "one"), trace.value) == (expected["one"], expected["value"])
    assert value_at(trace, "two") == expected["first_of_two"]
    assert len(node_names(trace)[1]) == 2


@pytest.mark.parametrize("friends", ["greedy", "generous"])
def test_coins_are_coins(friends: str) -> None:
    """Nobody wins: the result is the coin, which is MAX's utility and the opposite of MIN's."""
    game = load_game("coin-friends")
    start = game.start({"friends": friends})
    max_seat = int(friends == "generous")
    for friend in start.moves():
        asked = start.play(friend)
        for token in asked.tokens():
            position = asked.play(asked.parse_move(token))
            outcome = position.outcome()
            assert outcome is not None
            coin = int(token)
            assert (outcome.winner, outcome.points) == (None, (coin, 0))
            assert outcome.reason == position.view().text == f"Asker got {coin} cents"
            utilities = [
                GameState.at_root(position, PLAIN, seat).utility() for seat in (max_seat, None)
            ]
            assert utilities == [coin, coin]
            assert GameState.at_root(position, PLAIN, 1 - max_seat).utility() == -coin


@pytest.mark.parametrize("game_id", sorted(set(game_ids()) - set(production_ids())))
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_every_strategy_plays_them(game_id: str, algorithm: str) -> None:
    """Each algorithm chooses a legal move with every option, for either seat, at every state."""
    game = load_game(game_id)
    (option,) = game.options.items()
    for value in option[1].offered:
        positions = [game.start({option[0]: value})]
        for position in positions:
            if not position.moves():
                continue
            positions += [position.play(move) for move in position.moves()]
            root: Any = GameState.at_root(position, PLAIN)
            if algorithm in ("max-n", "paranoid"):
                root = GameForBoth.at_root(position, (PLAIN, PLAIN))
            trace = explain(root, Plan(algorithm, depth=3, evaluator="zero"))
            assert trace.line[0] in position.tokens()


def test_the_production_search_refuses_them() -> None:
    """A game with SEARCH = "teach" has no levels, and the production search does not accept it."""
    teaching = [load_game(game_id) for game_id in game_ids() if game_id not in production_ids()]
    assert [game.id for game in teaching] == ["coin-friends", "rock-paper-scissors"]
    for game in teaching:
        assert game.levels == 0
        with pytest.raises(GameError, match="has no levels"):
            Searcher(game)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"SEARCH": "magic"}, "SEARCH 'magic', not 'production' or 'teach'"),
        ({"SEARCH": "teach"}, "SEARCH 'teach', so its LEVELS is 0"),
        ({"CAN_BE_DRAWN": False, "CLAIM_REPETITION": 3, "repetition": 1, "reversible": 1},
         "CAN_BE_DRAWN = False, but defines CLAIM_REPETITION"),
        ({"CAN_BE_DRAWN": False, "drawn": len}, "CAN_BE_DRAWN = False, but defines drawn"),
    ],
)  # fmt: skip
def test_contradictory_declarations(changes: dict[str, object], message: str) -> None:
    """A file whose declarations contradict each other is refused."""
    with pytest.raises(GameFault, match=message):
        resolve_rules(minimal_rules(**changes))


@pytest.mark.parametrize(
    ("text", "seat", "value"),
    [
        ("XX.OO.X..", 0, 0),
        ("XX.OOXXOO", 0, 1),
        ("XX.OOXXOO", 1, -1),
        ("OO.XX.OXX", 0, 0),
        (".........", 0, 0),
        ("XXXOO....", 0, 1),
        ("XXXOO....", 1, -1),
    ],
)
def test_all_paths_of_tic_tac_toe(text: str, seat: int, value: int) -> None:
    """H0 is 1 where all paths lead to a win of MAX, -1 where all lead to a loss, else 0."""
    position = load_game("tic-tac-toe").position(text)
    trace = explain(GameState.at_root(position, PLAIN, seat), Plan(depth=0, evaluator="all-paths"))
    assert trace.value == value


def test_all_paths_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are too many states on the paths, the evaluator says so."""
    monkeypatch.setattr(evaluators, "MAX_PATH_STATES", 8)
    root = GameState.at_root(load_game("tic-tac-toe").start(), PLAIN)
    with pytest.raises(NotPossible, match="more than 8 states on all paths"):
        explain(root, Plan(depth=0, evaluator="all-paths"))


def material(game_id: str, weights: str) -> Trace:
    position = load_game(game_id).start()
    return explain(
        GameState.at_root(position, PLAIN), Plan(depth=0, evaluator=f"material:{weights}")
    )


@pytest.mark.parametrize(
    ("game_id", "weights"),
    [
        ("chess", "king=10,queen=9"),
        ("othello", "disc=2"),
        ("hex", "stone=3"),
        ("draughts", "man=2,king=3"),
        ("tic-tac-toe", "cross=2,nought=1"),
    ],
)
def test_material_weighs_kinds_whatever_their_colour(game_id: str, weights: str) -> None:
    """A kind is named without its colour, or by its shape if it has no other name."""
    assert material(game_id, weights).value == 0


def test_material_names_the_kinds() -> None:
    """A weight for a kind that the game or the tree does not have is refused, with those it has."""
    with pytest.raises(UnknownName, match="no piece 'knigth'; the kinds are: bishop, king"):
        material("chess", "knigth=3")
    with pytest.raises(UnknownName, match="the kinds are: disc"):
        material("othello", "black=2")
    tree = TreeState.at_root(parse_tree("max([king | queen])"))
    with pytest.raises(UnknownName, match="the kinds are: king, queen"):
        explain(tree, Plan(evaluator="material:pawn=1"))


def test_other_names_of_games() -> None:
    """A game is found by its other names, which are no ids of their own."""
    names = {"checkers": "draughts", "reversi": "othello", "noughts-and-crosses": "tic-tac-toe"}
    for alias, game_id in names.items():
        assert load_game(alias) is load_game(game_id)
        assert alias not in game_ids()
