"""What minimax is: values from the leaves up, estimates where the tree is too deep, whose view.

The lessons before all others, without any cut-off. Each word that the founding texts use is
defined in a sentence of one of the lessons; the glossary has the same sentences.
"""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.first_cutoffs import FOUR_LEVELS
from engine.teach.lessons.lesson import AtPosition, Lesson, Run
from engine.teach.states.tree_text import parse_tree

# --- what-is-minimax

WHAT_IS_MINIMAX = Lesson(
    title="What is minimax?",
    summary="The computer, its opponent, and values that go from the leaves up.",
    page="""How does a computer choose a move? It tries each of its moves in its head, each reply,
each answer to that, and so on. That is a tree: the position now is the root, at the top; where a
line of moves ends is a leaf, at the bottom. The number at a leaf says how good that end is for the
computer. The computer (MAX) and its opponent (MIN) move in turn; a move of one side is a
ply. A game is zero-sum if one side wins what the other loses: one number is enough. A game has
perfect information if both sides see everything and nothing is left to chance. A maximizing node
takes the greatest value of its successors, a minimizing node the least. A successor of a position
is what one move makes of it. So the values go from the leaves up to the root:""",
    look_for=(
        "G is the least of {plain[G1]} and {plain[G2]}: {plain[G]}. H is {plain[H]}, C the "
        "greatest of both: {plain[C]}. In the end A is {plain[A]} and B {plain[B]}: the computer "
        "plays {plain.plays}.",
        "The leaf {plain[G1]} in the lower left is what the computer can be sure of: by "
        "{plain.line} it gets {plain.value}, and any other reply gives it no less.",
    ),
    runs=(Run("Plain minimax", FOUR_LEVELS, Plan("minimax"), "plain", "none"),),
)

# --- h0-and-hl

LOOK_AHEAD = parse_tree(
    """
    max(A: min~2(A1: max~6(1, 3), A2: max~7(8, 5)),
        B: min~4(B1: max~4(6, 4), B2: max~9(9, 2)),
        C: min~5(C1: max~1(7, 0), C2: max~3(2, 5)))
    """,
    "Look-ahead",
)

H0_AND_HL = Lesson(
    title="H0 and H_L",
    summary="A guess without a search, and the same guess after a look-ahead of L plies.",
    page="""A heuristic is a quick guess that is often right. A static board evaluator is a
heuristic that values a position without any search. H0 is the value that the static board
evaluator gives. A look-ahead tries the moves, the replies to them, and so on up to a limit.
The search depth is the number L of plies of the look-ahead. H_L is the value after L plies:
the greatest H at L - 1 of the successors where MAX moves, the least where MIN moves.""",
    look_for=(
        "H_1 plays {one.plays} ({one.value}), H_2 {two.plays} ({two.value}), H_3 {three.plays} "
        "({three.value}): C looks best, until MIN's reply is seen.",
        "Hill climbing plays the move with the best H0; minimax adapts it to an opponent.",
        "Exponential branching: with B moves at each node, L plies have B^L leaves.",
    ),
    runs=(
        Run("L = 1: hill climbing", LOOK_AHEAD, Plan("minimax", depth=1), "one"),
        Run("L = 2", LOOK_AHEAD, Plan("minimax", depth=2), "two"),
        Run("L = 3", LOOK_AHEAD, Plan("minimax", depth=3), "three", "none"),
    ),
)

# --- utility-eval-cutoff

#: The greedy friends, with what the looks of the friends promise.
PROMISES = parse_tree(
    "max(one: min~12(one-10: 10, one-50: 50, one-25: 25), "
    "two: min~30(two-5: 5, two-2: 2, two-25: 25))",
    "Utility, EVAL and CUTOFF",
)

UTILITY_EVAL_CUTOFF = Lesson(
    title="Utility, EVAL and CUTOFF",
    summary="What an end is worth, what a state may be worth, and where to stop.",
    page="""A state machine has states, a player to move in each, and moves from state to
state. A final state is a state without moves: there the game is over. The utility function
U(q, p) says what the final state q is worth to player p. EVAL(q, p) estimates what a state q
that is not final may be worth to p. CUTOFF(q, d) says whether the search stops at state q in
depth d and takes EVAL.""",
    look_for=(
        "CUTOFF after one ply: EVAL likes friend two ({cut[two]}). To the end U decides: "
        "{full[one]} and {full[two]}.",
        "Ask for the end first: a final state has a utility, and no estimate.",
        "1 means that a win is guaranteed, 0 a draw, -1 that all is lost: the lesson "
        '"What 1, 0 and -1 mean" shows each.',
    ),
    runs=(
        Run("CUTOFF after one ply", PROMISES, Plan("minimax", depth=1), "cut"),
        Run("To the end", PROMISES, Plan("minimax"), "full"),
    ),
)

# --- pay-off

LAYOUT = AtPosition("tic-tac-toe", "XX.OO.X.O")

PAY_OFF = Lesson(
    title="Pay-off, and whose view",
    summary="One number for each end, from the view of one player, whoever moves.",
    page="""A layout is an arrangement of the pieces on the board, with the side to move. The
pay-off function gives each finished layout a number from the view of one player: 1 where that
player has won, -1 where lost, 0 where drawn. The text 001 always takes the view of its player
John, whoever is to move: where John moves the greatest number counts, where the other moves the
least. So the root may be a MIN node.""",
    look_for=(
        "{mine.plays} wins for the side to move: from its own view the root is MAX, worth "
        "{mine.value}. From the view of the other player the same root is MIN, worth "
        "{other.value}.",
        "The game is zero-sum, so one view is the negative of the other. The choice is the same.",
    ),
    runs=(
        Run("The side to move is MAX", LAYOUT, Plan("minimax", evaluator="zero"), "mine"),
        Run(
            "The other is MAX", LAYOUT, Plan("minimax", evaluator="zero", player=2), "other", "none"
        ),
    ),
)
