"""What can be chosen: players, cut-off rules, utilities, windows; and what a value means."""

import math
import random

import msgspec
import pytest

from engine.rules.registry import game_ids, load_game
from engine.teach.algorithms.explain import Plan, explain
from engine.teach.algorithms.meaning import GUARANTEED_WIN
from engine.teach.algorithms.variants import VARIANTS
from engine.teach.errors import NotPossible, UnknownName
from engine.teach.output.classic import classic_lines, classic_match, player_name
from engine.teach.output.compare import format_comparison
from engine.teach.output.text import bounds_lines
from engine.teach.states.graph import GraphState
from engine.teach.states.graph_text import parse_graph
from engine.teach.states.players import GameForBoth
from engine.teach.states.state import GameState, Scale
from engine.teach.states.tree import decode_tree, encode_tree
from engine.teach.states.tree_text import parse_tree
from engine.teach.trace import Trace, encode_json
from tests.engine.teach.checks import on_tree, random_tree

#: An infinite utility.
INF = math.inf


def on_game(game_id: str, text: str | None, plan: Plan) -> Trace:
    """Returns the search of a position, of the start without a text."""
    game = load_game(game_id)
    position = game.start() if text is None else game.position(text)
    return explain(GameState.at_root(position, plan.utilities), plan)


def test_either_seat_may_be_max() -> None:
    """The values of the second player are those of the first with the opposite sign.

    Those of negamax belong to the side to move and not to MAX.
    """
    rng = random.Random(3)
    for _ in range(20):
        tree = random_tree(rng)
        for algorithm in ("minimax", "alphabeta", "negamax", *VARIANTS):
            first, second = (on_tree(tree, algorithm, player=player) for player in (1, 2))
            sign = 1 if algorithm == "negamax" else -1
            assert isinstance(second.value, int | float)
            assert (first.value, first.line) == (sign * second.value, second.line)


def test_a_seat_that_is_not_to_move() -> None:
    """MAX may be the seat that is not to move: the root is then a MIN node."""
    plan = Plan("minimax", evaluator="zero")
    own = on_game("tic-tac-toe", "XX.OO....", plan)
    other = on_game("tic-tac-toe", "XX.OO....", Plan("minimax", evaluator="zero", player=2))
    assert (own.value, own.nodes.kind[0]) == (1, "max")
    assert (other.value, other.nodes.kind[0]) == (-1, "min")
    assert (own.line, own.meaning) == (other.line, GUARANTEED_WIN)
    assert other.meaning == "lost against perfect play"


def test_the_average_of_a_chosen_player() -> None:
    """Average min-max maximises at the plies of the chosen player, on either side of the root."""
    tree = parse_tree("max(min(1, 3), min(2, 8))")
    assert on_tree(tree, "average").value == 5
    for form in ("flat", "nodes", "pair", "map"):
        assert on_tree(tree, "average", player=2, form=form).value == -1.5


def test_a_chosen_player_of_a_graph() -> None:
    """A graph of states is searched for a chosen player, too."""
    graph = parse_graph("s: p1(a: t, b: <3, 1, 0>)\nt: p2(c: <0, 0, 5>, d: <4, 1, 0>)")
    root = GraphState.at_start(graph)
    assert explain(root, Plan("paranoid")).value == 3
    assert explain(root, Plan("max-n")).value == (4, 1, 0)


@pytest.mark.parametrize("player", [-1, 4])
def test_unknown_players(player: int) -> None:
    """A player who is not in the game is refused."""
    with pytest.raises(NotPossible, match="the players are 1 to 3"):
        on_tree(parse_tree("p1(<1, 2, 3>)"), "paranoid", player=player)


def test_the_rule_quiet_sees_the_recapture() -> None:
    """One ply deep the rook takes a guarded pawn; the rule `quiet` searches the recapture too."""
    weights = "material:king=0,rook=5,pawn=1"
    position = "k7/1p6/p7/8/8/8/8/R6K w - - 0 1"
    stopped = on_game("chess", position, Plan(depth=1, evaluator=weights))
    quiet = on_game("chess", position, Plan(depth=1, evaluator=weights, cut_off="quiet"))
    assert (stopped.line[0], stopped.value) == ("a1a6", 4)
    assert (quiet.line[0] != "a1a6", quiet.value) == (True, 3)
    assert max(quiet.nodes.depth) > 1


def test_the_rule_never_goes_to_the_end() -> None:
    """With the rule `never` the depth does not stop the search."""
    trace = on_game("tic-tac-toe", "XXOO.....", Plan(depth=1, evaluator="zero", cut_off="never"))
    assert "depth" not in trace.nodes.reason
    with pytest.raises(UnknownName, match="there are depth, quiet, never"):
        on_tree(parse_tree("max(1)"), "minimax", cut_off="soon")


