"""Graphs of states as text: start: max(rock: r, paper: p)  r: min(-1, 0, 1)

A graph is a list of states, each a name, a colon and a node of a tree
(`engine.teach.states.tree_text`). Where a tree has a subtree, a graph may have the name of a state;
several transitions may lead to the same state. The first state is the start. The grammar adds to
that of trees:

graph   = (name ":" node)+
branch  = [name ":"] (node | name)

A move without a name has the name of the state that it leads to. A state that is written inside
another one has the name of its path, such as start.rock.
"""

from engine.teach.errors import TreeError
from engine.teach.states.graph import MAX_STATES, Graph, Vertex
from engine.teach.states.tree import (
    MAX_CHILDREN,
    MAX_LEVELS,
    MAX_TREE_TEXT,
    Node,
    is_name,
    value_of,
)
from engine.teach.states.tree_text import (
    CLOSING,
    KIND,
    NUMBER,
    Parser,
    format_node,
    plain_number,
)
from engine.teach.trace import Value


def is_graph_text(text: str) -> bool:
    """Returns whether a text begins as a graph does: with the name of a state and a colon."""
    return Parser(text[:4096]).peek(1) == ":"


def is_tree_text(text: str) -> bool:
    """Returns whether a text begins as a tree does: with the kind of the root, or as a list."""
    parser = Parser(text[:4096])
    return parser.is_list() or (bool(parser.kind()) and parser.peek(1) in (*CLOSING, "~"))


def parse_graph(text: str, title: str = "") -> Graph:
    """Parses a graph; raises TreeError with the line and column of an error."""
    if len(text) > MAX_TREE_TEXT:
        raise TreeError(f"a graph has at most {MAX_TREE_TEXT} characters")
    parser = _GraphParser(text)
    parser.parse()
    return Graph(parser.states, title[:80])


def format_graph(graph: Graph) -> str:
    """Returns the graph as text, one state a line, that `parse_graph` reads back."""
    return "".join(f"{name}: {_format_state(state)}\n" for name, state in graph.states.items())


class _GraphParser(Parser):
    """Parses the states, and checks that their names, transitions and utilities fit together."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.states: dict[str, Vertex] = {}
        #: The tokens at which the states are defined, and those that name the target of a move.
        self.definitions: dict[str, int] = {}
        self.references: list[tuple[str, int]] = []
        #: The number of utilities of a final state, once one is known.
        self.width = 0

    def parse(self) -> None:
        """Parses all states."""
        while self.peek() or not self.states:
            name, index = self.peek(), self.index
            if not _is_state_name(name):
                self.fail("the name of a state")
            self.index += 1
            self.take(":")
            self._state(name, index, 0)
        for name, index in self.references:
            if name not in self.states:
                self.fail_at(index, f"there is no state {name}")
        self._check_kinds()
        self._check_reachable()

    def _state(self, name: str, index: int, level: int) -> None:
        """Parses a state after its name, whose token has the given index."""
        if level > MAX_LEVELS:
            self.fail_at(self.index, f"a graph has at most {MAX_LEVELS} levels")
        if name in self.states:
            self.fail_at(index, f"the state {name} is defined twice")
        if len(self.states) >= MAX_STATES:
            self.fail_at(index, f"a graph has at most {MAX_STATES} states")
        self.definitions[name] = index
        self.states[name] = Vertex()  # keeps its place in the order of the text
        kind = self.kind()
        if not kind:
            self.states[name] = self._final_state()
            return
        self.index += 1
        estimate = self._checked_value() if self.take_if_next("~") else None
        pieces = self.pieces() if self.has_pieces() else None
        self.take("(")
        transitions: dict[str, str] = {}
        self._transition(name, transitions, level)
        while self.take_if_next(",") and self.peek() != ")":
            self._transition(name, transitions, level)
        self.take(")")
        self.states[name] = Vertex(kind, tuple(transitions.items()), None, estimate, pieces)

    def _final_state(self) -> Vertex:
        utility = None if self.peek() in ("~", "[") else self._checked_value()
        estimate = self._checked_value() if self.take_if_next("~") else None
        pieces = self.pieces() if self.peek() == "[" else None
        return Vertex(None, (), utility, estimate, pieces)

    def _transition(self, name: str, transitions: dict[str, str], level: int) -> None:
        """Parses a move and the state that it leads to."""
        index, move = self.index, ""
        if self.peek(1) == ":":
            move = self.peek()
            if not is_name(move):
                self.fail("a name of 1 to 24 characters")
            self.index += 2
        target = self.peek()
        is_reference = _is_state_name(target) and not self.kind()
        if is_reference:
            self.references.append((target, self.index))
            self.index += 1
            move = move or target
        else:
            move = move or str(len(transitions) + 1)
            target = f"{name}.{move}"
        if move in transitions:
            self.fail_at(index, f"{name} has two moves of the name {move}")
        if len(transitions) >= MAX_CHILDREN:
            self.fail_at(index, f"a state has at most {MAX_CHILDREN} moves")
        transitions[move] = target
        if not is_reference:
            self._state(target, self.index, level + 1)

    def _checked_value(self) -> Value:
        """Parses a utility or an estimate, which has as many numbers as all others."""
        index = self.index
        value = value_of(self.value())
        assert value is not None
        width = len(value) if isinstance(value, tuple) else 1
        if self.width not in (0, width):
            self.fail_at(index, f"this has {width} utilities, but those before have {self.width}")
        self.width = width
        return value

    def _check_kinds(self) -> None:
        """Fails at a state whose player has no utility of its own."""
        players = {f"p{number}" for number in range(1, self.width + 1)}
        allowed = {"max", "min", "mean"} if self.width < 2 else {*players, "mean"}
        for name, state in self.states.items():
            if state.kind is not None and state.kind not in allowed:
                self.fail_at(
                    self.definitions[name],
                    f"{state.kind} moves at {name}, but with {self.width or 1} utilities"
                    f" the kinds are {', '.join(sorted(allowed))}",
                )

    def _check_reachable(self) -> None:
        """Fails at a state that no path from the start leads to."""
        start = next(iter(self.states))
        known, stack = {start}, [start]
        while stack:
            for _, target in self.states[stack.pop()].transitions:
                if target not in known:
                    known.add(target)
                    stack.append(target)
        for name in self.states:
            if name not in known:
                self.fail_at(self.definitions[name], f"no path leads from {start} to {name}")


def _is_state_name(word: str) -> bool:
    """Whether a word names a state: not a number, and not who moves."""
    return is_name(word) and not KIND.fullmatch(word) and not NUMBER.fullmatch(plain_number(word))


def _format_state(state: Vertex) -> str:
    node = Node(None, (), "", state.utility, state.estimate, state.pieces)
    text = format_node(node)
    if state.kind is None:
        return text
    moves = ", ".join(
        target if move == target else f"{move}: {target}" for move, target in state.transitions
    )
    return f"{state.kind}{text}({moves})"
