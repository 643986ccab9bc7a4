"""Whole games: what a search to the end promises, and how fast a tree grows."""

from collections.abc import Mapping
from functools import cache

from engine.rules.registry import load_game
from engine.teach.algorithms.cost import estimated_nodes
from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import AtPosition, Lesson, Run
from engine.teach.states.graph import graph_of, sizes_of
from engine.teach.states.state import GameState, Scale
from engine.teach.states.tree import Tree, check_tree, uniform

# --- sticks

TWO_ROWS = AtPosition("sticks", "1-2-0 second")

STICKS = Lesson(
    title="Sticks",
    summary="A real game that is small enough to follow every step.",
    page="""There were rows of 1, 2 and 3 sticks, and the opponent has just taken all
of row 3. A move takes sticks from one row (2x1: one from row 2); the player who has to
take the last stick loses. A loss is worth -1 and a win 101; an estimate is a random number
between them, but here three plies reach the end.""",
    look_for=(
        "1x1 loses: the reply 2x1 leaves us the last stick. 2x1 loses too: after the reply 1x1 "
        "the window is empty, and the other reply is skipped. 2x2 wins.",
        "With a fresh window for each root move nothing is skipped: {fresh.nodes} nodes, not "
        "{handed.nodes}.",
    ),
    commands=("The log of the first program: --log classic.",),
    runs=(
        Run(
            "Rows of 1 and 2, our move",
            TWO_ROWS,
            Plan("alphabeta", depth=3, evaluator="random"),
            "handed",
            "steps",
        ),
        Run(
            "Fresh windows at the root",
            TWO_ROWS,
            Plan("alphabeta", depth=3, evaluator="random", fresh=True),
            "fresh",
            "none",
        ),
    ),
    compares=(0, 1),
)

# --- meaning

WON = AtPosition("tic-tac-toe", "XX.OO....")
DRAWN = AtPosition("tic-tac-toe", "X...O....")
LOST = AtPosition("tic-tac-toe", "O.OX..X..")
TO_THE_END = Plan("alphabeta", evaluator="zero")
#: Finished games: X has three in a row, and the scholar's mate.
ENDS = {
    "ttt": ("tic-tac-toe", "XOO.X...X"),
    "mate": ("chess", "r1bqkb1r/pppp1Qpp/2n2n2/4p3/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq - 0 4"),
}


@cache
def final_utilities() -> Mapping[str, object]:
    """Returns the utilities of the finished games for either side."""
    return {
        f"{name}_{seat}": GameState(load_game(game).position(text), seat, Scale()).utility()
        for name, (game, text) in ENDS.items()
        for seat in (0, 1)
    }


MEANING = Lesson(
    title="What 1, 0 and -1 mean",
    summary="What 1, 0 and -1 at the root promise to the side to move.",
    page="""The end of a game has a utility for each player. With XOO/.X./..X on the board
(row 1, the lowest, comes first) X has won: U(X) = {ttt_0}, U(O) = {ttt_1}. After the
scholar's mate U(White) = {mate_0} and U(Black) = {mate_1}. A search that goes to the end carries
such a number up to the root, where it is a promise to the side to move: 1, a win is guaranteed,
whatever the opponent does; 0, no win, but a draw is sure; -1, lost against perfect play.""",
    look_for=(
        "In the first search {won.value}: X plays {won.plays} and has three in a row. In the "
        "second {drawn.value}: nobody can force more. In the third {lost.value}: every move "
        "loses, if O plays well.",
        'O may err, though: minimax assumes the best opponent. See "Average min-max".',
        "A search that stops before the end gives an estimate: nothing is promised.",
    ),
    runs=(
        Run("XX./OO./... with X to move", WON, TO_THE_END, "won", "none"),
        Run("X../.O./... with X to move", DRAWN, TO_THE_END, "drawn", "none"),
        Run("O.O/X../X.. with X to move", LOST, TO_THE_END, "lost", "none"),
    ),
    facts=final_utilities,
    is_stored=True,
)

# --- tic-tac-toe

