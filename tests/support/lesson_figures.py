"""What each lesson and each of its searches must show, by the founding texts and by arithmetic.

No number here comes from the teaching search. The visited and skipped nodes are those that the
worked examples state (tests/data/founding/numbers.toml has them too); the trees that the texts do
not have are searched by tests/oracle/plain_search.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.oracle.plain_search import Visits, in_order, tic_tac_toe, uniform_tree


@dataclass(frozen=True, slots=True)
class SearchFigures:
    """A search: the moves to its visited and its skipped nodes, in the order of the visits.

    None stands for what neither the texts nor arithmetic give. `values` has the numbers that nodes
    return, by the move that leads to them, and the root's under "".
    """

    nodes: int | None = None
    leaves: int | None = None
    visited: Sequence[str] | None = None
    skipped: Sequence[str] | None = None
    values: Mapping[str, float | str] = field(default_factory=dict)


def stated(
    visited: str, skipped: str = "", *, leaves: int | None = None, **values: float | str
) -> SearchFigures:
    """Returns the figures of a search whose visits a text states; `root` is the root's value."""
    moves = visited.split()
    named = {"" if name == "root" else name: value for name, value in values.items()}
    return SearchFigures(len(moves) + 1, leaves, moves, skipped.split(), named)


def searched(visits: Visits) -> SearchFigures:
    """Returns the figures of a search by the oracle."""
    count = len(visits.visited) + 1
    return SearchFigures(count, visits.leaves, visits.visited, visits.skipped, {"": visits.value})


def counted(nodes: int | None, root: float | str, leaves: int | None = None) -> SearchFigures:
    """Returns the figures of a search of which only sizes and the value are known."""
    return SearchFigures(nodes, leaves, values={"": root})


#: Row 4 of the founding texts.
EVERY_LEAF = stated("L L1 L2 R R1", "R2", leaves=3, root=10)
EVERY_LEAF_PLAIN = stated("L L1 L2 R R1 R2", leaves=4, root=10, L=10, R=3)
#: Row 1: 19 of 31 nodes and 8 of 16 leaves. Both forms visit the same nodes.
FOUR_LEVELS = "A C G G1 G2 H H1 H2 D I I1 I2 B E K K1 L L1"
NOT_VISITED = "J K2 L2 F"
SOFT = stated(
    FOUR_LEVELS, NOT_VISITED, leaves=8, root=10, G=10, H=9, C=10, I=14, D=14, A=10, E=5, B=5
)
HARD = stated(FOUR_LEVELS, NOT_VISITED, leaves=8, root=10, I=10, D=10, E=10, B=10)
FOUR_LEVELS_PLAIN = stated(
    "A C G G1 G2 H H1 H2 D I I1 I2 J J1 J2 B E K K1 K2 L L1 L2 F M M1 M2 N N1 N2",
    leaves=16, root=10, A=10, C=10, E=2, K=2, I=14,
)  # fmt: skip
#: Row 2, with the window from the root and with a fresh one for each of its moves.
STICKS = stated("1x1 2x1 2x1 1x1 2x2", "2x1", root=101)
STICKS_FRESH = stated("1x1 2x1 2x1 1x1 2x1 2x2", root=101)
#: Row 7: thirteen states.
SIGNS = "rock rock paper scissors paper rock paper scissors scissors rock paper scissors"
UNIFORM = uniform_tree(range(81), 3)
#: The tree of the lesson about the move order: leaf n has the value 37 n modulo 81.
MIXED = uniform_tree([37 * number % 81 for number in range(81)], 3)
SIX_EMPTY = tic_tac_toe(".XX.....O", "O", "O")
SIX_EMPTY_PLAIN = Visits.of(SIX_EMPTY, prunes=False)

