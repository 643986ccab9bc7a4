"""Rock, paper, scissors by turns: private utilities, and a utility for each player."""

from engine.teach.explain import Plan
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.trace import Value
from engine.teach.tree import Node, Tree, check_tree

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
    page="""We show our sign first, then the other player answers. The game has thirteen states:
the empty table, three after our sign, and nine after both signs. With 1 for a win and -1 for a
loss, every first sign loses, because there is an answer to each. Utilities may be other numbers,
though. In the second search we are proud of our scissors: cutting paper with them is worth 15, but
having them smashed by a rock is worth -20. In the third search the other player has the same
feelings. Every final state then has two utilities, and each player maximizes their own. This is
max-n: minimax for any number of players.""",
    look_for=(
        "Plain utilities: rock, paper and scissors are worth -1 each, and the search plays "
        "rock, the first of equal moves.",
        "Private utilities: rock and paper are worth -1, scissors -20. The search plays rock.",
        "Max-n: the other player answers rock with paper, but would rather answer paper with "
        "scissors, for 15.",
    ),
    runs=(
        Run("Plain utilities", PLAIN, Plan("minimax")),
        Run("Private utilities", PRIVATE, Plan("minimax")),
        Run("A utility for each player, by max-n", BOTH, Plan("minimax")),
    ),
)
