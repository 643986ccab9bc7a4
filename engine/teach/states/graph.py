"""State machines as graphs of named states; several transitions may lead to one state.

A search without a table visits the tree of all paths. A search with a table searches each state
once.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf

from msgspec import Struct

from engine.teach.errors import TooLarge
from engine.teach.states.state import State, Status, status_of_utility
from engine.teach.states.tree import Sides
from engine.teach.trace import Value

#: Maximum number of states of a graph.
MAX_STATES = 20_000


class Vertex(Struct, frozen=True):
    """A state of a graph: who moves, its transitions as (move, target), and its utility if final.

    A state without a utility and without transitions was not explored further.
    """

    kind: str | None = None
    transitions: tuple[tuple[str, str], ...] = ()
    utility: Value | None = None
    estimate: Value | None = None
    pieces: Sides | None = None


class Graph(Struct, frozen=True):
    """The states by name; the first one is the start."""

    states: dict[str, Vertex]
    title: str = ""

    @property
    def start(self) -> str:
        """The name of the first state."""
        return next(iter(self.states))

    @property
    def players(self) -> int:
        """The number of utilities of a final state."""
        values = [
            value for vertex in self.states.values() for value in (vertex.utility, vertex.estimate)
        ]
        return max((len(value) for value in values if isinstance(value, tuple)), default=1)


@dataclass(frozen=True, slots=True)
class GraphState:
    """A state of a graph as the algorithms see it."""

    graph: Graph
    name_in_graph: str
    players: int
    ply: int = 0

    @classmethod
    def at_start(cls, graph: Graph) -> "GraphState":
        """Returns the first state of a graph."""
        return cls(graph, graph.start, graph.players)

    @property
    def vertex(self) -> Vertex:
        """The state in its graph."""
        return self.graph.states[self.name_in_graph]

    @property
    def kind(self) -> str:
        return self.vertex.kind or "leaf"

    def utility(self) -> Value | None:
        return self.vertex.utility

    def status(self) -> Status:
        return status_of_utility(self.utility())

    def score(self, status: Status) -> Value:
        utility = self.utility()
        assert utility is not None, "only a final state has a score"
        return utility

    def estimate(self) -> Value | None:
        return self.vertex.estimate

    def pieces(self) -> tuple[Mapping[str, int], Mapping[str, int]] | None:
        return self.vertex.pieces

    def piece_names(self) -> frozenset[str]:
        sides = [side for state in self.graph.states.values() for side in state.pieces or ()]
        return frozenset(name for side in sides for name in side)

    def moves(self) -> Sequence[int]:
        return range(len(self.vertex.transitions))

    def name(self, move: int) -> str:
        return self.vertex.transitions[move][0]

    def play(self, move: int) -> "GraphState":
        target = self.vertex.transitions[move][1]
        return GraphState(self.graph, target, self.players, self.ply + 1)

    def text(self) -> str:
        return self.name_in_graph

    def below(self, move: int, depth: float) -> int | None:
        return None


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of a graph, and of the tree of all its paths (None if there is a cycle)."""

    states: int
    final_states: int
    transitions: int
    shared_states: int
    tree_nodes: int | None
    tree_leaves: int | None


def sizes_of(graph: Graph) -> Sizes:
    """Returns the sizes of a graph and, if it has no cycle, of the tree of all its paths."""
    transitions = [target for vertex in graph.states.values() for _, target in vertex.transitions]
    in_degrees: dict[str, int] = {}
    for target in transitions:
        in_degrees[target] = in_degrees.get(target, 0) + 1
    tree = None if find_cycle(graph) else _tree_sizes(graph)
    return Sizes(
        states=len(graph.states),
        final_states=sum(vertex.utility is not None for vertex in graph.states.values()),
        transitions=len(transitions),
        shared_states=sum(count > 1 for count in in_degrees.values()),
        tree_nodes=tree[0] if tree else None,
        tree_leaves=tree[1] if tree else None,
    )


def _tree_sizes(graph: Graph) -> tuple[int, int]:
    """The nodes and leaves of the tree of all paths; each state's subtree is counted only once."""
    sizes: dict[str, tuple[int, int]] = {}
    for name in reversed(list(topological_order(graph))):
        below = [sizes[target] for _, target in graph.states[name].transitions]
        nodes, leaves = (sum(part) for part in zip(*below, strict=True)) if below else (0, 1)
        sizes[name] = 1 + nodes, leaves
    return sizes[graph.start]


def topological_order(graph: Graph) -> Iterator[str]:
    """Yields the names of the states of a graph without cycles, each before its successors."""
    in_degrees = dict.fromkeys(graph.states, 0)  # from states that are not yielded yet
    for vertex in graph.states.values():
        for _, target in vertex.transitions:
            in_degrees[target] += 1
    ready = [name for name, count in in_degrees.items() if not count]
    while ready:
        name = ready.pop()
        yield name
        for _, target in graph.states[name].transitions:
            in_degrees[target] -= 1
            if not in_degrees[target]:
                ready.append(target)


def shortest_distances(graph: Graph) -> dict[str, int]:
    """Returns the plies from the start to each state, nearest states first."""
    distances = {graph.start: 0}
    queue = deque([graph.start])
    while queue:
        name = queue.popleft()
        for _, target in graph.states[name].transitions:
            if target not in distances:
                distances[target] = distances[name] + 1
                queue.append(target)
    return distances


@lru_cache(maxsize=8)
def _cycle(transitions: tuple[tuple[str, tuple[str, ...]], ...]) -> tuple[str, ...]:
    targets = dict(transitions)
    done: set[str] = set()
    path: list[str] = []
    on_path: set[str] = set()
    stack: list[tuple[str, Iterator[str]]] = []

    def enter(name: str) -> None:
        path.append(name)
        on_path.add(name)
        stack.append((name, iter(targets[name])))

    for start in targets:
        if start not in done:
            enter(start)
        while stack:
            name, rest = stack[-1]
            target = next(rest, None)
            if target is None:
                stack.pop()
                path.pop()
                on_path.discard(name)
                done.add(name)
            elif target in on_path:
                return (*path[path.index(target) :], target)
            elif target not in done:
                enter(target)
    return ()


def find_cycle(graph: Graph) -> tuple[str, ...]:
    """Returns the names along a cycle, the first again at the end; empty if there is none."""
    return _cycle(
        tuple(
            (name, tuple(target for _, target in vertex.transitions))
            for name, vertex in graph.states.items()
        )
    )


def graph_of(root: State, depth: float = inf, limit: int = MAX_STATES) -> Graph:
    """Returns the graph of all states that are at most `depth` plies below `root`.

    Raises TooLarge if there are more than `limit` states.
    """
    states: dict[str, Vertex] = {}
    level, known = [root], {root.text()}
    while level:
        following: list[State] = []
        for state in level:
            is_explored = state.utility() is None and depth > 0
            moves = state.moves() if is_explored else ()
            transitions = []
            for move in moves:
                after = state.play(move)
                transitions.append((state.name(move), after.text()))
                if after.text() not in known:
                    known.add(after.text())
                    following.append(after)
            kind = state.kind if state.utility() is None else None
            states[state.text()] = Vertex(kind, tuple(transitions), state.utility())
            if len(known) > limit:
                raise TooLarge(f"there are more than {limit:,} states: reduce the depth")
        level, depth = following, depth - 1
    return Graph(states)
