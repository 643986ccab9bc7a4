"""Pictures: a searched tree and a graph of states as SVG."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from engine.teach.errors import NotPossible
from engine.teach.output.drawing import MAX_LISTED_MOVES
from engine.teach.output.machine import lay_out
from engine.teach.output.notation import relation, value_text, window_interval_text
from engine.teach.output.snapshot import Snapshot, snapshot
from engine.teach.states.graph import Graph
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
#: Half the width, and half the height, of a node's shape, in pixels.
HALF = 24
#: Half the width of a leaf, in pixels.
HALF_LEAF = 17
#: The colours and lines; players p1 to p8 share one class.
STYLE = """
text { font: 13px sans-serif; fill: #1b1b1b; text-anchor: middle }
.edge { stroke: #8a8a8a; fill: none }
.head { fill: #8a8a8a }
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


def draw_graph(graph: Graph) -> Drawing:
    """Returns the drawing of a graph: the layout that the browser shows (`machine`).

    Raises NotPossible if it has too many states.
    """
    machine = lay_out(graph, MAX_DRAWN)
    elements = [f'<g transform="translate({-machine.left:.1f} 0)">']
    for arrow in machine.arrows:
        kind = "edge back" if arrow.is_back else "edge"
        elements.append(f'<path class="{kind}" d="{arrow.line}"/>')
        elements.append(f'<path class="head" d="{arrow.head}"/>')
    for state in machine.states:
        left, top, right, bottom = state.box
        shape = "player" if state.kind.startswith("p") else state.kind
        elements.append(
            f'<rect class="{shape}" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}"'
            f' height="{bottom - top:.1f}" rx="{0 if state.kind == "leaf" else 9}"/>'
        )
        for number, line in enumerate(state.lines, 1):
            elements.append(_text(state.x, state.y + LINE * number, line))
    for arrow in machine.arrows:
        elements.append(_text(arrow.x, arrow.y, arrow.label, "move"))
    elements.append("</g>")
    return elements, machine.width, machine.height
