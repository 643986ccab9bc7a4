"""The layout of a state machine: each state once, an arrow for each pair of states.

The terminal's picture (`svg`) and the browser draw the same layout. States stand in layers, by the
longest path to them. A label stands on its arrow where it touches no state and no other label; if
there is no such place, the states move apart.
"""

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct

from engine.teach.errors import NotPossible
from engine.teach.output.notation import SIDES, value_text
from engine.teach.states.graph import (
    Graph,
    find_cycle,
    graph_of,
    shortest_distances,
    topological_order,
)
from engine.teach.states.state import State

#: Maximum number of states that a browser shows.
MAX_SHOWN = 80
#: The height of a line of text, and the average width of a letter, in pixels.
LINE = 16
LETTER = 7.5
#: The average width of a letter in a state, whose names often are capitals, in pixels.
CAPITAL = 9.2
#: The letters for which a state that is not final has room: who moves, and the value that a search
#: finds.
ROOM = "MAX -101"
#: The distance of two layers, and the least distance of two states of a layer, in pixels.
LAYER = 132.0
GAP = 28.0
#: Half the least width of a state, in pixels.
HALF = 24.0
#: The length and half the width of an arrowhead, in pixels.
HEAD = 9.0
HEAD_HALF = 4.0
#: How often the states move apart, and by which factor, until all labels have room.
TRIES = 12
APART = 1.25
#: The longest name in a state, in letters.
MAX_NAME = 18
#: The places of a label on its arrow, as parts of its length, the best ones first.
PARTS = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.2, 0.8)

#: A box: left, top, right, bottom.
Box = tuple[float, float, float, float]
Point = tuple[float, float]


class MachineState(Struct, frozen=True):
    """A state: its box (x is its middle), the lines in it, who moves, its transitions by move."""

    name: str
    lines: tuple[str, ...]
    kind: str
    x: float
    y: float
    width: float
    height: float
    moves: dict[str, str]

    @property
    def box(self) -> Box:
        """The box that the state takes."""
        half = self.width / 2
        return self.x - half, self.y, self.x + half, self.y + self.height


class MachineArrow(Struct, frozen=True):
    """An arrow from one state to another: its line, its head, and its label with its place.

    It is a back arrow if it leads upwards or to the same layer.
    """

    start: str
    end: str
    label: str
    line: str
    head: str
    x: float
    y: float
    is_back: bool

    @property
    def box(self) -> Box | None:
        """The box that the label takes; None without a label."""
        return label_box(self.label, (self.x, self.y)) if self.label else None


class Machine(Struct, frozen=True):
    """A laid out state machine, in pixels."""

    states: tuple[MachineState, ...]
    arrows: tuple[MachineArrow, ...]
    left: float
    width: float
    height: float


def lay_out(graph: Graph, limit: int) -> Machine:
    """Returns the layout of a graph; raises NotPossible if it has more states than the limit."""
    if len(graph.states) > limit:
        raise NotPossible(
            f"a picture has at most {limit:,} states, and this graph has"
            f" {len(graph.states):,}: reduce the depth"
        )
    layers = _ordered(graph, _layers(graph))
    machine, is_clear = _placed(graph, layers, GAP)
    gap = GAP
    for _ in range(TRIES):
        if is_clear:
            break
        gap *= APART
        machine, is_clear = _placed(graph, layers, gap)
    return machine


def machine_of(root: State, graph: Graph | None, depth: int | None) -> Machine:
    """Returns the layout of a search's states as a browser shows it.

    Raises TooLarge and NotPossible if there are more than MAX_SHOWN.
    """
    states = graph or graph_of(root, math.inf if depth is None else depth, MAX_SHOWN)
    return lay_out(states, MAX_SHOWN)


def label_box(label: str, place: Point) -> Box:
    """Returns the box of a label whose baseline is centred at a place."""
    half = len(label) * LETTER / 2 + 2
    return place[0] - half, place[1] - 12, place[0] + half, place[1] + 4


def overlaps(first: Box, second: Box) -> bool:
    """Returns whether two boxes have a common part."""
    return (
        first[0] < second[2]
        and second[0] < first[2]
        and first[1] < second[3]
        and second[1] < first[3]
    )


# --- places


def _layers(graph: Graph) -> list[list[str]]:
    """The states in layers: by the longest path to them, with a cycle by the shortest."""
    level = shortest_distances(graph)
    if not find_cycle(graph):
        for name in topological_order(graph):
            for _, target in graph.states[name].transitions:
                level[target] = max(level[target], level[name] + 1)
    layers: list[list[str]] = [[] for _ in range(max(level.values()) + 1)]
    for name in level:
        layers[level[name]].append(name)
    return layers


def _ordered(graph: Graph, layers: list[list[str]]) -> list[list[str]]:
    """The layers with each state near the middle of those that lead to it (Sugiyama, 1981)."""
    sources: dict[str, list[str]] = {}
    for name, vertex in graph.states.items():
        for _, target in vertex.transitions:
            sources.setdefault(target, []).append(name)
    ordered = layers[:1]
    for layer in layers[1:]:
        places = {name: place for above in ordered for place, name in enumerate(above)}

        def middle(name: str, places: dict[str, int] = places) -> float:
            known = [places[source] for source in sources.get(name, ()) if source in places]
            return sum(known) / len(known) if known else 0.0

        ordered.append(sorted(layer, key=middle))
    return ordered


