"""Rock, paper, scissors by turns: utilities other than won and lost, and one for each player."""

from engine.teach.explain import Plan
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.trace import Value
from engine.teach.tree import Node, Tree, check_tree

SIGNS = ("rock", "paper", "scissors")
BEATS = {"rock": "scissors", "paper": "rock", "scissors": "paper"}


def plain(mine: str, theirs: str) -> int:
    """1 for a win, -1 for a loss, 0 for a tie."""
    if mine == theirs:
        return 0
    return 1 if BEATS[mine] == theirs else -1


def private(mine: str, theirs: str) -> int:
    """We are proud of our scissors: to cut paper with them is worth 15, to have them smashed by a
    rock costs 20.
    """
    if mine == "scissors":
        return {"rock": -20, "paper": 15, "scissors": 0}[theirs]
    return plain(mine, theirs)


def for_both(mine: str, theirs: str) -> Value:
    """Each player has a private utility, ours first."""
    return private(mine, theirs), private(theirs, mine)


def states(first: str, second: str, utility: dict[tuple[str, str], Value]) -> Tree:
    """The thirteen states: the empty table, three after our sign, nine after both."""
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
    page="""We show our sign first, then the other player answers. That game has thirteen states: the empty table,
three after our sign, nine after both. With 1 for a win and -1 for a loss, every first sign loses: there is an
answer to each. Utilities may be anything else, though. In the second search we are proud of our scissors: cutting
paper with them is worth 15, but to have them smashed by a rock is worth -20. In the third each player has such
feelings, so every state has two utilities, and whoever chooses looks at their own: max-n, minimax for any number of
players.""",
    look_at=(
        "Plain: rock, paper and scissors are worth -1 each, and the first of equals, rock, is played.",
        "Private: rock and paper are worth -1, scissors -20. Rock it is.",
        "Max-n: the other player answers rock with paper, and would rather cut paper with their scissors for 15.",
    ),
    runs=(
        Run("Plain utilities", PLAIN, Plan("minimax")),
        Run("Private utilities", PRIVATE, Plan("minimax")),
        Run("A utility for each player, by max-n", BOTH, Plan("minimax")),
    ),
)