def test_infinite_utilities() -> None:
    """A utility may be infinite, for one player or for each; JSON has it as text."""
    tree = parse_tree("max(a: min(-inf, 3), b: min(2.5, inf), c: inf)")
    for algorithm in ("minimax", "alphabeta", "negamax", *VARIANTS):
        trace = on_tree(tree, algorithm)
        assert (trace.value, trace.line) == (INF, ("c",)), algorithm
        assert '"value":"inf"' in encode_json(trace).decode()
    assert decode_tree(encode_tree(tree)).root.branches()[2].utility in (INF, "inf")
    assert b'"-inf"' in encode_tree(tree)
    assert on_tree(decode_tree(encode_tree(tree)), "minimax").value == INF
    both = parse_tree("p1(a: <-inf, inf>, b: <1.5, -inf>)")
    assert on_tree(both, "max-n").value == (1.5, -INF)
    with pytest.raises(NotPossible, match="no mean"):
        on_tree(parse_tree("mean(inf, -inf)"), "minimax")


def test_infinite_utilities_of_a_game() -> None:
    """A win may be worth infinitely much; random guesses then have no range."""
    plan = Plan("alphabeta", scale=Scale(-INF, 0, INF), evaluator="zero")
    assert on_game("tic-tac-toe", "XX.OO....", plan).value == INF
    with pytest.raises(NotPossible, match="finite utilities"):
        on_game("tic-tac-toe", None, Plan(depth=1, scale=plan.scale, evaluator="random"))


def test_utilities_of_both_players() -> None:
    """Each player of a game may have their own utilities.

    O plays for a draw if it is worth more than a win.
    """
    position = load_game("tic-tac-toe").position("XOXXO....")
    plain = GameForBoth.at_root(position, (Scale(-1, 0, 1), Scale(-1, 0, 1)))
    with_draw_preferred = GameForBoth.at_root(position, (Scale(-1, 0, 1), Scale(-INF, 0.5, 0.25)))
    assert explain(plain, Plan("max-n")).value == (-1, 1)
    trace = explain(with_draw_preferred, Plan("max-n"))
    assert trace.value == (0, 0.5)
    assert trace.nodes.kind[0] == f"p{position.turn + 1}"
    assert explain(with_draw_preferred, Plan("paranoid")).value == 0.5
    assert explain(with_draw_preferred, Plan("alphabeta", player=1)).value == -1


#: A position of tic-tac-toe, a depth, the value, and its meaning.
MEANINGS = [
    ("XX.OO....", None, 1, "a win is guaranteed, whatever the opponent plays"),
    ("XXO.X.O..", None, -1, "lost against perfect play"),
    ("XOXXOOO.X", None, 0, "no win, but a draw is guaranteed: neither side can force more"),
    (".........", 1, 0, "an estimate: the search stopped before the end, and nothing is decided"),
]


@pytest.mark.parametrize(("text", "depth", "value", "meaning"), MEANINGS)
def test_what_a_value_means(text: str, depth: int | None, value: int, meaning: str) -> None:
    """The result says in words what 1, 0 and -1 promise, and that an estimate promises nothing."""
    for algorithm in ("minimax", "alphabeta", "negamax", "strict"):
        trace = on_game("tic-tac-toe", text, Plan(algorithm, depth, evaluator="zero"))
        assert (trace.value, trace.meaning) == (value, meaning)


def test_no_promise_without_an_opponent() -> None:
    """Searches that expect an opponent's mistakes or help promise nothing."""
    for algorithm in ("average", "optimistic", "greedy"):
        trace = on_game("tic-tac-toe", "XX.OO....", Plan(algorithm, evaluator="zero"))
        assert "guaranteed" not in trace.meaning
        assert trace.meaning


@pytest.mark.parametrize("game_id", game_ids())
def test_the_classic_log_of_every_game(game_id: str) -> None:
    """Every game has a classic log: a TOP line and a score for each move, and the best score."""
    plan = Plan(depth=1, evaluator="zero", fresh=True)
    trace = on_game(game_id, None, plan)
    lines = [line.text for line in classic_lines(trace)]
    assert sum(line.startswith("TOP MAX node... Try Move : ") for line in lines) == len(
        trace.nodes.parent[1:]
    )
    assert lines[-2:] == [
        f"TOP MAX node... DONE!!! Best Score = {trace.value}",
        f"MINIMAX score for next move = {trace.value}",
    ]


