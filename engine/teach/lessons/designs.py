"""How the algorithm is written: what a node returns, what it hands down, and three designs.

All of them find the same values in the trees of the first chapter. A reader compares what differs:
a return value, a bound, or how the code treats MAX and MIN.
"""

import difflib
import inspect
from collections.abc import Mapping

from engine.rules.registry import load_game
from engine.teach.algorithms import pair
from engine.teach.algorithms.explain import Plan, explain
from engine.teach.algorithms.flat import single_utility
from engine.teach.algorithms.mapping import PLAIN
from engine.teach.algorithms.polymorphic import SIDES
from engine.teach.algorithms.study import Study, at_depth
from engine.teach.lessons.first_cutoffs import FOUR_LEVELS, GREEDY_TREE, SEVEN_NODES
from engine.teach.lessons.lesson import AtPosition, Lesson, Run, Statement, Statements
from engine.teach.states.board import Board, StatusVisitor
from engine.teach.states.state import GameState, Scale, TreeState
from engine.teach.states.tree_text import parse_tree

# --- fail-hard

FAIL_HARD = Lesson(
    title="Fail-hard and fail-soft",
    summary="What a node returns when its value lies outside its window.",
    page="""Two forms of alpha-beta visit the same {hard.nodes} nodes of this tree, but a
node returns something else. Fail-soft: a node returns the best value found, even outside its
window. So I = {soft[I]}, D = {soft[D]}, E = {soft[E]}, B = {soft[B]}. Fail-hard: a node
returns its alpha (MAX) or its beta (MIN). So I = {hard[I]}, D = {hard[D]}, E = {hard[E]},
B = {hard[B]}.""",
    look_for=("Fail-soft returns more: E is {soft[E]} at most, which a table of states can use.",),
    runs=(
        Run("Fail-hard", FOUR_LEVELS, Plan("fail-hard"), "hard"),
        Run("Fail-soft", FOUR_LEVELS, Plan("fail-soft"), "soft", "none"),
    ),
    compares=(0, 1),
)

# --- one-bound

DEEP_CUT = parse_tree("max(A: 10, B: min(C: max(D: min(D1: 5, D2: 7, D3: 9), E: 6)))", "One bound")


def one_bound_sizes() -> Mapping[str, object]:
    """Returns the nodes that both places of the test need, and those of the prose of 001."""
    four, friends = TreeState.at_root(FOUR_LEVELS), TreeState.at_root(GREEDY_TREE)
    return {
        name: explain(root, Plan(algorithm)).counts.nodes
        for name, root, algorithm in (
            ("four", four, "one-bound"),
            ("four_early", four, "one-bound-early"),
            ("four_prose", four, "parent-bound"),
            ("friends_prose", friends, "parent-bound"),
        )
    }


ONE_BOUND = Lesson(
    title="One bound is not enough",
    summary="A child gets only its parent's best value, so there are no deep cut-offs.",
    page="""The simplest pruning hands down one number: the best value of the parent. MAX
has {full[A]} from A. Deep below B, at D, MIN finds {full[D1]}. With a window D has the
{full[A]} from three plies above and skips its other leaves. With one bound it has only the
best value of C, which has none yet. The slide (003) evaluates the first child before its loop,
and both its tests stand in the loop: no node stops before its second child.""",
    look_for=(
        "A window takes {full.nodes} nodes, one bound {one.nodes}, plain minimax "
        "{full.plain_nodes}. All find {full.value}.",
        "Nodes of the friends and of the four-level tree: the slide {slide.nodes} and {four}, "
        "with a test after every child (one-bound-early) {early.nodes} and {four_early}, and so "
        "in the prose of 001, which cuts at an equal value too (parent-bound): {friends_prose} "
        "and {four_prose}.",
    ),
    runs=(
        Run("One bound", DEEP_CUT, Plan("one-bound"), "one", "none"),
        Run("A window (fail-soft)", DEEP_CUT, Plan("fail-soft"), "full"),
        Run("The friends, as on the slide", GREEDY_TREE, Plan("one-bound"), "slide", "none"),
        Run("Tested after every child", GREEDY_TREE, Plan("one-bound-early"), "early", "none"),
    ),
    facts=one_bound_sizes,
    compares=(0, 1),
)

# --- negamax

STICKS = AtPosition("sticks", "1-2-0 second")

