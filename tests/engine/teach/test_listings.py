"""The printed listings as they are typed: their values and visits, and the marks of their lines."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from engine.teach.errors import NotPossible, TreeError
from engine.teach.lessons import listings
from engine.teach.lessons.catalogue import LESSONS, load_lesson
from engine.teach.lessons.lesson import BugHunt, numbered_lines
from engine.teach.lessons.listings import (
    MAX_TREE_NODES,
    MAX_VISITS,
    REMARKS,
    TREES,
    Listing,
    listing_lines,
    listings_document,
    run_listing,
)
from engine.teach.lessons.quiz import ask_line
from engine.teach.output.stepping import Screen
from engine.teach.states.tree import Node, Tree, walk
from tests.oracle import as_typed

#: The oracle of each listing: a function of a tree and its number of levels.
ORACLES: dict[str, Callable[[Any, int], as_typed.Answer]] = {
    "minimax": lambda tree, _: as_typed.side_forever(tree),
    "player": lambda tree, _: as_typed.side_forever(tree),
    "negamax": lambda tree, _: as_typed.alternating_negamax(tree),
    "end-test": lambda tree, _: as_typed.without_end_test(tree),
    "parity": as_typed.parity,
    "average": as_typed.average,
    "game-over": as_typed.game_over,
    "twice": as_typed.loop,
    "bound-twice": lambda tree, level: as_typed.loop(tree, level, has_bound=True),
}
#: The table of the contract: the value and the visits for the four-level tree and the friends.
STATED = {
    "minimax": ((15, 31), (50, 9)),
    "negamax": ((10, 31), (10, 9)),
    "player": ((15, 31), (50, 9)),
    "end-test": (("-inf", None), ("-inf", None)),
    "parity": ((10, 31), (10, 9)),
    "twice": ((10, 143), (10, None)),
    "bound-twice": ((10, 143), (10, 17)),
    "game-over": ((10, 31), (10, 9)),
}


def oracle_tree(node: Node) -> Any:
    """A tree as the oracle has it."""
    if not node.children:
        return node.utility
    return node.kind, [oracle_tree(child) for child in node.branches()]


def random_node(rng: random.Random, levels: int, kind: str, is_even: bool) -> Node:
    """A random tree: of one depth, or with lines that end early."""
    if levels == 0 or (not is_even and rng.random() < 0.25):
        return Node(utility=rng.randint(-9, 9))
    children = tuple(
        random_node(rng, levels - 1, rng.choice(("max", "min")), is_even)
        for _ in range(rng.randint(1, 3))
    )
    return Node(kind, children)


@pytest.mark.parametrize("name", STATED)
def test_a_listing_gives_what_the_contract_states(name: str) -> None:
    """Typed, each listing gives the wrong value or count of the table, on the documents' trees."""
    for tree, (value, visits) in zip(TREES.values(), STATED[name], strict=False):
        result = run_listing(listings.LISTINGS[name], tree)
        assert result.value == value
        assert result.right_value == 10
        if visits is not None:
            assert result.visits == visits


def test_the_other_trees_show_the_other_faults() -> None:
    """Odd depth shows the parity, unequal lines the missing question."""
    odd, unequal = list(TREES.values())[2:]
    assert run_listing(listings.LISTINGS["parity"], odd).value == 2
    assert run_listing(listings.LISTINGS["parity"], odd).right_value == 6
    for name in ("parity", "average", "twice", "bound-twice", "game-over"):
        assert run_listing(listings.LISTINGS[name], unequal).error.startswith("does not run")


@pytest.mark.parametrize(
    "count", [20, pytest.param(2_000, marks=pytest.mark.long, id="2000")], ids=["20", "2000"]
)
def test_the_listings_are_those_of_the_oracle(count: int) -> None:
    """On random trees a listing's value and visits are those of an independent transcription.

    Where the oracle asks for the moves of a finished game, the listing does not run.
    """
    rng = random.Random(7)
    for number in range(count):
        node = random_node(rng, rng.randint(1, 4), "max", is_even=number % 2 == 0)
        if not node.children or sum(1 for _ in walk(node)) > MAX_TREE_NODES:
            continue
        levels = max(level for level, _, _ in walk(node))
        for name, listing in listings.LISTINGS.items():
            result = run_listing(listing, Tree(node))
            try:
                value, visits = ORACLES[name](oracle_tree(node), levels)
            except as_typed.NoMoves:
                assert result.error.startswith("does not run"), name
                continue
            shown = {as_typed.INF: "inf", -as_typed.INF: "-inf"}.get(value, value)
            assert (result.value, result.visits) == (shown, visits), name


