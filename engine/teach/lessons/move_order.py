"""Move order: the same tree, the same value, and between 17 and 81 leaves to look at."""

from engine.teach.explain import Plan
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.tree import Tree, check_tree, uniform

LEAVES = tuple(37 * number % 81 for number in range(81))
TREE = check_tree(Tree(uniform(("max", "min", "max", "min"), 3, LEAVES), "Move order"))

LESSON = Lesson(
    title="Move order",
    page="""How much alpha-beta can skip depends on the order in which it looks at the moves: a good move at first
makes a narrow window for all the others. With the best move first at every node, a tree of depth d in which every
node has b children takes b^ceil(d/2) + b^floor(d/2) - 1 leaves, as Knuth and Moore found: about as many as a plain
search of half the depth. This tree has three moves at every node and four plies: 81 leaves, of which 9 + 9 - 1 = 17
have to be looked at.""",
    look_at=(
        "The value and the count of plain minimax are the same in all three searches; the leaves looked at are not.",
        "Best first takes exactly 17 leaves. To know the best move one has to search, which is counted apart: "
        "real programs sort by a search that is less deep, or by what was good elsewhere.",
    ),
    runs=(
        Run("Best move first", TREE, Plan("alphabeta", order="best")),
        Run("In the order of the tree", TREE, Plan("alphabeta")),
        Run("Worst move first", TREE, Plan("alphabeta", order="worst")),
    ),
)