NEGAMAX = Lesson(
    title="Negamax",
    summary="One rule for both sides.",
    page="""Minimax has two rules: MAX takes the greatest value, MIN the least. But max(a,
b) = -min(-a, -b), so one rule is enough: give every value to the side to move, negate it on
its way up, and always take the greatest. L is worth {plain[L]} to MAX, so {nega[L]} to MIN,
who moves there.""",
    look_for=(
        "Root, choice and nodes are those of minimax: {nega.value}, {nega.plays}, {nega.nodes} "
        "nodes.",
        "Negate the utility, do not swap constants. In the game of sticks a loss is -1 and a "
        "win 101: after 2x2 the opponent has {sticks[2x2]}, not -1, and after 1x1 MIN's win is "
        "worth {sticks[1x1]} to MIN, not 101.",
    ),
    runs=(
        Run("Negamax", SEVEN_NODES, Plan("negamax"), "nega"),
        Run("Minimax", SEVEN_NODES, Plan("minimax"), "plain", "none"),
        Run("Sticks by negamax", STICKS, Plan("negamax", depth=3, evaluator="random"), "sticks"),
    ),
)

# --- template-method

#: One stick is left, and the side to move has lost.
LAST_STICK = "1-0-0 first"
SCALE = Scale(-1, 50, 101)


def hooks() -> Mapping[str, object]:
    """Returns the results of the hooks of both sides."""
    position = load_game("sticks").position(LAST_STICK)
    study = Study(lambda state: 0, lambda study, state, moves, depth: moves, at_depth)
    facts: dict[str, object] = {}
    for seat, kind in enumerate(("max", "min")):
        node = SIDES[kind](study, SIDES, False)
        facts[f"{kind}_worst"] = node.worst_score
        facts[f"{kind}_opposite"] = node.opposite().__name__
        facts[f"{kind}_lost"] = node.finished_score(GameState.at_root(position, SCALE, seat))
    return facts


TEMPLATE_METHOD = Lesson(
    title="Design 1: template method and factory",
    summary="Classes for the sides, without any test of MAX or MIN.",
    page="""A node is an object. One method walks the moves, the same for both sides: the
template method. What differs are hooks. MaxNode begins with the worst score {max_worst},
MinNode with {min_worst}. The factory method of MaxNode makes a {max_opposite}, that of MinNode a
{min_opposite}. In sticks, one stick is left and the side to move has lost: the score of this
finished game is {max_lost} at a MaxNode and {min_lost} at a MinNode. So no line asks "MAX or
MIN?": each object has its own rule.""",
    look_for=(
        "The lesson: where a test of a kind comes back in many places, make it a class. A new "
        "side, such as an opponent who may err, is a new class, and the template stays.",
        "The price: an object for each node. Read engine/teach/algorithms/polymorphic.py (form "
        "nodes); each move gives a new state. Then see alphabeta-classes.",
    ),
    runs=(
        Run("The template method", SEVEN_NODES, Plan("alphabeta", form="nodes"), "nodes"),
        Run("One function with tests", SEVEN_NODES, Plan("alphabeta"), "flat", "none"),
    ),
    facts=hooks,
)

# --- alphabeta-classes

ALPHABETA_CLASSES = Lesson(
    title="Design 2: AlphaBetaMax and AlphaBetaMin",
    summary="The classes of the sides with a window: a node returns its alpha or its beta.",
    page="""The template method stays, and so do the hooks. AlphaBetaMax is a MaxNode, and
AlphaBetaMin a MinNode: each makes the other one with its own window, alpha and beta. After
each move AlphaBetaMax raises alpha, AlphaBetaMin lowers beta, and both stop where alpha is as
great as beta. What differs from design 1 is the final score: AlphaBetaMax returns its alpha,
AlphaBetaMin its beta. That is fail-hard: E is {hard[E]} here, and {soft[E]} where a node
returns the best score that it found.""",
    look_for=(
        "The same {hard.nodes} of {hard.plain_nodes} nodes as every other alpha-beta; D and I are "
        "{hard[D]} and {hard[I]}, the beta that A hands down.",
        "Read engine/teach/algorithms/polymorphic.py (algorithm fail-hard, form nodes). Then see "
        "static-functions.",
    ),
    runs=(
        Run("AlphaBetaMax", FOUR_LEVELS, Plan("fail-hard", form="nodes"), "hard", "none"),
        Run("Design 1", FOUR_LEVELS, Plan("alphabeta", form="nodes"), "soft", "none"),
    ),
    compares=(0, 1),
)

# --- static-functions


