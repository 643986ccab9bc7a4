"""Iterative deepening: each search is one ply deeper, and ordered by the result of the last one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from engine.teach.algorithms.explain import Plan, explain
from engine.teach.algorithms.study import Order, Study
from engine.teach.states.state import State
from engine.teach.trace import Trace


def deepen(root: State, plan: Plan, depth: int) -> tuple[Trace, ...]:
    """Returns the traces of the searches of 1 to `depth` plies.

    At a state that the previous search visited, the best move of that search comes first.
    """
    traces: list[Trace] = []
    best: Mapping[str, str] = {}
    for plies in range(1, depth + 1):
        traces.append(explain(root, replace(plan, depth=plies), order=best_moves_first(best)))
        best = best_moves(root, traces[-1])
    return tuple(traces)


def best_moves_first(best: Mapping[str, str]) -> Order:
    """Returns an order that puts first the move that `best` has for the text of a state."""

    def order(study: Study, state: State, moves: Sequence[int], depth: float) -> Sequence[int]:
        first = best.get(state.text())
        return sorted(moves, key=lambda move: state.name(move) != first) if first else moves

    return order


def best_moves(root: State, trace: Trace) -> dict[str, str]:
    """Returns the best move, or the move that cut off, of each state in a trace."""
    nodes = trace.nodes
    states = [root]
    best: dict[str, str] = {}
    for row, parent in enumerate(nodes.parent[1:], 1):
        state = states[parent]
        moves = {state.name(move): move for move in state.moves()}
        states.append(state.play(moves[nodes.move[row]]))
        if trace.value_for_parent(row) == nodes.value[parent]:
            best.setdefault(state.text(), nodes.move[row])
    return best
