"""The printed listings as a student types them, with the least that lets them run.

Each listing is a function, and what the page shows is its source. A comment marks what was added
(`#+` at the end of a line, `missing(…)` around an argument) and the line at fault (`#!`). They run
on trees of MAX and MIN nodes, and count their visits: an exponential one is stopped.

The names are those of the texts: U, EVAL, CUTOFF and p(q) of the fifth, H0 and H of the fourth.
"""

import functools
import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec

from msgspec import Struct

from engine.teach.algorithms.explain import Plan, explain
from engine.teach.errors import NotPossible
from engine.teach.lessons.designs import DEEP_CUT
from engine.teach.lessons.first_cutoffs import FOUR_LEVELS, GREEDY_TREE
from engine.teach.lessons.lesson import ListingLine
from engine.teach.lessons.minimax import LOOK_AHEAD
from engine.teach.states.state import TreeState
from engine.teach.states.tree import Node, Tree, value_of, walk
from engine.teach.states.tree_text import format_tree, parse_tree
from engine.teach.trace import Number, finite

INF = math.inf
#: Maximum number of nodes of a reader's tree.
MAX_TREE_NODES = 200
#: Maximum number of visits of a run: the listings that search a child again need the most.
MAX_VISITS = 100_000
#: An argument that a listing lacks.
MISSING = re.compile(r"\*missing\(([^()]*)\)")
#: The types and the notes for tools in the first line of a listing, which the page leaves out.
TYPES = re.compile(r": (?:Place|bool|int|str|float)(?: \| None)?| -> \w+|  # noqa.*")


#: The arguments of a listing after its position.
Rest = ParamSpec("Rest")


class TooManyVisits(Exception):
    """A run visited more nodes than MAX_VISITS."""


@dataclass(slots=True)
class Tally:
    """The visits of a run: all of them, and the different nodes among them."""

    visits: int = 0
    nodes: set[tuple[int, ...]] = field(default_factory=set)

    def visit(self, path: tuple[int, ...]) -> None:
        """Counts a visit; raises TooManyVisits."""
        self.visits += 1
        self.nodes.add(path)
        if self.visits > MAX_VISITS:
            raise TooManyVisits


@dataclass(frozen=True, slots=True)
class Place:
    """A position: a node of a tree, who is to move there, and the path to it."""

    node: Node
    side: str
    tally: Tally
    path: tuple[int, ...] = ()


# --- what the listings call


def counted(
    listing: Callable[Concatenate[Place, Rest], Number],
) -> Callable[Concatenate[Place, Rest], Number]:
    """Counts each call of a listing as a visit of its position."""

    @functools.wraps(listing)
    def call(q: Place, /, *rest: Rest.args, **named: Rest.kwargs) -> Number:
        q.tally.visit(q.path)
        return listing(q, *rest, **named)

    return call


def missing(argument: Any) -> tuple[Any, ...]:
    """Returns an argument that the printed call lacks."""
    return (argument,)


def successors(q: Place) -> list[Place]:
    """Returns the positions after the moves; whose side a leaf has no text says: it alternates."""
    other = "min" if q.side == "max" else "max"
    return [
        Place(child, child.kind or other, q.tally, (*q.path, number))
        for number, child in enumerate(q.node.branches())
    ]


def is_final(q: Place) -> bool:
    """Returns whether the game is over."""
    return not q.node.children


def U(q: Place) -> Number:
    """Returns the utility of a final state for MAX."""
    value = value_of(q.node.utility)
    assert isinstance(value, int | float)
    return value


def H0(q: Place) -> Number:
    """Returns the utility of a final state, and the estimate of any other (0 without one)."""
    if is_final(q):
        return U(q)
    value = value_of(q.node.estimate)
    return value if isinstance(value, int | float) else 0


def p(q: Place) -> str:
    """Returns the player to move."""
    return q.side


# --- the listings


@counted
def minimax(p: Place, is_max: bool) -> Number:
    if is_final(p):
        return U(p)
    best_value = -INF if is_max else INF
    for q in successors(p):
        value = minimax(q, is_max)  #!
        if is_max:
            best_value = max(best_value, value)
        else:
            best_value = min(best_value, value)
    return best_value  # +


@counted
def negamax(p: Place) -> Number:
    if is_final(p):
        return U(p) if p.side == "max" else -U(p)
    best_value = -INF
    for q in successors(p):
        value = -negamax(q)
        best_value = max(best_value, value)
    return best_value  # +!


@counted
def MINIMAX(q: Place, player: str) -> Number:
    if is_final(q):
        return U(q)
    values = [MINIMAX(q1, p(q1)) for q1 in successors(q)]  #!
    if p(q) == player:
        return max(values)
    else:
        return min(values)


@counted
def ALPHABETA(q: Place, alpha: float, beta: float) -> Number:
    if CUTOFF(q):  #!
        return H0(q)
    value = -INF if p(q) == "max" else INF
    for q1 in successors(q):
        if alpha >= beta:
            break
        below = ALPHABETA(q1, alpha, beta)
        if p(q) == "max":
            value = max(value, below)
            alpha = max(alpha, value)
        else:
            value = min(value, below)
            beta = min(beta, value)
    return value