#: The figures of each lesson's searches, in their order.
LESSON_FIGURES: Mapping[str, Sequence[SearchFigures]] = {
    "what-is-minimax": (FOUR_LEVELS_PLAIN,),
    # H_1 is 2, 4 and 5; H_2 the least of each pair; H_3 max(1, 3) = 3 under A1, and so on.
    "h0-and-hl": (
        stated("A B C", leaves=3, root=5, A=2, B=4, C=5),
        stated("A A1 A2 B B1 B2 C C1 C2", leaves=6, root=6, A=6, B=4, C=1),
        stated(
            "A A1 1 2 A2 1 2 B B1 1 2 B2 1 2 C C1 1 2 C2 1 2",
            leaves=12,
            root=6,
            A=3,
            B=6,
            C=5,
            A1=3,
            A2=8,
            B2=9,
        ),
    ),
    "utility-eval-cutoff": (
        stated("one two", leaves=2, root=30, one=12, two=30),
        stated("one one-10 one-50 one-25 two two-5 two-2 two-25", root=10, one=10, two=2),
    ),
    # Three empty cells; X wins at once by c1, O by c2 or c1.
    "pay-off": (
        stated("c1 c2 c1 b3 b3 c1 b3 c1 c2 c2", leaves=5, root=1),
        stated("c1 c2 c1 b3 b3 c1 b3 c1 c2 c2", leaves=5, root=-1),
    ),
    "every-leaf": (EVERY_LEAF, EVERY_LEAF_PLAIN),
    # Row 5: 7 of 9 nodes; friend two gives 2 if all coins are seen.
    "greedy-friends": (
        stated("one one-10 one-50 one-25 two two-5", "two-2 two-25", root=10, one=10),
        stated("one one-10 one-50 one-25 two two-5 two-2 two-25", root=10, one=10, two=2),
    ),
    # Row 6.
    "generous-friends": (
        stated("one one-5 one-2 one-25 two two-50", "two-10 two-20", root=25, one=25),
        stated("one one-5 one-2 one-25 two two-50 two-10 two-20", root=25, one=25, two=50),
    ),
    # Row 3, and its mirror image.
    "alpha-cut": (stated("C1 C2 D", "E F", root=20, C1=20, C2=15),),
    "beta-cut": (
        stated("C1 C2 D E F", root=20, C1=20, C2=25),
        stated("C1 C2 D", "E F", root=20, C1=20, C2=25),
    ),
    "four-level-tree": (SOFT, FOUR_LEVELS_PLAIN),
    "four-level-argument": (SOFT, FOUR_LEVELS_PLAIN),
    "fail-hard": (HARD, SOFT),
    # A window cuts off D at its first leaf, since MAX has 10; one bound is not handed down so far.
    "one-bound": (
        stated("A B C D D1 D2 D3 E", root=10),
        stated("A B C D D1 E", "D2 D3", root=10),
        stated("one one-10 one-50 one-25 two two-5 two-2", "two-25", root=10, one=10),
        stated("one one-10 one-50 one-25 two two-5", "two-2 two-25", root=10, one=10),
    ),
    # By negamax a value is the mover's: L is worth -10 to MIN.
    "negamax": (stated("L L1 L2 R R1 R2", root=10, L=-10), EVERY_LEAF_PLAIN, STICKS_FRESH),
    "template-method": (EVERY_LEAF, EVERY_LEAF),
    "alphabeta-classes": (HARD, SOFT),
    "static-functions": (SOFT, SOFT),
    "map": (EVERY_LEAF, EVERY_LEAF_PLAIN),
    "opaque-moves": (EVERY_LEAF, STICKS),
    "polymorphism": (EVERY_LEAF, EVERY_LEAF),
    "sticks": (STICKS, STICKS_FRESH),
    "meaning": (
        searched(Visits.of(tic_tac_toe("XX.OO....", "X", "X"), prunes=True)),
        searched(Visits.of(tic_tac_toe("X...O....", "X", "X"), prunes=True)),
        searched(Visits.of(tic_tac_toe("O.OX..X..", "X", "X"), prunes=True)),
    ),
    # Row 10: 18,297 nodes and 7,330 leaves; a draw.
    "tic-tac-toe": (counted(18_297, 0, leaves=7_330), searched(Visits.of(SIX_EMPTY, prunes=True))),
    # Row 10: B^L = 3^4 leaves.
    "branching": (
        searched(Visits.of(UNIFORM, prunes=True)),
        searched(Visits.of(UNIFORM, prunes=False)),
    ),
    # Row 10: with the best order 9 + 9 - 1 = 17 of 81 leaves.
    "move-order": (
        searched(Visits.of(in_order(MIXED, best_first=True), prunes=True)),
        searched(Visits.of(MIXED, prunes=True)),
        searched(Visits.of(in_order(MIXED, best_first=False), prunes=True)),
    ),
    # Four sticks, of which one or two are taken. The table knows the second state of one stick.
    "shared-states": (
        stated("take-1 take-1 take-1 take-1 take-2 take-2 take-1 take-2 take-1 take-2", root=1),
        stated(
            "take-1 take-1 take-1 take-1 take-2 take-2 take-1 take-2 take-1 take-1 take-2", root=1
        ),
        # The 16,167 moves of the 5,478 states, each searched once, and the root.
        counted(16_168, 0),
    ),
    "deepening": (SearchFigures(),),
    # Row 9: 3 - 2 = 1 and 16 - 19 = -3.
    "evaluation": (
        stated("A B C", root=1, B=1),
        stated("A B C", root=5, B=-3),
        stated("A B C"),
        counted(1, -3),
        # One of five empty cells is filled: three crosses against two noughts.
        counted(6, 1),
    ),
    # The numbers of positions after one, two and three plies are 14, 66 and 1,020 (python-chess).
    "horizon": (counted(1 + 14, 4, 14), counted(1 + 14 + 66, 3, 66), counted(1101, 4, 1020)),
    # The search after the capture has its two replies more.
    "quiescence": (counted(1 + 14, 4, 14), counted(1 + 14 + 2, 3), counted(1 + 14 + 66, 3, 66)),
    "bug-minimax": (FOUR_LEVELS_PLAIN,),
    "bug-negamax": (replace(FOUR_LEVELS_PLAIN, values={"": 10, "A": -10, "C": 10, "G": -10}),),
    "bug-player": (FOUR_LEVELS_PLAIN,),
    "bug-end-test": (SOFT,),
    "bug-parity": (
        stated(
            "A A1 1 2 A2 1 2 B B1 1 2 B2 1 2 C C1 1 2 C2 1 2",
            leaves=12,
            root=6,
            A=3,
            B=6,
            C=5,
        ),
    ),
    # The means of 10 and 9, of 14 and 13 below the MAX nodes, and so on: see founding row 11.
    "bug-average": (replace(FOUR_LEVELS_PLAIN, values={"": 12.5}),),
    "bug-twice": (FOUR_LEVELS_PLAIN,),
    "bug-game-over": (stated("A B C D D1 D2 D3 E", leaves=5, root=10, B=6, C=6, D=5),),
    "rock-paper-scissors": (
        stated(SIGNS, root=-1, leaves=9),
        stated(SIGNS, root=-1, leaves=9),
        stated(SIGNS, root="⟨-1, 1⟩", leaves=9),
    ),
    # Row 11: 13/15. The mean of 1, 12 and 8 is 7.
    "average": (
        stated("safe 1 2 3 trap 1 2 3", root=7, safe=3, trap=7),
        stated("safe 1 2 3 trap 1 2 3", root=2, safe=2, trap=1),
        counted(len(SIX_EMPTY_PLAIN.visited) + 1, 0.867, SIX_EMPTY_PLAIN.leaves),
        searched(SIX_EMPTY_PLAIN),
    ),
    # Row 12.
    "max-n": (stated("a 1 2 b 1 2", root=1), stated("a 1 2 b 1 2", root="⟨3, 1, 0⟩")),
    # Row 8: the scholar's mate, in White's four moves.
    "scholars-mate": (
        replace(stated("e2e4 e7e5 f1c4 b8c6 d1h5 g8f6 h5f7", root=1, leaves=1), skipped=None),
        counted(None, 0),
    ),
}