def test_the_classic_log_of_other_searches() -> None:
    """Negamax has the log of minimax; draws, estimates, means and several players have words."""
    tree = parse_tree("max(a: min(0, ~-4), b: mean(1, 2))")
    logs = [
        [line.text for line in classic_lines(on_tree(tree, algorithm))]
        for algorithm in ("minimax", "negamax")
    ]
    assert logs[0] == logs[1]
    assert "MAX node... DRAW ... 0" in logs[0]
    assert "MAX node... EVAL ... -4" in logs[0]
    assert "MEAN node... Final score = 1.5" in logs[0]
    coins = [line.text for line in classic_lines(on_game("coin-friends", "start", Plan("minimax")))]
    assert "MAX node... END ... 10" in coins, "nobody wins or draws a coin"
    assert not [text for text in coins if "DRAW" in text]
    several = on_tree(parse_tree("p1(a: p2(<1, 2>, <3, 0>))"), "max-n")
    log_of_several = [line.text for line in classic_lines(several)]
    assert "P2 node... Move scored : <1, 2>" in log_of_several
    assert "P2 node... END ... <1, 2>" in log_of_several
    chosen = on_game("sticks", "1-2-0 second", Plan("random", seed=4))
    (line,) = classic_lines(chosen)
    assert line.text.startswith("TOP MAX node... Random Move : ( Row = ")


def test_the_names_of_programs() -> None:
    """A program's name has its number, its strategy and its depth."""
    assert player_name(Plan("average", 2), 2) == "CP #2 AverageMiniMax depth=2"
    assert player_name(Plan("greedy", 5)) == "CP #1 Greedy depth=1"
    assert player_name(Plan("random")) == "CP #1 Random"
    assert player_name(Plan("negamax")) == "CP #1 MiniMax depth=end"


def test_a_classic_match_that_ends_too_soon() -> None:
    """A move after the end of the game is refused, and a person can win."""
    start = load_game("sticks").position("1-1-0 first")
    lines = list(classic_match(start, Plan(depth=1), ["1x1"]))
    assert lines[-1] == "<< Dave >> is the WINNER !!!!"
    with pytest.raises(NotPossible, match="over before 1x1"):
        list(classic_match(start, Plan(depth=1), ["1x1", "1x1"]))


def test_bounds_meet() -> None:
    """A node's bounds are its interval inside its window."""
    trace = on_tree(parse_tree("max(a: min(3, 4), b: min(8, 7))"), "alphabeta")
    of_b = [line.text for line in bounds_lines(trace) if line.text.startswith("b")]
    assert of_b == ["b (3, inf)", "b (3, 8)", "b (7, 7)"]


def test_bounds_of_every_algorithm() -> None:
    """Both bounds of the root end at its value."""
    rng = random.Random(5)
    for _ in range(20):
        tree = random_tree(rng)
        for algorithm in ("minimax", "alphabeta", "fail-hard", "one-bound", "parent-bound"):
            trace = on_tree(tree, algorithm)
            last = [line.text for line in bounds_lines(trace) if line.level == 0][-1:]
            value = trace.value
            assert last == ([f"root ({value}, {value})"] if len(trace.nodes.parent) > 1 else [])


def test_two_columns() -> None:
    """A comparison marks the lines that differ, and fits 80 columns."""
    tree = parse_tree("max(L: min(12, 10), R: min(R1: 3, R2: 10))")
    text = format_comparison(on_tree(tree, "minimax"), on_tree(tree, "alphabeta"))
    lines = text.splitlines()
    assert lines[0].split() == ["minimax", "alphabeta"]
    different = [line.split()[1] for line in lines if line.startswith("*")]
    assert different == ["root", "L", "R", "R2", "nodes", "leaves"]
    assert [line.split() for line in lines if "R2" in line] == [["*", "R2", "=", "10", "skipped"]]
    assert max(map(len, lines)) <= 80
    same = format_comparison(on_tree(tree, "negamax"), on_tree(tree, "minimax"))
    assert "*" not in same
    big = Plan("minimax", 3, evaluator="zero", plain_limit=0)
    assert "nodes" in format_comparison(*[on_game("tic-tac-toe", None, big)] * 2)


def test_traces_with_infinite_numbers_are_json() -> None:
    """A trace with infinite windows and utilities is valid JSON without NaN."""
    content = encode_json([on_tree(parse_tree("max(a: inf, b: min(-inf, 2))"), "alphabeta")])
    (decoded,) = msgspec.json.decode(content)
    assert decoded["value"] == "inf"
    assert None in decoded["nodes"]["alpha"]