def CUTOFF(q: Place) -> bool:
    """Returns whether the search stops: never, since it goes to the end of a small tree."""
    return False


@counted
def H(p: Place, L: int) -> Number:
    if L == 0:
        return H0(p)
    values = [H(q, L - 1) for q in successors(p)]
    if L % 2 == 0:  #!
        return max(values)
    else:
        return min(values)


@counted
def H_mean(p: Place, L: int) -> Number:
    if L == 0:
        return H0(p)
    values = [H_mean(q, *missing(L - 1)) for q in successors(p)]  #!
    if p.side == "max":
        return max(values)
    else:
        return sum(values) / len(values)


@counted
def H_loop(p: Place, L: int) -> Number:
    if L == 0:
        return H0(p)
    first, *others = successors(p)
    best = H_loop(first, L - 1)
    for q in others:
        if H_loop(q, L - 1) > best and p.side == "max":  #!
            best = H_loop(q, L - 1)
        if H_loop(q, L - 1) < best and p.side == "min":  #!
            best = H_loop(q, L - 1)
    return best


@counted
def H_bound(p: Place, L: int, bound: float | None) -> Number:
    if L == 0:
        return H0(p)
    first, *others = successors(p)
    best = H_bound(first, L - 1, *missing(None))
    for q in others:
        if H_bound(q, L - 1, best) > best and p.side == "max":  #!
            best = H_bound(q, L - 1, best)
        if H_bound(q, L - 1, best) < best and p.side == "min":  #!
            best = H_bound(q, L - 1, best)
        if bound is not None and p.side == "max" and best > bound:
            break
        if bound is not None and p.side == "min" and best < bound:
            break
    return best


@counted
def H_endless(p: Place, L: int) -> Number:
    if L == 0:  #!
        return H0(p)
    values = [H_endless(q, L - 1) for q in successors(p)]
    if p.side == "max":
        return max(values)
    else:
        return min(values)


# --- what is wrong with them


@dataclass(frozen=True, slots=True)
class Listing:
    """A printed listing: the text that has it, the fault, and what to write instead.

    `start` calls it for a root and the levels of its tree. `plan` is the right search beside it,
    and `lesson` the exercise to find the fault.
    """

    name: str
    text: str
    title: str
    function: Callable[..., Any]
    start: Callable[[Place, int], Number]
    plan: Plan
    lesson: str
    fault: str
    correction: str


LISTINGS: dict[str, Listing] = {
    listing.name: listing
    for listing in (
        Listing(
            "minimax", "002", "minimax(p, is_max)", minimax,
            lambda root, _: minimax(root, True), Plan("minimax"), "bug-minimax",
            "is_max is handed on unchanged, so the side of the root moves at every level.",
            "Hand on not is_max, or better ask the position who moves; and return best_value.",
        ),
        Listing(
            "negamax", "002", "negamax(p)", negamax,
            lambda root, _: negamax(root), Plan("negamax"), "bug-negamax",
            "The last line is missing, so that the function returns nothing. It is right only "
            "where the sides take turns at every level.",
            "Return best_value; negate only where the other side moves next.",
        ),
        Listing(
            "player", "004 (12)", "MINIMAX(q, p)", MINIMAX,
            lambda root, _: MINIMAX(root, p(root)), Plan("minimax"), "bug-player",
            "It hands on p(q'), the player of the successor, where p is meant: then p(q) = p at "
            "every level, and every level takes the greatest value.",
            "Hand on p unchanged: it is the player whose view the values are.",
        ),
        Listing(
            "end-test", "004 (23)", "ALPHABETA(q, alpha, beta)", ALPHABETA,
            lambda root, _: ALPHABETA(root, -INF, INF), Plan("fail-soft"), "bug-end-test",
            "The test of (12) whether q is final is gone. At a final state there are no moves, so "
            "the first value stays: -inf where MAX would move, inf where MIN would.",
            "Ask for the end first and return its utility; then ask CUTOFF.",
        ),
        Listing(
            "parity", "003", "H_L", H,
            lambda root, levels: H(root, levels), Plan("minimax"), "bug-parity",
            "The parity of L is counted from the bottom: with an odd look-ahead the opponent's "
            "levels take the greatest value.",
            "Sides belong to positions, not to depths: ask the position who moves.",
        ),
        Listing(
            "average", "003", "average H_L", H_mean,
            lambda root, levels: H_mean(root, levels), Plan("average"), "bug-average",
            "The call lacks L - 1, so the listing does not run.",
            "Hand on L - 1: the move is the argmax of H at L - 1.",
        ),
        Listing(
            "twice", "003", "the loop of H_L", H_loop,
            lambda root, levels: H_loop(root, levels), Plan("minimax"), "bug-twice",
            "H_L stands in both conditions: each later child is searched twice, and one that "
            "improves three times. The value is right, the work exponential.",
            "Evaluate each child once, and keep its value.",
        ),
        Listing(
            "bound-twice", "003", "the loop with one bound", H_bound,
            lambda root, levels: H_bound(root, levels, None), Plan("one-bound"), "bug-twice",
            "The same loop with a bound; the call for the first child lacks its third argument.",
            "Evaluate once; a missing bound means that there is none.",
        ),
        Listing(
            "game-over", "003", "all listings", H_endless,
            lambda root, levels: H_endless(root, levels), Plan("minimax"), "bug-game-over",
            "No listing asks whether the game is over before L is used up: the greatest of no "
            "values, the first of no moves. They run on trees of one depth only.",
            "Ask for the end first.",
        ),
    )
}  # fmt: skip
#: What the texts themselves say wrongly or in two ways: the text, the place, what is right, and the
#: lesson that shows it.
REMARKS = (
    (
        "000",
        'E is 5 in the text and 10 by its own code: "ever greater than beta" prunes later than the '
        "code's >=, and a returned alpha or beta may lie above or below the true score.",
        "Both are right, as two forms: fail-soft returns 5, fail-hard 10.",
        "fail-hard",
    ),
    (
        "000",
        "The best move order is said to open as many leaves as a plain search of a tree of double "
        "its depth.",
        "The other way round: about as many as a plain search of half the depth, "
        "B^ceil(L/2) + B^floor(L/2) - 1.",
        "move-order",
    ),
)
#: The trees of the page: those of the documents, one of odd depth and one of unequal depth.
TREES = {
    "Four-level tree": FOUR_LEVELS,
    "Greedy friends": GREEDY_TREE,
    "Three levels": LOOK_AHEAD,
    "Unequal lines": DEEP_CUT,
}


