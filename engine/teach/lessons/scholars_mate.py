"""The scholar's mate: an ordinary search finds it, as if the opponent helped."""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import AtPosition, Lesson, Run

START = AtPosition("chess", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1")
BEFORE = AtPosition("chess", "r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq - 3 3")
ORDER = "given:e2e4,e7e5,f1c4,b8c6,d1h5,g8f6,h5f7"

LESSON = Lesson(
    title="Optimistic search and the scholar's mate",
    page="""An ordinary search, as for a way through a maze, looks for any path to a good
end. In chess it finds the scholar's mate: {hope.line}. White mates with the fourth move,
utility {hope.value}. But a game is no maze: after the queen comes to h5 it is Black who
moves, and Black need not play g8f6. Minimax for Black finds a reply after which White has
no mate: {black.plays}.""",
    look_for=(
        "The optimistic search takes the greatest value at every node, the opponent's too: all "
        "are MAX.",
        "It stops at the first win, after {hope.nodes} nodes, since its order tries the plan's "
        "moves first.",
        "The value {black.value} in the second search: Black avoids the mate. The plan promises "
        "nothing against an opponent who thinks.",
    ),
    runs=(
        Run(
            "Optimistic",
            START,
            Plan("optimistic", depth=7, evaluator="zero", order=ORDER, plain_limit=0),
            "hope",
            "none",
        ),
        Run(
            "Minimax for Black, two plies",
            BEFORE,
            Plan("alphabeta", depth=2, evaluator="zero", order="given:g8f6", plain_limit=0),
            "black",
            "none",
        ),
    ),
)