#: Parts of each lesson's page: the numbers of the worked example.
LESSON_TEXTS: Mapping[str, Sequence[str]] = {
    "what-is-minimax": (
        "G is the least of 10 and 11: 10. H is 9, C the greatest of both: 10.",
        "In the end A is 10 and B 2: the computer plays A.",
        "The leaf 10 in the lower left is what the computer can be sure of: by A C G G1 it gets 10",
        "31 nodes, 16 leaves",
    ),
    "h0-and-hl": (
        "H_1 plays C (5), H_2 A (6), H_3 B (6)",
        "C MIN = 1: C1 ~ 1, C2 ~ 3",
        "B^L leaves",
    ),
    "utility-eval-cutoff": ("EVAL likes friend two (30)", "U decides: 10 and 2.", "one ~ 12"),
    "pay-off": ("the root is MAX, worth 1.", "the same root is MIN, worth -1.", "c1 wins"),
    "four-level-argument": (
        "C is 10, so A, a MIN node, is 10 or less. I is 14, so D, a MAX node, is 14 or more",
        "J cannot lower A below 10, nor raise it.",
        "K is 5 at most after its first leaf, L 4 at most. So E is at most 5, and B too",
        "E comes back as 5 with pruning and as 2 without. The root is 10 either way",
        "19 of 31 nodes, 8 of 16 leaves",
    ),
    "opaque-moves": ("6 of 7 nodes", "2x1 MIN <= -1: 1x1 = -1", "Check your answers with --quiz."),
    "polymorphism": ("Design 3, by functions: 6 of 7 nodes", "Check your answers with --quiz."),
    "bug-minimax": ("gives 15 for the four-level tree and 50 for the greedy friends",),
    "bug-negamax": ("gives 10 for the four-level tree and 10 for", "return best_value»"),
    "bug-player": ("gives 15 for the four-level tree and 50 for", "where 10 is right"),
    "bug-end-test": ("gives -inf for the four-level tree after 13 nodes and -inf for",),
    "bug-parity": ("gives 10 for the greedy friends", "it gives 2 instead of 6"),
    "bug-average": ("gives 12.5 for the four-level tree", "H_mean(q, «L - 1»)"),
    "bug-twice": ("for the 31 nodes of the four-level tree it makes 143 visits", "friends 21."),
    "bug-game-over": ("does not run: it asks for the moves of a finished game", "finds 10."),
    "every-leaf": ("R is worth at most 3", "6 of 7 nodes", "the value of the root is 10"),
    "greedy-friends": ("7 of 9 nodes", "10 >= 5; skipped: two-2, two-25", "in truth it is 2."),
    "generous-friends": ("Friend one gives 25", "alpha to 50", "cut-off, 50 >= 25"),
    "alpha-cut": ("C1 is worth 20", "C2 is worth at most 15", "cut-off, 20 >= 15; skipped: E, F"),
    "beta-cut": ("C2 MAX = ?: D = 25, E = 10, F = 5", "--quiz"),
    "four-level-tree": (
        "19 of 31 nodes, 8 of 16 leaves",
        "cut, 14 >= 10: skips J (and 2 below)",
        "K MIN <= 5: K1 = 5; cut, 10 >= 5: skips K2",
        "cut, 10 >= 5: skips F (and 6 below)",
        "E returns 5, a bound; in truth it is 2.",
        "Plain minimax: MAX = 10, plays A",
    ),
    "fail-hard": (
        "I = 14, D = 14, E = 5, B = 5",
        "I = 10, D = 10, E = 10, B = 10",
        "Fail-hard: 19 of 31 nodes",
        "Fail-soft: MAX = 10, plays A; 19 of 31 nodes",
    ),
    "one-bound": (
        "A window takes 7 nodes, one bound 9, plain minimax 9. All find 10.",
        "the slide 8 and 31, with a test after every child (one-bound-early) 7 and 21",
        "in the prose of 001, which cuts at an equal value too (parent-bound): 7 and 21",
    ),
    "negamax": ("the opponent has -101, not -1", "worth 1 to MIN, not 101", "so -10 to MIN"),
    "template-method": (
        "worst score -inf, MinNode with inf",
        "is -1 at a MaxNode and 101 at a MinNode",
        "MaxNode makes a MinNode, that of MinNode a MaxNode",
    ),
    "alphabeta-classes": ("E is 10 here, and 5", "same 19 of 31 nodes", "D and I are 10 and 10"),
    "static-functions": ("19 and 19 nodes", "differ in min_value"),
    "map": (
        "drawn, ongoing, won, lost",
        "the accumulator of MAX ends with 30 and the move c.",
        "alpha 10, beta 3",
        "is our depth 4",
    ),
    "sticks": ("7 nodes, not 6", "2x1 <= -1: root in [-1, inf)", "MAX = 101, plays 2x2"),
    "meaning": ("U(X) = 1, U(O) = -1", "U(White) = 1 and U(Black) = -1", "In the third -1"),
    "tic-tac-toe": ("19,683", "5,478", "18,297 nodes, 7,330", "549,946"),
    "branching": ("3^4 = 81", "10^40", "19,683", "5,478", "17 = B^(L/2)"),
    "move-order": ("81 leaves", "9 + 9 - 1 = 17", "17, 43 or 77"),
    "shared-states": ("5,478 states", "549,946", "8 states and 10 transitions", "12 nodes"),
    "deepening": ("5, 15, 60, 94 and 228 nodes: 402", "takes 583"),
    "evaluation": ("3 - 2 = 1", "16 - 19 = -3", "a real chess board: -3"),
    "horizon": (
        "Depth 1 promises 4, and depth 2 promises 3",
        "plays a1a6 (Rxa6+)",
        "plays a1b1 (Rb1)",
    ),
    "quiescence": ("visits 17 nodes instead of 81", "the rook is lost: -1"),
    "rock-paper-scissors": ("13 states", "-1, -1 and -1, then -1, -1 and -20", "<-1, 15>"),
    "average": ("13/15 = 0.866667", "minimax -1"),
    "max-n": ("plays b and is sure of 1", "plays a and expects <3, 1, 0>"),
    "scholars-mate": ("e4 e5 Bc4 Nc6 Qh5 Nf6 Qxf7#", "utility 1", "g7g6 (g6)"),
}
