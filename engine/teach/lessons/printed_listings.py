"""Find the bug: the printed listings, each with the fault that a reader looks for.

The listings, their faults and what they give are those of `listings`. The searches are the right
ones, to step through beside the wrong value. Nothing is blamed: lectures have typing errors.
"""

from collections.abc import Callable, Mapping

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.designs import DEEP_CUT
from engine.teach.lessons.first_cutoffs import FOUR_LEVELS, GREEDY_TREE
from engine.teach.lessons.lesson import BugHunt, Lesson, Run
from engine.teach.lessons.listings import LISTINGS, listing_lines, run_listing
from engine.teach.lessons.minimax import LOOK_AHEAD
from engine.teach.states.tree import Tree


def results(listing: str, tree: Tree) -> Callable[[], Mapping[str, object]]:
    """Returns the facts of a lesson: what a listing gives on a tree, and in how many visits."""

    def facts() -> Mapping[str, object]:
        found = run_listing(LISTINGS[listing], tree)
        friends = run_listing(LISTINGS[listing], GREEDY_TREE)
        return {
            "typed": found.error or found.value,
            "visits": found.visits,
            "friends": friends.error or friends.value,
            "friends_visits": friends.visits,
        }

    return facts


def hunt(name: str, page: str, hint: str, run: Run, listing: str, tree: Tree) -> Lesson:
    """Returns the lesson about the fault of a listing."""
    printed = LISTINGS[listing]
    return Lesson(
        title=f"Find the bug: {name}",
        summary=f"An exercise: {printed.title} as printed, and what comes out.",
        page=page,
        look_for=(hint,),
        solution=(printed.fault, printed.correction),
        commands=("Check your answer with --quiz. The solution: --log none.",),
        runs=(run,),
        facts=results(listing, tree),
        exercise=BugHunt(
            "One line is at fault. Which one? What is grey was added, so that it runs.",
            listing_lines(printed),
            f"{printed.fault} {printed.correction}",
        ),
    )


def searched(tree: Tree, algorithm: str, title: str) -> Run:
    """Returns the right search beside a listing."""
    return Run(f"What is right: {title}", tree, Plan(algorithm), "right", "none")


BUG_MINIMAX = hunt(
    "minimax",
    """Typed as it stands in 002, this minimax gives {typed} for the four-level tree and {friends}
for the greedy friends. Both are worth {right.value} to MAX. It visits every node, as it should.
Step through the right search and ask at each node: who moves here, and who moves here by
the listing?""",
    "15 is the greatest of all leaves, and so is 50 among the coins. Who never moves?",
    searched(FOUR_LEVELS, "minimax", "minimax"),
    "minimax",
    FOUR_LEVELS,
)

BUG_NEGAMAX = hunt(
    "negamax",
    """Typed as it stands in 002, this negamax gives nothing at all. With one more line it gives
{typed} for the four-level tree and {friends} for the greedy friends, as it should. Even then it
needs trees in which MAX and MIN take turns at every level: where a side moves twice, its values
have the wrong sign.""",
    "What does a call return, and to whom? And whose score is a value after two moves of one side?",
    searched(FOUR_LEVELS, "negamax", "negamax"),
    "negamax",
    FOUR_LEVELS,
)

BUG_PLAYER = hunt(
    "MINIMAX for a player",
    """Rule (12) of 004 has a player p whose view the values are: where p moves, the greatest
counts, where another moves, the least. Typed as it stands it gives {typed} for the four-level
tree and {friends} for the greedy friends, where {right.value} is right.""",
    "Follow p from the root to a leaf. Whose view does each call take?",
    searched(FOUR_LEVELS, "minimax", "minimax"),
    "player",
    FOUR_LEVELS,
)

BUG_END_TEST = hunt(
    "ALPHABETA",
    """Rule (23) of 004 prunes rule (12). Typed as it stands it gives {typed} for the four-level
tree after {visits} nodes and {friends} for the greedy friends, where {right.value} is right. Yet
its loops are right, and so are both of its cut-offs.""",
    "What does a call return at a leaf, which has no moves?",
    searched(FOUR_LEVELS, "fail-soft", "fail-soft"),
    "end-test",
    FOUR_LEVELS,
)

BUG_PARITY = hunt(
    "H_L",
    """H_L of 003 takes the greatest value at the levels of one side and the least at those of the
other. Typed as it stands it gives {friends} for the greedy friends, which is right. For the tree
below, with three levels of moves, it gives {typed} instead of {right.value}.""",
    "Which L has the root here, and which had it in the tree of the friends?",
    searched(LOOK_AHEAD, "minimax", "H_3"),
    "parity",
    LOOK_AHEAD,
)

BUG_AVERAGE = hunt(
    "average H_L",
    """The average of 003 takes our best move and the mean of the opponent's replies. Typed as it
stands it does not run at all: a call has too few arguments. With the grey one it gives {typed} for
the four-level tree, as the search below does.""",
    "How deep is a call to look, and how does it know?",
    searched(FOUR_LEVELS, "average", "average min-max"),
    "average",
    FOUR_LEVELS,
)

BUG_TWICE = hunt(
    "the loop of H_L",
    """The value of this loop of 003 is right: {typed}. But for the {right.nodes} nodes of the
four-level tree it makes {visits} visits, and for the 9 nodes of the greedy friends
{friends_visits}. The work grows exponentially with the depth. The loop with one bound does the
same.""",
    "How often is the second child of a node searched, and what for?",
    searched(FOUR_LEVELS, "minimax", "minimax"),
    "twice",
    FOUR_LEVELS,
)

BUG_GAME_OVER = hunt(
    "the end of the game",
    """The listings of 003 find {friends} for the greedy friends, as they should. In the tree below
one line of play is shorter than the others: after the move A the game is over. There the
listing {typed}. The right search finds {right.value}.""",
    "Which question does the first line ask, and which one is never asked?",
    searched(DEEP_CUT, "minimax", "minimax"),
    "game-over",
    DEEP_CUT,
)