def test_the_marks_of_the_lines() -> None:
    """Each listing has a line at fault; the least that lets it run is marked as added."""
    for name, listing in listings.LISTINGS.items():
        lines = listing_lines(listing)
        assert any(line.is_fault for line in lines), name
        assert not any("#" in line.text or "missing" in line.text for line in lines)
        assert lines[0].text.startswith("def ")
    exercise = BugHunt("", listing_lines(listings.LISTINGS["average"]), "")
    assert any("H_mean(q, «L - 1»)" in line for line in numbered_lines(exercise))
    added = {name: added_parts(listing) for name, listing in listings.LISTINGS.items()}
    assert {name: parts for name, parts in added.items() if parts} == {
        "minimax": ["return best_value"],
        "negamax": ["return best_value"],
        "average": ["L - 1"],
        "bound-twice": ["None"],
    }


def added_parts(listing: Listing) -> list[str]:
    """What was added to a listing."""
    parts = [part for line in listing_lines(listing) for part in line.parts]
    return [text.strip() for text, is_added in parts if is_added]


def test_a_readers_tree_has_limits() -> None:
    """At most 200 nodes, MAX at the root, MAX and MIN, a number at each leaf; else a reason."""
    own = listings_document("max(A: min(7, 4), B: min(3, 8))")["results"]
    assert (own["minimax"].value, own["minimax"].right_value) == (8, 4)
    for text, problem in (
        ("min(1, 2)", "begin at a node of MAX"),
        ("7", "begin at a node of MAX"),
        ("max(mean(1, 2), 3)", "MAX and MIN only, not mean"),
        ("max(~3, 4)", "each leaf needs one number"),
        (f"max({', '.join('1' * MAX_TREE_NODES)})", "at most 200 nodes"),
    ):
        with pytest.raises(NotPossible, match=problem):
            listings_document(text)
    with pytest.raises(TreeError):
        listings_document("max(")


def test_an_exponential_listing_is_stopped() -> None:
    """A tree of few nodes on which a listing needs more visits than the limit is stopped there."""
    wide = Node(utility=1)
    for level in range(18):
        low = Node(utility=0)
        for step in range(level):
            low = Node("max" if step % 2 == 0 else "min", (low,))
        wide = Node("max" if level % 2 else "min", (low, wide))
    result = run_listing(listings.LISTINGS["twice"], Tree(wide))
    assert result.error == f"more than {MAX_VISITS:,} visits"


def test_each_fault_is_a_lesson() -> None:
    """Each listing leads to a lesson to find its fault, and each remark to a lesson."""
    for name, listing in listings.LISTINGS.items():
        lesson = load_lesson(listing.lesson)
        assert isinstance(lesson.exercise, BugHunt)
        if name != "bound-twice":
            assert lesson.exercise.lines == listing_lines(listing)
            assert lesson.solution == (listing.fault, listing.correction)
    assert {lesson for *_, lesson in REMARKS} <= set(LESSONS)


def test_the_line_is_asked_in_a_terminal() -> None:
    """--quiz asks for the number of the line until it gets one, and then says why."""
    exercise = load_lesson("bug-minimax").exercise
    assert isinstance(exercise, BugHunt)
    out: list[object] = []
    lines = iter(["x", "99", "6"])
    assert ask_line(exercise, Screen(out.append, lambda _: next(lines, None)))
    assert str(out[-1]).startswith("Right: is_max is handed on unchanged")
    assert sum("Type a number from 1 to 11" in str(text) for text in out) == 2
    assert not ask_line(exercise, Screen(out.append, lambda _: None))
