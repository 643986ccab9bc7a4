"""A graph of states as text: an outline in which each state is drawn once, and its sizes."""

from collections.abc import Iterator

from engine.teach.output.notation import SIDES, value_text
from engine.teach.output.style import PLAIN, Line, Style, outline
from engine.teach.states.graph import Graph, Sizes, sizes_of

#: A graph with more states is counted, not drawn.
MAX_LISTED_STATES = 400


def graph_lines(graph: Graph) -> Iterator[Line]:
    """Yields a line for each transition; a state's own transitions follow where it first occurs."""
    drawn: set[str] = set()
    stack: list[tuple[int, str, str]] = [(0, "", graph.start)]
    while stack:
        level, move, name = stack.pop()
        state = graph.states[name]
        arrow = f"{move} -> " if move and move != name else ""
        side = SIDES.get(state.kind or "", state.kind or "")
        text = f"{arrow}{name}"
        if state.utility is not None:
            yield Line(level, f"{text} = {value_text(state.utility)}")
        elif name in drawn:
            yield Line(level, f"{text} (see above)", "", (("(see above)", "dim"),))
        else:
            drawn.add(name)
            end = "" if state.transitions else ", not explored further"
            yield Line(level, f"{text} {side}{end}".strip(), "", ((side, state.kind or ""),))
            stack.extend(
                (level + 1, below, target) for below, target in reversed(state.transitions)
            )


def format_sizes(sizes: Sizes) -> str:
    """Returns the sizes of a graph as sentences."""
    lines = [
        f"{sizes.states:,} states, {sizes.final_states:,} of them final",
        f"{sizes.transitions:,} transitions;"
        f" states that several of them lead to: {sizes.shared_states:,}",
    ]
    if sizes.tree_nodes is None:
        lines.append("a cycle: a search without a depth never ends")
    else:
        lines.append(
            f"a search that remembers no states visits {sizes.tree_nodes:,} nodes,"
            f" {sizes.tree_leaves:,} of them leaves"
        )
    return "\n".join(lines)


def format_states(graph: Graph, title: str = "", style: Style = PLAIN) -> str:
    """Returns the graph as text: its title, its drawing unless it is too large, its sizes."""
    parts = [style.paint("title", title)] if title else []
    if len(graph.states) <= MAX_LISTED_STATES:
        parts.append("\n".join(outline(graph_lines(graph), style)))
    parts.append(format_sizes(sizes_of(graph)))
    return "\n\n".join(parts) + "\n"
