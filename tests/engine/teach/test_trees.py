"""Explicit trees: text and JSON are equivalent; an invalid tree is refused with the reason."""

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.teach.errors import TreeError
from engine.teach.requests.task import graph_of_text, tree_of
from engine.teach.states.graph_text import parse_graph
from engine.teach.states.state import TreeState
from engine.teach.states.tree import (
    MAX_CHILDREN,
    MAX_TREE_NODES,
    Node,
    Tree,
    check_tree,
    decode_tree,
    encode_tree,
    uniform,
    walk,
)
from engine.teach.states.tree_text import format_tree, parse_tree
from tests.engine.teach.checks import on_tree, random_tree

#: Numbers that survive formatting.
NUMBERS = st.integers(-(10**9), 10**9) | st.floats(-(10**9), 10**9).filter(
    lambda number: abs(number) > 1e-90 or number == 0
)
#: Names of moves and pieces.
NAMES = st.text("abcdefghijklmnopqrstuvwxyzäß0123456789+-=!?'", min_size=1, max_size=24)
#: Counts of pieces by name.
PIECES = st.dictionaries(NAMES, st.integers(1, 100), max_size=3)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Generates trees with names, estimates and pieces, and one utility per leaf or several."""
    players = draw(st.sampled_from([1, 1, 2, 3]))
    kinds = (
        ["max", "min", "mean"] if players == 1 else [*(f"p{i + 1}" for i in range(players)), "mean"]
    )
    value = NUMBERS if players == 1 else st.tuples(*[NUMBERS] * players)

    def node(level: int, move: str) -> Node:
        estimate = draw(st.none() | value)
        pieces = draw(st.none() | st.tuples(PIECES, PIECES))
        if level == 3 or draw(st.booleans()):
            is_open = players == 1 and (estimate is not None or pieces is not None)
            return Node(
                None, (), move, draw(st.none() | value if is_open else value), estimate, pieces
            )
        names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
        return Node(
            draw(st.sampled_from(kinds)),
            tuple(node(level + 1, name) for name in names),
            move,
            None,
            estimate,
            pieces,
        )

    return check_tree(Tree(node(0, "")))


@given(trees())
def test_round_trips(tree: Tree) -> None:
    """A tree survives the round trip through text and the one through JSON."""
    assert parse_tree(format_tree(tree)) == tree
    assert decode_tree(encode_tree(tree)) == tree


def test_text_and_json_are_equivalent() -> None:
    """Text and JSON give the same tree; a bare number is a leaf, and unnamed moves are numbered."""
    text = parse_tree(
        "max(A: min(3, 12) # the first\n, B: min~5[queen | pawn*2](2, deep: max(7, -1.5)))"
    )
    json = decode_tree(
        b"""{"root": {"kind": "max", "children": [
            {"move": "A", "kind": "min", "children": [3, {"utility": 12}]},
            {"move": "B", "kind": "min", "estimate": 5, "pieces": [{"queen": 1}, {"pawn": 2}],
             "children": [2, {"move": "deep", "kind": "max", "children": [7, -1.5]}]}]}}"""
    )
    assert on_tree(text, "minimax") == on_tree(json, "minimax")
    assert on_tree(text, "minimax").value == 3
    paths = [".".join(path) for _, path, _ in walk(json.root)]
    assert " ".join(paths) == " A A.1 A.2 B B.1 B.deep B.deep.1 B.deep.2"


#: Pattern of the message by text.
BAD_TEXTS = {
    "": "line 1, column 1: a number, or max, min",
    "max(1, 2": "line 1, column 9: '\\)' was expected, not the end",
    "max()": "a number",
    "max(1,\n  oops)": "line 2, column 3",
    "max(1, 2) 3": "the end of the text",
    "max(A: 1, A: 2)": "two moves of the same name",
    "max(<1, 2>, 3)": "the same number of utilities",
    "max(<1, 2>, <3, 4>)": "p1, p2 or mean, not max",
    "p3(<1, 2>, <3, 4>)": "not p3",
    "p1(1, 2)": "player p1 needs utilities for each",
    "<1>": "two to eight utilities",
    "<1,2,3,4,5,6,7,8,9>": "two to eight utilities",
    "max(1000000001, 2)": "a number up to",
    "max(nan, 2)": "a number",
    "max([king*0|queen])": "a number of pieces",
    "max([king*100 king|queen])": "at most 100 pieces",
    "max([king|queen)": "was expected",
    "max(averyveryverylongnamefora: 1)": "1 to 24 characters",
    "max(a\x1b: 1)": "1 to 24 characters",
    "max(" * 70 + "1" + ")" * 70: "at most 64 levels",
    "p9(1, 2)": "a number, or max",
}


@pytest.mark.parametrize("text", BAD_TEXTS)
def test_bad_texts(text: str) -> None:
    """An invalid text is refused with line, column and what was expected."""
    with pytest.raises(TreeError, match=BAD_TEXTS[text]):
        parse_tree(text)


#: Trees as textbooks, programs and text editors write them, each with the same tree in our form.
AS_WRITTEN = {
    "\ufeff((3 5) (2 9))": "max(min(3, 5), min(2, 9))",
    "[[3, 12, 8], [2, 4, 6], [14, 5, 2]]": "max(min(3, 12, 8), min(2, 4, 6), min(14, 5, 2))",
    "((3, 12), (2, 4))": "max(min(3, 12), min(2, 4))",
    "{{3,12},{2,4}}": "max(min(3, 12), min(2, 4))",
    "\ufeff # braces\n {{3 12} {2 4}}": "max(min(3, 12), min(2, 4))",
    "[[[1, 2], [3]], [[4], 5]]": "max(min(max(1, 2), max(3)), min(max(4), 5))",
    "[A: [3, 12], B: [2, 4]]": "max(A: min(3, 12), B: min(2, 4))",
    "[[3, 12,], [2, 4,],]": "max(min(3, 12), min(2, 4))",
    "max(3, 5,)": "max(3, 5)",
    "MAX(Min(3, 12), MIN(2, 4))": "max(min(3, 12), min(2, 4))",
    "max{{3, 12} {2, 4}}": "max(min(3, 12), min(2, 4))",
    "Min[[3 12] [2 4]]": "min(max(3, 12), max(2, 4))",
    "CHANCE(MAX(1, 2), average(3, 4))": "mean(max(1, 2), mean(3, 4))",
    "mean(max([1, 2], 3), 4)": "mean(max(min(1, 2), 3), 4)",
    "max(\u22123, \u20135, \u22121.5)": "max(-3, -5, -1.5)",
    "max(\u2212∞, +∞, Infinity, -INF)": "max(-inf, inf, inf, -inf)",
    "max(\uff13, .5, 1E3, +4)": "max(3, 0.5, 1000.0, 4)",
    "MIN~5[king|](3, [queen|king*2])": "min~5[king|](3, [queen|king*2])",
    "[[king|queen], [rook|]]": "max([king|queen], [rook|])",
    "[\n\t3\u00a05\r\n]": "max(3, 5)",
    "max({: 1, }: 2)": "max({: 1, }: 2)",
}


@pytest.mark.parametrize("text", AS_WRITTEN)
def test_trees_are_read_as_people_write_them(text: str) -> None:
    """Lists of any brackets, kinds in any case, signs of any form and spare commas are read, by
    the command as by the page.
    """
    assert parse_tree(text) == tree_of(text) == parse_tree(AS_WRITTEN[text])


#: Part of the message by text.
BAD_LISTS = {
    "[[3, 12], [2, 4)]": "line 1, column 16: ']' was expected, not '\\)'",
    "[[3, 12]": "line 1, column 9: ']' was expected, not the end",
    "[[3, 12]]]": "the end of the text was expected, not ']'",
    "{{3, 12}": "'}' was expected, not the end",
    "[]": "a number",
    "[3,, 5]": "a number",
    "max(3 5)": "column 7: .\\). was expected, not '5'",
    "[3, x]": "column 5: a number, or max",
    "mean([1, 2], 3)": "column 6: max, min, mean or p1 … p8 before the list",
    "[" * 5000: "a tree has at most 64 levels",
    "(" * 5000 + "1" + ")" * 5000: "a tree has at most 64 levels",
    "{" * 5000: "a tree has at most 64 levels",
    "Max": "a number, or max",
    "[" + "1 " * 257 + "]": "256 children",
}


@pytest.mark.parametrize("text", BAD_LISTS)
def test_bad_lists(text: str) -> None:
    """A list that is not a tree is refused with the place and what was expected."""
    with pytest.raises(TreeError, match=BAD_LISTS[text]):
        tree_of(text)


def test_a_state_may_have_the_name_max() -> None:
    """In a graph Max is who chooses only before a bracket."""
    graph = parse_graph("\ufeffMax: MAX(Min: 3, max: r,)\nr: Min(1, \u22122)")
    assert graph == parse_graph("Max: max(Min: 3, max: r)\nr: min(1, -2)")
    for text in ("[[3, 5], [2, 9]]", "MAX(3, 5)", "max{3, 5}"):
        with pytest.raises(TreeError, match="this is a tree"):
            graph_of_text(text)


#: Part of the message by content.
BAD_JSON = {
    b"{}": "root",
    b"[1, 2]": "not a tree",
    b'{"root": 5}': "not a tree",
    b'{"root": {"kind": "max"}}': "kind and children",
    b'{"root": {"children": [1]}}': "kind and children",
    b'{"root": {"kind": "best", "children": [1]}}': "not a tree",
    b'{"root": {"kind": "max", "children": [1], "utility": 3}}': "only a leaf has a utility",
    b'{"root": {"kind": "max", "children": [{"move": "a b", "utility": 1}]}}': "the name 'a b'",
    (
        b'{"root": {"kind": "max", "children": [{"move": "A", "kind": "min", "children": [{}]}]}}'
    ): "A.1 is a leaf",
    b'{"root": {"kind": "max", "children": [1e99]}}': "not a tree",
    b'{"root": {"kind": "max", "children": [1], "colour": "red"}}': "colour",
    b'{"root": {"kind": "max", "children": [{"pieces": [{"king": 0}, {}]}]}}': "not a tree",
    b'{"root": {"utility": 1}, "title": "a\\nb"}': "a line of text",
    b'{"root": {"kind": "max", "children": [\xff]}}': "not a tree",
    b'{"root":' + b'{"kind":"max","children":[' * 5000: "not a tree",
}


@pytest.mark.parametrize("content", BAD_JSON)
def test_bad_json(content: bytes) -> None:
    """Invalid JSON is refused with the node and the reason."""
    with pytest.raises(TreeError, match=BAD_JSON[content]):
        decode_tree(content)


@given(st.text(max_size=60) | st.text("maxMINep12 ,:(){}<>[]|~*#\ufeff\u2212∞", max_size=40))
def test_any_text_is_a_tree_or_refused(text: str) -> None:
    """A text is a tree that can be formatted and parsed again, or it raises TreeError."""
    try:
        tree = parse_tree(text)
    except TreeError:
        return
    assert parse_tree(format_tree(tree)) == tree


def test_trees_are_bounded() -> None:
    """A tree with too many nodes, children or characters is refused."""
    wide = Tree(Node("max", (1,) * (MAX_CHILDREN + 1)))
    with pytest.raises(TreeError, match="256 children"):
        check_tree(wide)
    with pytest.raises(TreeError):
        decode_tree(encode_tree(wide))
    large = Tree(uniform(("max", "min", "max"), 28, (0,) * 28**3))
    assert MAX_TREE_NODES < 28**3
    with pytest.raises(TreeError, match="at most 20000 nodes"):
        check_tree(large)
    for text in (" " * (1 << 20) + "1", "#" * (1 << 21)):
        with pytest.raises(TreeError, match="at most"):
            parse_tree(text)
    with pytest.raises(TreeError, match="at most"):
        decode_tree(b" " * (1 << 21))
    with pytest.raises(TreeError, match="make 8 leaves"):
        uniform(("max", "min", "max"), 2, (1, 2, 3))


def test_the_number_of_players() -> None:
    """The number of players is the number of utilities, or of estimates, of a leaf."""
    assert parse_tree("max(1, 2)").players == 1
    assert parse_tree("p1(<1, 2, 3>, <4, 5, 6>)").players == 3
    assert parse_tree("p1(~<1, 2>)").players == 2
    assert TreeState.at_root(parse_tree("[king|]")).pieces() == ({"king": 1}, {})


def test_a_tree_is_immutable() -> None:
    """Trees are frozen and survive JSON."""
    tree = random_tree(random.Random(1))
    with pytest.raises(AttributeError):
        tree.title = "other"  # type: ignore[misc]
    assert msgspec.json.decode(encode_tree(tree), type=Tree) == tree
