"""Pictures of searches and graphs: outlines, snapshots and SVG."""

import random
import re
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest

from engine.teach.algorithms.explain import Plan, explain
from engine.teach.errors import NotPossible, TooLarge
from engine.teach.lessons.first_cutoffs import GENEROUS_TREE, GREEDY_TREE
from engine.teach.lessons.lesson import AtPosition, root_of
from engine.teach.lessons.minimax import LAYOUT
from engine.teach.lessons.opponents import PLAIN_SIGNS
from engine.teach.output.drawing import tree_lines
from engine.teach.output.machine import machine_of, overlaps
from engine.teach.output.snapshot import snapshot
from engine.teach.output.style import Line, Style, outline
from engine.teach.output.svg import document, draw_graph, draw_trace
from engine.teach.output.text import format_trace, step_events
from engine.teach.states.graph import Graph, GraphState, graph_of
from engine.teach.states.graph_text import parse_graph
from engine.teach.states.state import Scale, State, TreeState
from engine.teach.states.tree import Tree, uniform
from engine.teach.states.tree_text import parse_tree
from engine.teach.trace import Trace
from tests.engine.teach.checks import on_tree, random_tree
from tests.engine.teach.test_graphs import random_graph
from tests.support.terminals import EmulatedTerminal

#: The XML namespace of SVG.
SVG = "{http://www.w3.org/2000/svg}"
#: A tree with a cut-off.
TREE = parse_tree("max(A: min(A1: 3, A2: 12), B: min(B1: 2, B2: max(4, 5), B3: 6))")


def plain(text: str) -> str:
    """Returns a text without colours."""
    return re.sub(r"\033\[\d+m", "", text)


def test_guide_lines() -> None:
    """Guide lines join each line with its parent and its next sibling; long lines continue."""
    lines = [(0, "root"), (1, "a"), (2, "b"), (2, "c " + "word " * 20), (1, "d"), (2, "e")]
    drawn = list(outline([Line(level, text.strip()) for level, text in lines], Style(True)))
    assert drawn == [
        "root",
        "├─ a",
        "│  ├─ b",
        "│  └─ c" + " word" * 14,
        "│       word word word word word word",
        "└─ d",
        "   └─ e",
    ]


def test_deep_levels_are_numbered() -> None:
    """Below the deepest indentation a line begins with the number of its ply."""
    for style in (Style(), Style(True)):
        drawn = list(outline([Line(level, "x") for level in range(30)], style))
        assert drawn[25].endswith("[ply 25] x")
        assert max(map(len, drawn)) <= 80


@pytest.mark.parametrize("seed", range(10))
def test_all_styles_have_the_same_words(seed: int) -> None:
    """Guide lines and colours change no word of a log, and no line of it is wider than a terminal
    of 80 columns.
    """
    trace = on_tree(random_tree(random.Random(seed), ("max", "min", "mean")), "alphabeta")
    for log in ("tree", "steps", "leaves"):
        piped = format_trace(trace, log)
        terminal = EmulatedTerminal(rows=2000)
        terminal.write(format_trace(trace, log, Style(True, True)))
        drawn = plain(terminal.getvalue())
        assert terminal.lines() == [line.rstrip() for line in drawn.rstrip().splitlines()]
        assert re.sub(r"[│├└─\s]+", " ", drawn) == re.sub(r"\s+", " ", piped)
        assert max(map(len, drawn.splitlines())) <= 80
        assert "\033" not in piped


def test_the_drawn_tree() -> None:
    """A node has one line: its player, its value, its leaves, its cut-off and its window."""
    drawn = list(outline(tree_lines(snapshot(on_tree(TREE, "alphabeta")))))
    assert drawn == [
        "MAX = 3, plays A",
        "  A MIN = 3: A1 = 3, A2 = 12",
        "  B MIN <= 2: B1 = 2; cut, 3 >= 2: skips B2 (and 2 below), B3  window (3, inf)",
    ]


def test_the_tree_half_way() -> None:
    """An unfinished node has its interval and its present window; the current one is marked."""
    trace = on_tree(TREE, "alphabeta")
    cut = trace.steps.what.index("cut")
    lines = list(tree_lines(snapshot(trace, cut)))
    assert [line.text for line in lines] == [
        "MAX in [3, inf)  window (3, inf)",
        "A MIN = 3: A1 = 3, A2 = 12",
        "B MIN in (-inf, 2]: B1 = 2  window (3, 2)",
    ]
    assert [line.mark for line in lines] == ["", "", "current"]


def test_many_leaves_have_a_line_each() -> None:
    """Leaves that do not fit on the line of their node have one line each."""
    wide = parse_tree(f"max({', '.join(f'move-number-{i}: {i}' for i in range(9))})")
    lines = list(outline(tree_lines(snapshot(on_tree(wide, "minimax")))))
    assert lines[0] == "MAX = 8, plays move-number-8"
    assert lines[1:] == [f"  move-number-{i} = {i}" for i in range(9)]