SIX_STONES = AtPosition("tic-tac-toe", ".XX.....O")
EMPTY_BOARD = AtPosition("tic-tac-toe", ".........")


@cache
def tic_tac_toe_sizes() -> Mapping[str, object]:
    """Returns the numbers of states and of nodes."""
    graph = graph_of(GameState.at_root(load_game("tic-tac-toe").start(), Scale()))
    graph_sizes = sizes_of(graph)
    return {"filled": 3**9, "states": graph_sizes.states, "paths": graph_sizes.tree_nodes}


TIC_TAC_TOE = Lesson(
    title="Tic-tac-toe to the end",
    summary="A whole game, searched to its end.",
    page="""A finished game is worth 1 to the winner, -1 to the loser and 0 if it is a
draw. Tic-tac-toe is small enough to be searched to the end, so no evaluation is needed.
Nine cells can be filled with X, O or nothing in 3^9 = {filled:,} ways; {states:,} of these
states occur in a game. The full search from the empty board finds {whole.value}: with the
best moves of both sides the game is a draw. It visits {whole.nodes:,} nodes,
{whole.leaves:,} of them leaves; plain minimax visits {paths:,}.""",
    look_for=(
        "A node that finds 1 for MAX goes on as long as beta is greater: the search does not "
        "know that 1 is the greatest value.",
    ),
    commands=(
        "How many states are there after d plies? --game tic-tac-toe --states --depth d",
        "Watch the end of a game step by step: --game tic-tac-toe --position .XX.....O --depth "
        "end --evaluator zero --step",
    ),
    runs=(
        Run("From the empty board", EMPTY_BOARD, TO_THE_END, "whole", "none"),
        Run("With three stones on the board (.XX.....O)", SIX_STONES, TO_THE_END, "six", "none"),
    ),
    facts=tic_tac_toe_sizes,
    is_stored=True,
)

# --- branching

B, L = 3, 4
UNIFORM_TREE = check_tree(
    Tree(uniform(("max", "min", "max", "min"), B, tuple(range(B**L))), "Branching")
)


@cache
def branching_sizes() -> Mapping[str, object]:
    """Returns the sizes of the tree, of tic-tac-toe and of chess."""
    chess = GameState.at_root(load_game("chess").start(), Scale())
    levels = {f"chess{depth}": round(estimated_nodes(chess, depth), -2) for depth in (1, 2, 3)}
    long = estimated_nodes(chess, 40)
    return {
        **tic_tac_toe_sizes(),
        "B": B,
        "L": L,
        "leaves": B**L,
        "more": B ** (2 * L),
        "first": len(chess.moves()),
        "second": len(chess.moves()) ** 2,
        "exponent": len(str(int(long))) - 1,
        **levels,
    }


BRANCHING = Lesson(
    title="Branching: B^L leaves",
    summary="A tree of branching B and depth L has B^L leaves.",
    page="""A tree with B moves at every node and L plies has B^L leaves: here {B}^{L} =
{leaves}. Twice as deep it has {more:,}. That is the enemy of every search: it grows
exponentially with the depth. Tic-tac-toe is small: fewer than 3^9 = {filled:,} states,
{states:,} of them reachable. Chess has {first} first moves, {second} positions in the tree
after two plies, and far more than 10^40 nodes: an estimate from random games gives
10^{exponent} for the first 40 plies.""",
    look_for=(
        "Plain minimax takes all {plain.leaves} leaves. Alpha-beta takes {pruned.leaves} in "
        "this order, and {pruned.minimum_leaves} = B^(L/2) + B^(L/2) - 1 in the best one: the "
        "depth of the same effort doubles.",
        "The other answers to the exponent: stop early and evaluate (evaluation), remember "
        "states (shared-states), order the moves (move-order, deepening).",
    ),
    runs=(
        Run("Alpha-beta", UNIFORM_TREE, Plan("alphabeta"), "pruned", "none"),
        Run("Plain minimax", UNIFORM_TREE, Plan("minimax"), "plain", "none"),
    ),
    facts=branching_sizes,
    is_stored=True,
)