def likeness() -> Mapping[str, object]:
    """Returns the number of lines of one function, and how many differ in the other."""
    ours, theirs = (
        inspect.getsource(side).splitlines() for side in (pair.max_value, pair.min_value)
    )
    blocks = difflib.SequenceMatcher(None, ours, theirs).get_matching_blocks()
    return {"lines": len(ours), "differ": len(ours) - sum(block.size for block in blocks)}


STATIC_FUNCTIONS = Lesson(
    title="Design 3: static functions",
    summary="One function for MAX and one for MIN, which call each other.",
    page="""No objects: max_value and min_value are two functions that call each other. Each
has one side, so there is nothing to ask and nothing to make. It trades flexibility for speed
in the inner loop. The price: everything is written twice. Of the {lines} lines of max_value,
{differ} differ in min_value: a greater sign, a bound, a name. A change of one function is a
change of the other, too.""",
    look_for=(
        "Both play on one board and take back: board.play(move), the value of the board, "
        "board.take_back(). A take-back that is forgotten spoils all that follows. In the "
        "template method each move gives a new state, and nothing can be forgotten.",
        "The visits are those of every other form: {pair.nodes} and {flat.nodes} nodes. Read "
        "engine/teach/algorithms/pair.py and board.py (form pair). Then see map.",
    ),
    runs=(
        Run("Two functions", FOUR_LEVELS, Plan("alphabeta", form="pair"), "pair", "none"),
        Run("One function with tests", FOUR_LEVELS, Plan("alphabeta"), "flat", "none"),
    ),
    facts=likeness,
)

# --- map

FOUR_MOVES = parse_tree("max(a: 0, b: min(1, 2), c: 30, d: -3)")


class Calls(StatusVisitor[None]):
    """Writes down which method a board calls, and takes the value of a move."""

    def __init__(self, board: Board) -> None:
        self.board, self.calls = board, list[str]()
        self.best = PLAIN["max"](PLAIN)
        self.move = 0

    def won(self) -> None:
        self.take("won")

    def lost(self) -> None:
        self.take("lost")

    def drawn(self) -> None:
        self.take("drawn")

    def ongoing(self) -> None:
        self.take("ongoing")

    def take(self, call: str) -> None:
        """Writes the call down, and gives the accumulator the move with its value."""
        self.calls.append(call)
        value = explain(self.board.state, Plan("minimax")).value
        self.best.take(self.move, single_utility(value or 0))


def map_calls() -> Mapping[str, object]:
    """Returns the calls of a map over four moves, and the best value and its move."""
    board = Board(TreeState.at_root(FOUR_MOVES))
    root, calls = board.state, Calls(board)

    def each(move: int) -> None:
        calls.move = move
        board.accept(calls)

    board.map(root.moves(), each, calls.best)
    assert calls.best.move is not None
    best = {"value": calls.best.value, "move": root.name(calls.best.move)}
    return {"calls": ", ".join(calls.calls), **best}


MAP = Lesson(
    title="001's map: visitor and accumulators",
    summary="The board maps a function over its moves, into an accumulator.",
    page="""The algorithm has no loop. It hands a function, the lambda, to the board, whose map
plays each move, calls it and takes the move back. The lambda lets a status visitor see the
board: won, lost and drawn give updateBest 1, -1 and 0, or the chosen utilities, and going on
what the next map finds. The accumulator holds the best
value and its move, and makes its own opposite for the next ply. A board with four moves calls
{calls}; the accumulator of MAX ends with {value} and the move {move}. As an
alpha-beta accumulator it says when it has enough: then the board plays no further move.""",
    look_for=(
        "After R1 the accumulator of R has enough: alpha {pruned[L]}, beta {pruned[R1]}. R2 is "
        "never played.",
        "The lesson: the walk over the moves is written once, in the board, and what to do there "
        "is an argument. 001 stops where d > maximum: its maximum 3 is our depth 4 from a root "
        "with d = 0. Read algorithms/mapping.py and states/board.py in engine/teach (form map).",
    ),
    runs=(
        Run("Accumulators", SEVEN_NODES, Plan("accumulators"), "pruned"),
        Run("Plain minimax", SEVEN_NODES, Plan("minimax", form="map"), "plain", "none"),
    ),
    facts=map_calls,
)

# --- opaque-moves

