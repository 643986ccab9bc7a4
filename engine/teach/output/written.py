"""The moves of a search as players of its game write them: Nf3 in place of the token g1f3.

A record has tokens, from which a search can be made again. To write a move takes the position
before it, and in chess about a third of the time of a node's search. So a stream writes the moves
when the search is over.
"""

from collections.abc import Iterator, Sequence

from msgspec import structs

from engine.teach.output.drawing import LISTED_MOVES, MAX_LISTED_MOVES
from engine.teach.states.state import GameState, State
from engine.teach.trace import Trace


class WrittenMoves:
    """Writes the moves of one search; `nodes` has the parent and the token of each row."""

    def __init__(self, root: GameState, nodes: Sequence[Sequence[object]]) -> None:
        self._nodes = nodes
        #: The states of the rows with moves, as far as they were needed.
        self._states = {0: root}

    def write(self, row: int, token: str) -> str:
        """Returns a move that is possible at the node of a row."""
        position = self._state(row).position
        return position.notation(position.parse_move(token))

    def write_line(self, line: Sequence[str]) -> tuple[str, ...]:
        """Returns a line of moves from the root."""
        position, moves = self._states[0].position, []
        for token in line:
            move = position.parse_move(token)
            moves.append(position.notation(move))
            position = position.play(move)
        return tuple(moves)

    def _state(self, row: int) -> GameState:
        """The state of a row: that of its parent after its move."""
        state = self._states.get(row)
        if state is None:
            parent, token, *_ = self._nodes[row]
            assert isinstance(parent, int)
            before = self._state(parent)
            state = self._states[row] = before.play(before.position.parse_move(str(token)))
        return state


def writer_of(root: State, nodes: Sequence[Sequence[object]]) -> WrittenMoves | None:
    """Returns what writes the moves of a search; None where the game writes its tokens."""
    if not isinstance(root, GameState) or root.position.game.rules.notation is None:
        return None
    return WrittenMoves(root, nodes)


def listed(parents: Sequence[int]) -> Iterator[int]:
    """Yields the indices of the skipped moves that a page names: of many only the first ones."""
    counts: dict[int, int] = {}
    for parent in parents:
        counts[parent] = counts.get(parent, 0) + 1
    seen: dict[int, int] = {}
    for index, parent in enumerate(parents):
        seen[parent] = number = seen.get(parent, 0) + 1
        if counts[parent] <= MAX_LISTED_MOVES or number <= LISTED_MOVES:
            yield index


def in_notation(trace: Trace, root: State) -> Trace:
    """Returns the trace of a search of a state for texts: with all moves as players write them."""
    nodes, skipped = trace.nodes, trace.skipped
    writer = writer_of(root, list(zip(nodes.parent, nodes.move, strict=True)))
    if writer is None:
        return trace
    moves = map(writer.write, nodes.parent[1:], nodes.move[1:])
    return structs.replace(
        trace,
        nodes=structs.replace(nodes, move=(nodes.move[0], *moves)),
        skipped=structs.replace(
            skipped, move=tuple(map(writer.write, skipped.parent, skipped.move))
        ),
        line=writer.write_line(trace.line),
    )