def _placed(graph: Graph, layers: Sequence[Sequence[str]], gap: float) -> tuple[Machine, bool]:
    """The layout with a gap between neighbours, and whether all labels are clear."""
    labels = {name: _state_lines(graph, name) for name in graph.states}
    width_of = {
        name: max(2 * HALF, max(map(len, (*lines, ROOM))) * CAPITAL + 12)
        for name, lines in labels.items()
    }
    widths = [sum(width_of[name] for name in layer) + gap * (len(layer) - 1) for layer in layers]
    width = max(widths)
    states: dict[str, MachineState] = {}
    for number, layer in enumerate(layers):
        x = (width - widths[number]) / 2
        for name in layer:
            vertex = graph.states[name]
            states[name] = MachineState(
                name, labels[name], vertex.kind or "leaf", round(x + width_of[name] / 2, 1),
                number * LAYER, width_of[name], LINE * len(labels[name]) + 10.0,
                dict(vertex.transitions),
            )  # fmt: skip
            x += width_of[name] + gap
    boxes = [state.box for state in states.values()]
    arrows, is_clear = [], True
    for name, state in states.items():
        for target, moves in _targets(graph, name).items():
            arrow, has_room = _arrow(state, states[target], moves, boxes)
            arrows.append(arrow)
            is_clear = is_clear and has_room
            if arrow.box is not None:
                boxes.append(arrow.box)
    bottom = max(box[3] for box in boxes)
    left, right = min(box[0] for box in boxes), max(box[2] for box in boxes)
    ordered = tuple(states[name] for name in graph.states)
    return Machine(ordered, tuple(arrows), left, right - left, bottom), is_clear


def _state_lines(graph: Graph, name: str) -> tuple[str, ...]:
    """The lines in a state's box: its name, and who moves or its utility."""
    vertex = graph.states[name]
    short = name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"
    if vertex.utility is not None:
        return short, value_text(vertex.utility)
    return short, SIDES.get(vertex.kind or "", vertex.kind or "") or "…"


def _targets(graph: Graph, name: str) -> dict[str, list[str]]:
    """The states that a state leads to, each with the moves."""
    several: dict[str, list[str]] = {}
    for move, target in graph.states[name].transitions:
        several.setdefault(target, []).append(move)
    return several


# --- arrows


def _arrow(
    start: MachineState, end: MachineState, moves: Sequence[str], boxes: Sequence[Box]
) -> tuple[MachineArrow, bool]:
    """An arrow with its label, and whether the label is clear of all boxes."""
    is_named = list(moves) == [end.name] or list(moves) == [end.name.rpartition(".")[2]]
    label = "" if is_named else ", ".join(moves)
    is_back = end.y <= start.y
    points = tuple(_curve(start, end) if is_back else _straight(start, end))
    line = _path(points)
    places = [_at(points, part) for part in PARTS]
    boxes_of = [label_box(label, (x, y + 4)) for x, y in places]
    clear = [
        place
        for place, box in zip(places, boxes_of, strict=True)
        if not any(overlaps(box, other) for other in boxes)
    ]
    x, y = clear[0] if clear else places[0]
    arrow = MachineArrow(
        start.name, end.name, label, line, _head(points), round(x, 1), round(y + 4, 1), is_back
    )
    return arrow, bool(clear) or not label


def _straight(start: MachineState, end: MachineState) -> Iterator[Point]:
    """The points of a straight arrow from the bottom of a state to the top of another."""
    yield start.x, start.y + start.height
    yield end.x, end.y


def _curve(start: MachineState, end: MachineState) -> Iterator[Point]:
    """The points of an arrow that leads upwards or to the same layer, around the states below."""
    low = max(start.y + start.height, end.y + end.height)
    yield start.x + start.width / 4, start.y + start.height
    yield (start.x + end.x) / 2, low + 56
    yield end.x - end.width / 4, end.y + end.height


def _path(points: Sequence[Point]) -> str:
    """The line through two points, or the curve that three points give."""
    (x, y), *rest = points
    letter = "L" if len(rest) == 1 else "Q"
    return f"M{x:.1f} {y:.1f}{letter}" + " ".join(f"{a:.1f} {b:.1f}" for a, b in rest)


def _at(points: Sequence[Point], part: float) -> Point:
    """The point at a part of a line or of a curve (Bézier)."""
    if len(points) == 2:
        (x, y), (to_x, to_y) = points
        return x + (to_x - x) * part, y + (to_y - y) * part
    weights = ((1 - part) ** 2, 2 * part * (1 - part), part**2)
    both = [
        sum(weight * point[axis] for weight, point in zip(weights, points, strict=True))
        for axis in (0, 1)
    ]
    return both[0], both[1]


def _head(points: Sequence[Point]) -> str:
    """The head of an arrow: a triangle at its end."""
    (x, y), (to_x, to_y) = points[-2:]
    length = max(1e-9, ((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5)
    dx, dy = (to_x - x) / length, (to_y - y) / length
    base = to_x - HEAD * dx, to_y - HEAD * dy
    left = base[0] - HEAD_HALF * dy, base[1] + HEAD_HALF * dx
    right = base[0] + HEAD_HALF * dy, base[1] - HEAD_HALF * dx
    return f"M{to_x:.1f} {to_y:.1f}L{left[0]:.1f} {left[1]:.1f}L{right[0]:.1f} {right[1]:.1f}Z"