OPAQUE_MOVES = Lesson(
    title="IMove has no methods: why?",
    summary="An exercise: what the search, the player and the referee know of a move.",
    page="""In the first text a move is an IMove, an interface without any method. The Referee
asks the player whose turn it is for a move and plays it on the board. A strategy chooses the
next move for a player, and any strategy plugs into any seat. The search takes moves from the
rules and hands them back to be played: one search runs in a tree and in a game of sticks.""",
    look_for=(
        "Which statements about IMove are true, and why? The answer is a word about who must "
        "know what. Both searches here are by the same function.",
    ),
    solution=(
        "A move is opaque to the search: only the rules that made it can read it. So the search "
        "cannot depend on any game, and every game can be searched. The type has no methods, yet "
        "it says which objects are moves.",
        "Ours: a move is a number that only its own state can interpret. State has moves(), "
        "name(move) and play(move) (engine/teach/states/state.py). A strategy gets a Turn and "
        "returns a Choice (engine/strategies/contract.py): strategy and player meet there, not "
        "in the search.",
        "The first text plays and takes back on one board (processMove, unprocessMove). Our "
        "play(move) gives a new state; design 3 does it in their way.",
    ),
    commands=("Check your answers with --quiz. The solution: --log tree.",),
    runs=(
        Run("Alpha-beta in a tree", SEVEN_NODES, Plan("alphabeta"), "tree"),
        Run("In sticks", STICKS, Plan("alphabeta", depth=3, evaluator="random"), "sticks"),
    ),
    exercise=Statements(
        "IMove has no methods. Which of these statements are true?",
        (
            Statement(
                "The search can look into a move to see which row it takes sticks from.",
                False,
                "It sees an object without methods; only the rules of sticks know the row.",
            ),
            Statement(
                "Since the search knows nothing of moves, it can search any game.",
                True,
                "Whatever the rules give it, it hands back to them.",
            ),
            Statement(
                "An interface without methods is useless and could be left out.",
                False,
                "It says which objects are moves, and the compiler rejects all others.",
            ),
            Statement(
                "The rules that made a move must be able to play it and to take it back.",
                True,
                "processMove and unprocessMove are the rules' work: nobody else can read a move.",
            ),
            Statement(
                "IMove needs a method that says whether the move is legal.",
                False,
                "The rules list legal moves only, so there is nothing left to ask a move.",
            ),
        ),
    ),
)

# --- polymorphism

POLYMORPHISM = Lesson(
    title="Where is polymorphism, where only generalization?",
    summary="An exercise: which calls choose their method by the object, and which do not.",
    page="""A superclass may have two purposes. Generalization: what its subclasses have in
common, such as a player's name, stands in it once. Polymorphism: a call goes to an object
whose class the caller does not know, and the object's class decides which method runs. The
first text has both: a Referee with two players, players with strategies, nodes for MAX and MIN.""",
    look_for=(
        "Which statements are true? For each call ask: who decides which code runs, the text of "
        "the program or the object? All three designs visit the same nodes.",
    ),
    solution=(
        "Polymorphism: the Referee asks any player for the next move; a player asks any strategy; "
        "the template method calls the hooks and the factory method of its own node. Each caller "
        "names no class, and a new class needs no change there.",
        "Only generalization: name and number of a player; the walk over the moves, which both "
        "sides inherit without a change; a common superclass of two boards that no caller uses.",
        "Ours: State, Strategy and the sides of engine/teach/algorithms/polymorphic.py are "
        "polymorphic; the static functions of pair.py are neither, and say everything twice.",
    ),
    commands=("Check your answers with --quiz. The solution: --log tree.",),
    runs=(
        Run("Design 1, by objects", SEVEN_NODES, Plan("alphabeta", form="nodes"), "nodes"),
        Run("Design 3, by functions", SEVEN_NODES, Plan("alphabeta", form="pair"), "pair"),
    ),
    exercise=Statements(
        "Which of these statements about the first text's program are true?",
        (
            Statement(
                "The Referee asks a player for the next move: that call is polymorphic.",
                True,
                "A person and a computer answer it differently, and the Referee names neither.",
            ),
            Statement(
                "Both kinds of players inherit a name: that is polymorphism.",
                False,
                "It is generalization: the same field for both, and no call depends on the class.",
            ),
            Statement(
                "The template method calls its hook for the worst score: that is polymorphic.",
                True,
                "The class of the node decides whether it is the least or the greatest number.",
            ),
            Statement(
                "max_value calls min_value: that call is polymorphic.",
                False,
                "The text names the function; no object decides.",
            ),
            Statement(
                "The walk over the moves is polymorphic, since MAX and MIN inherit it.",
                False,
                "Both inherit the same code without a change: only generalization.",
            ),
        ),
    ),
)