def test_a_line_of_the_log_includes_the_new_window() -> None:
    """After the steps of a log's line the snapshot has the window that the line names."""
    trace = on_tree(TREE, "alphabeta")
    (count,) = [count for count, line in step_events(trace) if line.text.startswith("A1 = 3")]
    assert snapshot(trace, count).seen[trace.nodes.move.index("A")].beta == 3


@pytest.mark.parametrize("seed", range(10))
def test_a_snapshot_holds_what_the_search_has_seen(seed: int) -> None:
    """After n steps the snapshot has the nodes entered by then; at the end their intervals."""
    trace = on_tree(random_tree(random.Random(seed)), "alphabeta")
    for count in range(len(trace.steps.what) + 1):
        shown = snapshot(trace, count)
        assert len(shown.seen) == trace.steps.what[:count].count("enter")
        done_count = sum(seen.is_done for seen in shown.seen)
        assert done_count == trace.steps.what[:count].count("leave")
    shown = snapshot(trace)
    for row, seen in enumerate(shown.seen):
        last = max(
            i
            for i, (what, node) in enumerate(zip(trace.steps.what, trace.steps.node, strict=True))
            if (what, node) == ("leave", row)
        )
        assert (seen.low, seen.high) == (trace.steps.low[last], trace.steps.high[last])


@pytest.mark.parametrize("seed", range(10))
def test_the_log_has_a_line_for_a_leaf_and_two_for_another_node(seed: int) -> None:
    """The log has one line for a leaf, two for any other node, and one for each cut-off."""
    trace = on_tree(random_tree(random.Random(seed)), "alphabeta")
    leaves = trace.nodes.kind.count("leaf")
    inner = len(trace.nodes.kind) - leaves
    events = list(step_events(trace))
    expected = leaves + 2 * inner + trace.steps.what.count("cut")
    assert len(events) == expected
    counts = [count for count, _ in events]
    assert counts == sorted(set(counts))
    assert counts[-1] == len(trace.steps.what)


def elements(svg: str) -> ElementTree.Element:
    """Returns a parsed SVG document."""
    return ElementTree.fromstring(svg)


def marked(root: ElementTree.Element, *names: str) -> list[ElementTree.Element]:
    """Returns the elements whose class is one of these names."""
    return [e for e in root.iter() if e.get("class") in names]


@pytest.mark.parametrize("seed", range(10))
def test_a_tree_as_svg(seed: int) -> None:
    """The picture has a shape for each node, an edge to each, and the best line in bold."""
    trace = on_tree(random_tree(random.Random(seed), ("max", "min", "mean")), "alphabeta")
    root = elements(document([("A & B", draw_trace(trace))]))
    shapes = marked(root, "max", "min", "mean", "leaf")
    assert len(shapes) == len(trace.nodes.parent)
    assert len(marked(root, "skipped")) == len(trace.skipped.parent)
    edges = marked(root, "edge", "edge best", "edge back")
    assert len(edges) == len(shapes) - 1 + len(trace.skipped.parent)
    assert len(marked(root, "edge best")) == len(trace.line)
    title = root.find(f"{SVG}title")
    assert title is not None
    assert title.text == "A & B"
    leaves = marked(root, "leaf", "skipped")
    by_level: dict[str, list[tuple[float, float]]] = {}
    for leaf in leaves:
        x, width = float(leaf.get("x", "0")), float(leaf.get("width", "0"))
        by_level.setdefault(leaf.get("y", ""), []).append((x, x + width))
    for places in by_level.values():
        places.sort()
        assert all(end <= start for (_, end), (start, _) in pairwise(places))


def test_texts_of_an_svg() -> None:
    """The picture has the moves, the values with their bounds, the windows and the cuts."""
    root = elements(document([("", draw_trace(on_tree(TREE, "alphabeta")))]))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    for text in ("A", "B3", "≤ 2", "12", "(3, inf)", "3 ≥ 2", "+2"):
        assert text in texts


def test_a_cut_that_nothing_can_beat() -> None:
    """Where a side has the best value of all, the logs say so in words, without an open end."""
    for text, words in (
        ("max(a: inf, b: 3)", "nothing is greater than inf"),
        ("min(a: -inf, b: 3)", "nothing is less than -inf"),
    ):
        trace = on_tree(parse_tree(text), "alphabeta")
        for log in ("tree", "steps"):
            shown = format_trace(trace, log)
            assert words in shown
            assert "none" not in shown


