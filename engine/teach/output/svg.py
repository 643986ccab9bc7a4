"""Pictures: a searched tree and a graph of states as SVG."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from engine.teach.errors import NotPossible
from engine.teach.output.drawing import MAX_LISTED_MOVES
from engine.teach.output.notation import SIDES, relation, value_text, window_interval_text
from engine.teach.output.snapshot import Snapshot, snapshot
from engine.teach.states.graph import Graph, find_cycle, shortest_distances, topological_order
from engine.teach.trace import Trace

#: Maximum number of nodes or states of a picture.
MAX_DRAWN = 1_500
#: The distance of two levels of a tree, in pixels.
LEVEL = 112
#: The height of a line of text, in pixels.
LINE = 16
#: The average width of a letter, in pixels.
LETTER = 7.5
#: The margin of a picture, in pixels.
MARGIN = 24
#: The distance of two layers of a graph, in pixels.
LAYER = 176.0
#: Half the width, and half the height, of a node's shape, in pixels.
HALF = 24
#: Half the width of a leaf, in pixels.
HALF_LEAF = 17
#: The colours and lines; players p1 to p8 share one class.
STYLE = """
text { font: 13px sans-serif; fill: #1b1b1b; text-anchor: middle }
.edge { stroke: #8a8a8a; fill: none }
.best { stroke: #1b1b1b; stroke-width: 3 }
.back { stroke-dasharray: 5 4 }
.max { fill: #d6ecd2; stroke: #2c6e2f }
.min { fill: #eed9f2; stroke: #7a2d86 }
.mean { fill: #fff0c2; stroke: #8a6a00 }
.player { fill: #d9e6f7; stroke: #2a5a94 }
.leaf { fill: #ffffff; stroke: #555555 }
.skipped { fill: none; stroke: #b02a1a; stroke-dasharray: 4 3 }
.note { font-size: 11px; fill: #555555 }
.note, .move { paint-order: stroke; stroke: #ffffff; stroke-width: 3px }
.move { font-size: 12px; fill: #444444 }
.cut { fill: #b02a1a }
.title { font-size: 15px; font-weight: bold; text-anchor: start }
"""
#: A drawing: its elements, its width and its height.
Drawing = tuple[list[str], float, float]


def document(drawings: Iterable[tuple[str, Drawing]]) -> str:
    """Returns an SVG document of drawings with their captions, one below the other."""
    body: list[str] = []
    width, top = 200.0, float(MARGIN)
    captions = []
    for caption, (elements, drawn_width, drawn_height) in drawings:
        captions.append(caption)
        body.append(f'<text class="title" x="{MARGIN}" y="{top:.0f}">{escape(caption)}</text>')
        body.append(f'<g transform="translate({MARGIN} {top + LINE:.0f})">')
        body += [*elements, "</g>"]
        width = max(width, drawn_width + 2 * MARGIN, len(caption) * 9 + 2 * MARGIN)
        top += drawn_height + 3 * LINE
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:.0f}"'
        f' height="{top:.0f}" viewBox="0 0 {width:.0f} {top:.0f}">'
    )
    title = f"<title>{escape('; '.join(captions))}</title>"
    ground = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return "\n".join([head, title, f"<style>{STYLE}</style>", ground, *body, "</svg>"]) + "\n"


def draw_trace(trace: Trace) -> Drawing:
    """Returns the drawing of a searched tree; raises NotPossible if it has too many nodes."""
    count = len(trace.nodes.parent) + len(trace.skipped.parent)
    if count > MAX_DRAWN or trace.truncated:
        raise NotPossible(
            f"a picture has at most {MAX_DRAWN:,} nodes, and this search has {count:,}:"
            " reduce the depth"
        )
    return _TreeDrawing(snapshot(trace)).drawing()


class _TreeDrawing:
    """Lays out a tree: leaves stand side by side, a parent above the middle of its children.

    Skipped children have the negative numbers -1, -2, … as their rows.
    """

    def __init__(self, shown: Snapshot) -> None:
        self.shown = shown
        self.nodes = shown.trace.nodes
        self.x: dict[int, float] = {}
        self.right = 0.0
        #: The number of skipped children for which one shape stands.
        self.groups: dict[int, int] = {}

    def drawing(self) -> Drawing:
        """Returns the elements and the size."""
        self._place(0)
        best = self._best_rows()
        elements = [edge for row in self.x for edge in self._edges(row, best)]
        elements += [part for row in self.x for part in self._shape(row)]
        height = (max(map(self._level, self.x)) + 1) * LEVEL
        return elements, self.right, height

    def _children(self, row: int) -> list[int]:
        if row < 0:
            return []
        below = list(self.shown.entered_children(row))
        if self.nodes.reason[row] == "chosen":
            return []
        skipped = [~index for index in self.shown.skipped_children(row)]
        if len(skipped) > MAX_LISTED_MOVES:
            self.groups[skipped[0]] = len(skipped)
            skipped = skipped[:1]
        return below + skipped

    def _level(self, row: int) -> int:
        if row < 0:
            return self.nodes.depth[self.shown.trace.skipped.parent[~row]] + 1
        return self.nodes.depth[row]

    def _move(self, row: int) -> str:
        if row in self.groups:
            return f"{self.groups[row]} moves"
        return self.shown.trace.skipped.move[~row] if row < 0 else self.nodes.move[row]

    def _text(self, row: int) -> str:
        if row in self.groups:
            return "…"
        if row < 0:
            below = self.shown.trace.skipped.below[~row]
            return f"+{below}" if below else ""
        if self.nodes.reason[row] == "chosen":
            return "random"
        sign = relation(self.shown.trace, row).replace("=", "", 1) if row >= 0 else ""
        prefix = f"{self.nodes.kind[row]} " if self.nodes.kind[row].startswith("p") else ""
        prefix += {">": "≥ ", "<": "≤ ", "~": "~"}.get(sign[:1], "")
        return prefix + value_text(self.nodes.value[row])

    def _place(self, root: int) -> None:
        """Finds the place of each node, children first."""
        stack = [(root, False, 0.0)]
        while stack:
            row, is_ready, start = stack.pop()
            children = self._children(row)
            if not children:
                longest = max(len(self._text(row)), len(self._move(row)))
                width = max(2 * HALF_LEAF, longest * LETTER)
                self.x[row] = self.right + width / 2
                self.right += width + 12
            elif is_ready:
                self._place_above(row, children, start)
            else:
                stack.append((row, True, self.right))
                stack.extend((child, False, 0.0) for child in reversed(children))

    def _place_above(self, row: int, children: Sequence[int], start: float) -> None:
        """Places a node above its children, and widens its part if its notes need more room."""
        longest = max(len(self._window(row)), len(self._text(row)) + 3)
        missing = longest * LETTER + 8 - (self.right - start)
        if missing > 0:
            for child in [child for child, x in self.x.items() if x > start]:
                self.x[child] += missing / 2
            self.right += missing
        self.x[row] = (self.x[children[0]] + self.x[children[-1]]) / 2

    def _window(self, row: int) -> str:
        """The window that a node received; empty if it is open."""
        alpha, beta = self.nodes.alpha[row], self.nodes.beta[row]
        return "" if alpha is beta is None else window_interval_text(alpha, beta)

    def _best_rows(self) -> set[int]:
        """The rows along the principal variation."""
        row, rows = 0, {0}
        for move in self.shown.trace.line:
            below = [child for child in self._children(row) if child >= 0]
            row = next((child for child in below if self.nodes.move[child] == move), -1)
            if row < 0:
                break
            rows.add(row)
        return rows

    def _edges(self, row: int, best: set[int]) -> Iterator[str]:
        x, y = self.x[row], self._level(row) * LEVEL + 2 * HALF
        for child in self._children(row):
            low_x, low_y = self.x[child], self._level(child) * LEVEL - LINE
            kind = "edge best" if child in best else "edge back" if child < 0 else "edge"
            yield _line(x, y, low_x, low_y, kind)
            yield _text(low_x, low_y + 12, self._move(child), "move cut" if child < 0 else "move")

    def _shape(self, row: int) -> Iterator[str]:
        x, y = self.x[row], self._level(row) * LEVEL
        if row < 0:
            place = f'x="{x - HALF_LEAF:.1f}" y="{y}" width="{2 * HALF_LEAF}" height="26"'
            yield f'<rect class="skipped" {place}/>'
            yield _text(x, y + 17, self._text(row), "note cut")
            return
        kind = self.nodes.kind[row]
        yield _outline(kind, x, y, len(self._text(row)) * LETTER)
        seen = self.shown.seen[row]
        if kind == "leaf":
            yield _text(x, y + 17, self._text(row))
            return
        yield _text(x, y + HALF + {"max": 19, "min": -7}.get(kind, 5), self._text(row))
        notes = [(self._window(row), "note")]
        if seen.cut:
            notes.append((" ≥ ".join(map(value_text, seen.cut)), "note cut"))
        for number, (note, name) in enumerate(filter(lambda note: note[0], notes)):
            yield _text(x, y + 2 * HALF + 13 + 12 * number, note, name)


def _outline(kind: str, x: float, y: float, width: float) -> str:
    """The shape of a node: MAX points up, MIN down, chance is round, others are rectangles."""
    low = y + 2 * HALF
    half = max(HALF, width / 2 + 12)
    match kind:
        case "max":
            return f'<path class="max" d="M{x - half:.1f} {low}h{2 * half:.1f}L{x:.1f} {y}z"/>'
        case "min":
            return f'<path class="min" d="M{x - half:.1f} {y}h{2 * half:.1f}L{x:.1f} {low}z"/>'
        case "mean":
            return f'<circle class="mean" cx="{x:.1f}" cy="{y + HALF}" r="{HALF}"/>'
    half = max(HALF_LEAF, width / 2 + 4)
    name = "leaf" if kind == "leaf" else "player"
    height = 26 if kind == "leaf" else 2 * HALF
    size = f'width="{2 * half:.1f}" height="{height}"'
    shape = f'<rect class="{name}" x="{x - half:.1f}" y="{y}" {size}/>'
    return shape


def _text(x: float, y: float, text: str, kind: str = "value") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>' if text else ""


def _line(x: float, y: float, to_x: float, to_y: float, kind: str) -> str:
    return f'<path class="{kind}" d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}"/>'


def draw_graph(graph: Graph, values: Mapping[str, str] | None = None) -> Drawing:
    """Returns the drawing of a graph, with the values of its states as text.

    Raises NotPossible if it has too many states.
    """
    if len(graph.states) > MAX_DRAWN:
        raise NotPossible(
            f"a picture has at most {MAX_DRAWN:,} states, and this graph has"
            f" {len(graph.states):,}: reduce the depth"
        )
    labels = {name: _state_label(graph, name, (values or {}).get(name)) for name in graph.states}
    layers = _layers(graph)
    half = {
        name: max(HALF, max(map(len, label)) * LETTER / 2 + 8) for name, label in labels.items()
    }
    moves = [move for state in graph.states.values() for move, _ in state.transitions]
    gap = max(36, max(map(len, moves), default=0) * LETTER + 12)
    places, width = _places(layers, half, gap)
    order = {name: place for layer in layers for place, name in enumerate(layer)}
    elements = []
    for name, state in graph.states.items():
        several: dict[str, list[str]] = {}
        for move, target in state.transitions:
            several.setdefault(target, []).append(move)
        for number, (target, moves) in enumerate(several.items()):
            label = "" if moves == [target] else ", ".join(moves)
            # Labels of neighbours stand at different heights, so that they do not overlap.
            part = (number + order[name] % 3 / 3) / len(several)
            elements += _transition(places[name], places[target], label, part)
    for name, state in graph.states.items():
        x, y = places[name]
        kind = state.kind or "leaf"
        shape = "player" if kind.startswith("p") else kind
        left = x - half[name]
        height = LINE * len(labels[name]) + 10
        elements.append(
            f'<rect class="{shape}" x="{left:.1f}" y="{y}" width="{2 * half[name]:.1f}"'
            f' height="{height}" rx="{0 if kind == "leaf" else 9}"/>'
        )
        for number, line in enumerate(labels[name], 1):
            elements.append(_text(x, y + LINE * number, line))
    return elements, width, len(layers) * LAYER


def _state_label(graph: Graph, name: str, value: str | None) -> list[str]:
    """The lines in a state's box: its name, who moves, and its value or utility."""
    state = graph.states[name]
    if state.utility is not None:
        return [name, value_text(state.utility)]
    side = SIDES.get(state.kind or "", state.kind or "")
    return [name, f"{side} = {value}" if value is not None else side]


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


def _places(
    layers: Sequence[Sequence[str]], half: Mapping[str, float], gap: float
) -> tuple[dict[str, tuple[float, float]], float]:
    """The place of each state, each layer centred, and the width of the whole."""
    widths = [sum(2 * half[name] + gap for name in layer) for layer in layers]
    width = max(widths)
    places = {}
    for number, layer in enumerate(layers):
        x = (width - widths[number]) / 2
        for name in layer:
            places[name] = (x + half[name] + gap / 2, number * LAYER)
            x += 2 * half[name] + gap
    return places, width


def _transition(
    start: tuple[float, float], end: tuple[float, float], label: str, part: float
) -> list[str]:
    """A line between two states, with its label at a part of its length.

    It is dashed if it leads upwards or to the same layer.
    """
    below = 2 * LINE + 10
    if end[1] > start[1]:
        x, y, to_x, to_y = start[0], start[1] + below, end[0], end[1]
        part = 0.18 + 0.7 * part
        place = (x + (to_x - x) * part, y + (to_y - y) * part + 4)
        return [_line(x, y, to_x, to_y, "edge"), _text(*place, label, "move")]
    bend = max(start[1], end[1]) + below + 30
    path = (
        f'<path class="edge back" d="M{start[0]:.1f} {start[1] + below:.1f}'
        f'Q{(start[0] + end[0]) / 2:.1f} {bend:.1f} {end[0]:.1f} {end[1] + below:.1f}"/>'
    )
    return [path, _text((start[0] + end[0]) / 2, bend - 12, label, "move")]
