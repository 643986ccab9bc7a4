"""Where the search stops: estimates at its depth limit, and what lies beyond it."""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import AtPosition, Lesson, Run
from engine.teach.states.tree_text import parse_tree

# --- evaluation

PIECES = parse_tree(
    """
    max(A: [pawn*3 | pawn*2],
        B: [king bishop*2 | king queen],
        C: [king queen | king bishop pawn])
    """,
    "Evaluation",
)
STONES = AtPosition("tic-tac-toe", "XO..X...O")
#: King and two bishops against king and queen.
BOARD = AtPosition("chess", "3qk3/8/8/8/8/8/8/2B1KB2 w - - 0 1")
PIECE_WEIGHTS = "material:king=10,queen=9,bishop=3"

EVALUATION = Lesson(
    title="Evaluation",
    summary="Where the search stops before the end, an evaluator estimates the value.",
    page="""Most games are too deep to be searched to the end. Where the search stops, an
evaluator estimates the value of the position. The simplest one counts pieces: ours minus
the opponent's. A better one gives each kind of piece a weight. The search does not change:
the evaluator is a parameter.""",
    look_for=(
        "B is king and two bishops against king and queen: 3 - 2 = {counted[B]} by counting, 16 "
        "- 19 = {weighted[B]} with the weights king 10, queen 9, bishop 3. The same on a real "
        "chess board: {board.value}.",
        "By counting the search plays {counted.plays}, with weights {weighted.plays}.",
        "Random values mean nothing, but the search works in the same way.",
    ),
    runs=(
        Run("Pieces", PIECES, Plan("minimax", depth=1, evaluator="material"), "counted"),
        Run("Weighted", PIECES, Plan("minimax", depth=1, evaluator=PIECE_WEIGHTS), "weighted"),
        Run("At random", PIECES, Plan("minimax", 1, evaluator="random", seed=1), "random"),
        Run("Chess", BOARD, Plan("minimax", depth=0, evaluator=PIECE_WEIGHTS), "board", "none"),
        Run(
            "Stones of tic-tac-toe after one ply of X",
            STONES,
            Plan("alphabeta", depth=1, evaluator="material"),
            "stones",
            "none",
        ),
    ),
)

# --- horizon

#: White's rook can take a pawn that another pawn protects.
PROTECTED_PAWN = AtPosition("chess", "k7/1p6/p7/8/8/8/8/R6K w - - 0 1")
ROOK_AND_PAWN = "material:king=0,rook=5,pawn=1"

HORIZON = Lesson(
    title="The horizon effect",
    summary="A search that stops one ply too early believes in a free pawn.",
    page="""The horizon effect: what lies beyond the last ply does not exist for a search.
White's rook on a1 can take the pawn on a6, which the pawn on b7 protects. A
search of one ply stops right after the capture. It sees White ahead by {one.value} and plays
{one.written}. The loss of the rook lies beyond its horizon. A search of two plies sees that the
recapture leaves White at {two[a1a6]}, and plays {two.written}.""",
    look_for=(
        "White is ahead by 5 - 2 = 3. Depth 1 promises {one.value}, and depth 2 promises "
        "{two.value}.",
        "More depth moves the horizon, but never removes it: depth 3 promises {three.value} "
        "again, by {three.line}. What is wrong with that?",
        "A better answer: do not stop in the middle of an exchange. See the next lesson.",
    ),
    runs=(
        Run("One ply", PROTECTED_PAWN, Plan("minimax", 1, evaluator=ROOK_AND_PAWN), "one", "none"),
        Run(
            "Two plies", PROTECTED_PAWN, Plan("minimax", 2, evaluator=ROOK_AND_PAWN), "two", "none"
        ),
        Run(
            "Three plies",
            PROTECTED_PAWN,
            Plan("minimax", 3, evaluator=ROOK_AND_PAWN),
            "three",
            "none",
        ),
    ),
    is_stored=True,
)

# --- quiescence

QUIESCENCE = Lesson(
    title="Quiescence",
    summary="The search stops only where nothing can be captured.",
    page="""The position of the lesson before: the rook may take a protected pawn. This
search, too, has depth 1, but another cut-off rule: it stops only where no move captures a
piece. After the capture on a6 it looks at the recapture, and the rook is lost:
{quiet[a1a6]}. It plays {quiet.written}, like a search of two plies, but visits {quiet.nodes}
nodes instead of {two.nodes}.""",
    look_for=(
        "Depth 1 alone takes {one.nodes} nodes and plays {one.written}: {quiet.nodes} were enough "
        "to see better.",
        "The cut-off rule is a parameter like the evaluator: it is called quiet. Beyond its "
        "depth it still tries all moves; a chess program tries captures only, and lets a side "
        "stand pat.",
    ),
    runs=(
        Run("Depth 1", PROTECTED_PAWN, Plan("minimax", 1, evaluator=ROOK_AND_PAWN), "one", "none"),
        Run(
            "Depth 1, quiet",
            PROTECTED_PAWN,
            Plan("minimax", 1, evaluator=ROOK_AND_PAWN, cut_off="quiet"),
            "quiet",
            "none",
        ),
        Run("Depth 2", PROTECTED_PAWN, Plan("minimax", 2, evaluator=ROOK_AND_PAWN), "two", "none"),
    ),
    compares=(0, 1),
    is_stored=True,
)