def test_many_skipped_moves_share_a_shape() -> None:
    """More than twelve skipped moves of a node have one shape with their number."""
    moves = ", ".join(f"b{i}: {i}" for i in range(14))
    trace = on_tree(parse_tree(f"max(a: 20, b: min({moves}))"), "alphabeta")
    root = elements(document([("", draw_trace(trace))]))
    assert len(marked(root, "skipped")) == 1
    assert "13 moves" in [element.text for element in root.iter(f"{SVG}text")]
    text = " ".join(format_trace(trace, "tree").split())
    assert "cut, 20 >= 0: skips b1, b2, b3, b4, b5, b6, … (13 moves)" in text


def test_a_graph_as_svg() -> None:
    """The picture has a box for each state and a line for each pair of states with a transition."""
    graph = parse_graph("a: max(x: b, y: b, z: c)  b: min(back: a, c)  c: 7")
    root = elements(document([("", draw_graph(graph))]))
    assert [len(marked(root, name)) for name in ("max", "min", "leaf")] == [1, 1, 1]
    assert len(marked(root, "edge")) == 2
    assert len(marked(root, "edge back")) == 2
    texts = [element.text for element in root.iter(f"{SVG}text")]
    for text in ("x, y", "z", "back", "MAX", "7"):
        assert text in texts


#: A graph with a cycle.
CYCLE = parse_graph("a: max(x: b, y: b, z: c)  b: min(back: a, c)  c: 7")
#: State machines of the texts and of the lessons, by what they show.
MACHINES: dict[str, tuple[State, Graph | None, int]] = {
    "rock, paper, scissors": (TreeState.at_root(PLAIN_SIGNS), None, 13),
    "greedy friends": (TreeState.at_root(GREEDY_TREE), None, 9),
    "generous friends": (TreeState.at_root(GENEROUS_TREE), None, 9),
    "an ending of tic-tac-toe": (root_of(LAYOUT, Scale()), None, 10),
    "the game of rock, paper, scissors": (
        root_of(AtPosition("rock-paper-scissors", "start"), Scale()), None, 13
    ),
    "a cycle": (GraphState.at_start(CYCLE), CYCLE, 3),
}  # fmt: skip


@pytest.mark.parametrize("name", MACHINES)
def test_a_state_machine_is_laid_out(name: str) -> None:
    """Each state stands once, no state or label touches another, and arrows end at their states.

    The terminal's picture has the same boxes, lines, heads and labels.
    """
    root, graph, count = MACHINES[name]
    machine = machine_of(root, graph, None)
    assert len({state.name for state in machine.states}) == len(machine.states) == count
    boxes = [state.box for state in machine.states]
    boxes += [arrow.box for arrow in machine.arrows if arrow.box is not None]
    assert not any(overlaps(one, other) for one, other in combinations(boxes, 2))
    states = {state.name: state for state in machine.states}
    for arrow in machine.arrows:
        x, y = map(float, arrow.head[1:].split("L")[0].split())
        left, top, right, bottom = states[arrow.end].box
        assert left <= x <= right
        assert y in (pytest.approx(top, abs=0.1), pytest.approx(bottom, abs=0.1))
    drawn = document([("", draw_graph(graph or graph_of(root)))])
    for arrow in machine.arrows:
        assert f'd="{arrow.line}"' in drawn
        assert f'd="{arrow.head}"' in drawn
    for left, top, *_ in (state.box for state in machine.states):
        assert f'x="{left:.1f}" y="{top:.1f}"' in drawn


def test_shared_states_and_final_states() -> None:
    """Two paths to a state are two arrows to one box; a final state shows its utility."""
    machine = machine_of(root_of(LAYOUT, Scale()), None, None)
    ends = [arrow.end for arrow in machine.arrows]
    (shared,) = {name for name in ends if ends.count(name) > 1}
    assert [state.lines[1] for state in machine.states if state.name == shared] == ["0"]
    leaves = sorted(state.lines[1] for state in machine.states if state.kind == "leaf")
    assert leaves == ["-1", "0", "1", "1"]
    with pytest.raises(TooLarge, match="more than 80 states"):
        machine_of(root_of(AtPosition("tic-tac-toe", "........."), Scale()), None, None)


@pytest.mark.parametrize("seed", range(10))
def test_a_graph_without_cycles_goes_down(seed: int) -> None:
    """In the picture of a graph without cycles every transition leads to a lower layer."""
    graph = parse_graph(random_graph(random.Random(seed)))
    root = elements(document([("", draw_graph(graph))]))
    assert len(marked(root, "max", "min", "leaf")) == len(graph.states)
    assert marked(root, "edge back") == []


def test_large_pictures_are_refused() -> None:
    """A picture of too many nodes, or of a truncated trace, is refused with advice."""
    large = Tree(uniform(("max",) * 7, 3, tuple(range(3**7))))
    with pytest.raises(NotPossible, match="reduce the depth"):
        draw_trace(on_tree(large, "minimax"))
    truncated: Trace = explain(TreeState.at_root(TREE), Plan("minimax", max_trace=3))
    with pytest.raises(NotPossible, match="reduce the depth"):
        draw_trace(truncated)