class ListingResult(Struct, frozen=True):
    """What a listing gives on a tree, beside what is right; with an error there is no value."""

    value: object
    visits: int
    error: str
    right_value: object
    right_visits: int


def listing_lines(listing: Listing) -> tuple[ListingLine, ...]:
    """Returns the source of a listing as it is shown."""
    source = inspect.getsource(inspect.unwrap(listing.function)).splitlines()
    lines = [line for line in source if not line.startswith("@")]
    lines[0] = TYPES.sub("", lines[0]).rstrip()
    return tuple(map(_line, lines))


def _line(line: str) -> ListingLine:
    """A line of the source without its marks."""
    code, _, marks = line.partition("  #")
    if "+" in marks:
        return ListingLine(((code, True),), "!" in marks)
    parts: list[tuple[str, bool]] = []
    for index, part in enumerate(MISSING.split(code)):
        if part:
            parts.append((part, index % 2 == 1))
    return ListingLine(tuple(parts), "!" in marks)


def run_listing(listing: Listing, tree: Tree) -> ListingResult:
    """Runs a listing on a tree, and the right search beside it.

    Raises NotPossible for a tree on which the listings cannot be run.
    """
    check_listing_tree(tree)
    root = TreeState.at_root(tree)
    right = explain(root, listing.plan)
    levels = max(level for level, _, _ in walk(tree.root))
    tally, value, error = Tally(), None, ""
    try:
        value = listing.start(Place(tree.root, "max", tally), levels)
    except TooManyVisits:
        error = f"more than {MAX_VISITS:,} visits"
    except (ValueError, ZeroDivisionError):
        error = "does not run: it asks for the moves of a finished game"
    return ListingResult(
        finite(value), tally.visits, error, finite(right.value), right.counts.nodes
    )


def check_listing_tree(tree: Tree) -> None:
    """Raises NotPossible unless the listings can be run on the tree.

    They need at most 200 nodes, MAX at the root, MAX and MIN only, and a utility at each leaf.
    """
    if tree.root.kind != "max":
        raise NotPossible("the listings begin at a node of MAX")
    for count, (_, _, node) in enumerate(walk(tree.root), 1):
        if count > MAX_TREE_NODES:
            raise NotPossible(f"a tree for the listings has at most {MAX_TREE_NODES} nodes")
        if node.children and node.kind not in ("max", "min"):
            raise NotPossible(f"the listings have MAX and MIN only, not {node.kind}")
        if not node.children and not isinstance(value_of(node.utility), int | float):
            raise NotPossible("each leaf needs one number")


def listings_document(text: str | None = None) -> dict[str, Any]:
    """Returns the listings with their results on the trees of the page, as JSON values.

    With the text of a reader's tree only the results on it. Raises TreeError and NotPossible.
    """
    if text is not None:
        tree = parse_tree(text, "Your tree")
        return {"results": {name: run_listing(each, tree) for name, each in LISTINGS.items()}}
    return {
        "listings": [
            {
                "name": each.name,
                "text": each.text,
                "title": each.title,
                "lesson": each.lesson,
                "fault": each.fault,
                "correction": each.correction,
                "lines": listing_lines(each),
                "results": [run_listing(each, tree) for tree in TREES.values()],
            }
            for each in LISTINGS.values()
        ],
        "trees": [{"title": title, "tree": format_tree(tree)} for title, tree in TREES.items()],
        "remarks": [
            {"text": text, "says": says, "right": right, "lesson": lesson}
            for text, says, right, lesson in REMARKS
        ],
    }
