"""Rock, paper, scissors by turns: private utilities, and a utility for each player."""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.states.tree import Node, Tree, check_tree, walk
from engine.teach.trace import Value

SIGNS = ("rock", "paper", "scissors")
BEATS = {"rock": "scissors", "paper": "rock", "scissors": "paper"}


def plain(mine: str, theirs: str) -> int:
    """Returns 1 for a win, -1 for a loss, 0 for a tie."""
    if mine == theirs:
        return 0
    return 1 if BEATS[mine] == theirs else -1


def private(mine: str, theirs: str) -> int:
    """Returns the utility for a player who is proud of their scissors.

    Cutting paper with them is worth 15, having them smashed by a rock is worth -20.
    """
    if mine == "scissors":
        return {"rock": -20, "paper": 15, "scissors": 0}[theirs]
    return plain(mine, theirs)


def for_both(mine: str, theirs: str) -> Value:
    """Returns the private utility of each player, ours first."""
    return private(mine, theirs), private(theirs, mine)


def states(first: str, second: str, utility: dict[tuple[str, str], Value]) -> Tree:
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
PLAIN = states("max", "min", {pair: plain(*pair) for pair in PAIRS})
PRIVATE = states("max", "min", {pair: private(*pair) for pair in PAIRS})
BOTH = states("p1", "p2", {pair: for_both(*pair) for pair in PAIRS})

LESSON = Lesson(
    title="Rock, paper, scissors by turns",
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
        Run("Plain utilities", PLAIN, Plan("minimax"), "plain"),
        Run("Private utilities", PRIVATE, Plan("minimax"), "private"),
        Run("Utilities for both, by max-n", BOTH, Plan("minimax"), "both", "none"),
    ),
    facts=lambda: {"states": sum(1 for _ in walk(PLAIN.root))},
)
