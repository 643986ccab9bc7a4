"""Other utilities and other opponents: private aims, errors, several players, and a helper."""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import AtPosition, Lesson, Run
from engine.teach.states.tree import Node, Tree, check_tree, walk
from engine.teach.states.tree_text import parse_tree
from engine.teach.trace import Value

# --- rock-paper-scissors

SIGNS = ("rock", "paper", "scissors")
BEATS = {"rock": "scissors", "paper": "rock", "scissors": "paper"}


def plain_utility(mine: str, theirs: str) -> int:
    """Returns 1 for a win, -1 for a loss, 0 for a tie."""
    if mine == theirs:
        return 0
    return 1 if BEATS[mine] == theirs else -1


def private_utility(mine: str, theirs: str) -> int:
    """Returns the utility for a player who is proud of their scissors.

    Cutting paper with them is worth 15, having them smashed by a rock is worth -20.
    """
    if mine == "scissors":
        return {"rock": -20, "paper": 15, "scissors": 0}[theirs]
    return plain_utility(mine, theirs)


def both_utilities(mine: str, theirs: str) -> Value:
    """Returns the private utility of each player, ours first."""
    return private_utility(mine, theirs), private_utility(theirs, mine)


def signs_tree(first: str, second: str, utility: dict[tuple[str, str], Value]) -> Tree:
    """Returns the thirteen states: the empty table, three after our sign, nine after both signs."""
    replies = {
        mine: Node(
            second,
            tuple(Node(move=theirs, utility=utility[mine, theirs]) for theirs in SIGNS),
            mine,
        )
        for mine in SIGNS
    }
    return check_tree(Tree(Node(first, tuple(replies.values())), "Rock, paper, scissors"))


PAIRS = [(mine, theirs) for mine in SIGNS for theirs in SIGNS]
PLAIN_SIGNS = signs_tree("max", "min", {pair: plain_utility(*pair) for pair in PAIRS})
PRIVATE_SIGNS = signs_tree("max", "min", {pair: private_utility(*pair) for pair in PAIRS})
SIGNS_OF_BOTH = signs_tree("p1", "p2", {pair: both_utilities(*pair) for pair in PAIRS})

ROCK_PAPER_SCISSORS = Lesson(
    title="Rock, paper, scissors by turns",
    summary="Other utilities than 1 and -1, and one for each player.",
    page="""We show our sign first, then the other player answers: {states} states. With 1 for a
win and -1 for a loss every first sign loses, {plain.value}. Utilities may be other numbers:
in the second search we are proud of our scissors. Cutting paper is worth 15 to us, being
smashed by a rock -20. In the third search the other player feels the same, and each final
state has two utilities.""",
    look_for=(
        "Rock, paper and scissors are worth {plain[rock]}, {plain[paper]} and "
        "{plain[scissors]}, then {private[rock]}, {private[paper]} and {private[scissors]}. "
        "Rock is played.",
        "Max-n: paper is worth {both[paper]}: the other player likes to cut it.",
    ),
    runs=(
        Run("Plain utilities", PLAIN_SIGNS, Plan("minimax"), "plain"),
        Run("Private utilities", PRIVATE_SIGNS, Plan("minimax"), "private"),
        Run("Utilities for both, by max-n", SIGNS_OF_BOTH, Plan("minimax"), "both", "none"),
    ),
    facts=lambda: {"states": sum(1 for _ in walk(PLAIN_SIGNS.root))},
)

# --- average

TRAP = parse_tree("max(safe: min(3, 2, 4), trap: min(1, 12, 8))", "Average min-max")
O_IS_LOST = AtPosition("tic-tac-toe", ".XX.....O")

AVERAGE = Lesson(
    title="Average min-max",
    summary="An opponent who may err.",
    page="""Minimax expects the best opponent. What if the opponent may err? Average
min-max takes the best move at our plies, and the arithmetic mean of the replies at the
opponent's. In this tree minimax plays {plain.plays}, for {plain.value} at least. The mean
of the replies to the trap is {mean[trap]}, so the average plays {mean.plays}: one reply
refutes it, but two do not.""",
    look_for=(
        "A mean needs every value: a node with a mean is never cut off.",
        "In tic-tac-toe (.XX/.../..O with O to move) the average is 13/15 = {game.value}, "
        "minimax {exact.value}: O is lost against the best play, but X may err.",
        "It is the persona average of an AI seat.",
    ),
    runs=(
        Run("Average", TRAP, Plan("average"), "mean"),
        Run("Minimax", TRAP, Plan("minimax"), "plain"),
        Run("Tic-tac-toe, average", O_IS_LOST, Plan("average", evaluator="zero"), "game", "none"),
        Run("Tic-tac-toe, minimax", O_IS_LOST, Plan("minimax", evaluator="zero"), "exact", "none"),
    ),
    compares=(0, 1),
    is_stored=True,
)

# --- max-n

THREE_PLAYERS = parse_tree("p1(a: p2(<0,0,5>, <3,1,0>), b: p3(<2,0,4>, <1,9,9>))", "Three players")

MAX_N = Lesson(
    title="Three players",
    summary="Several players: all against one, or each for themselves.",
    page="""With three players each end has three utilities. The cautious rule, called
paranoid, is minimax for player 1: all others are against player 1 and take the least for
player 1. It plays {all.plays} and is sure of {all.value}. Max-n assumes that each player
wants the most for themselves. It plays {own.plays} and expects {own.value}.""",
    look_for=(
        "After a, player 2 could hurt player 1 most with <0,0,5>. But player 2 wants 1 rather "
        "than 0, and chooses <3,1,0>.",
        "With two players and one utility the negative of the other, both rules are minimax.",
    ),
    runs=(
        Run("Everyone against player 1", THREE_PLAYERS, Plan("paranoid"), "all"),
        Run("Max-n", THREE_PLAYERS, Plan("max-n"), "own"),
    ),
    compares=(0, 1),
)

# --- scholars-mate

CHESS_START = AtPosition("chess", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1")
BEFORE_MATE = AtPosition(
    "chess", "r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq - 3 3"
)
WHITES_PLAN = "given:e2e4,e7e5,f1c4,b8c6,d1h5,g8f6,h5f7"

SCHOLARS_MATE = Lesson(
    title="Optimistic search and the scholar's mate",
    summary="A search that hopes for help finds a mate that nobody has to allow.",
    page="""An ordinary search, as for a way through a maze, looks for any path to a good
end. In chess it finds the scholar's mate: {hope.line}. White
mates with the fourth move, utility {hope.value}. But a game is no maze: after the
queen comes to h5 it is Black who moves, and Black need not play Nf6. Minimax for Black finds a
reply after which White has no mate: {black.written}.""",
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
            CHESS_START,
            Plan("optimistic", depth=7, evaluator="zero", order=WHITES_PLAN, plain_limit=0),
            "hope",
            "none",
        ),
        Run(
            "Minimax for Black, two plies",
            BEFORE_MATE,
            Plan("alphabeta", depth=2, evaluator="zero", order="given:g8f6", plain_limit=0),
            "black",
            "none",
        ),
    ),
)
