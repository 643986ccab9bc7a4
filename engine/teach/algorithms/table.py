"""Minimax and alpha-beta with a transposition table: the form `table`.

A state that several paths lead to is searched once. A table entry holds the interval in which the
value of the state lies. With an alpha-beta window the entry answers a later visit if the interval
is one number or lies outside the window; otherwise the state is searched again.
"""

from dataclasses import dataclass, field

from engine.teach.algorithms.flat import combine, is_better, single_utility
from engine.teach.algorithms.study import INF, Study
from engine.teach.states.state import GameState, State
from engine.teach.trace import Number


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the table: the interval of a state's value, and the best line from the state."""

    low: float
    high: float
    line: tuple[int, ...]

    def answer(self, alpha: float, beta: float) -> Number | None:
        """Returns the value that suffices for a window; None if the interval is too wide for it."""
        if self.low == self.high or self.low >= beta:
            return self.low
        return self.high if self.high <= alpha else None


@dataclass(slots=True)
class Table:
    """The entries by state and depth."""

    entries: dict[object, Entry] = field(default_factory=dict)

    def probe(self, state: State, depth: float) -> Entry | None:
        """Returns the entry of a state, None if there is none."""
        return self.entries.get(_key(state, depth))

    def store(self, state: State, depth: float, entry: Entry) -> None:
        """Stores the entry of a state."""
        self.entries[_key(state, depth)] = entry


def _key(state: State, depth: float) -> object:
    """The key of an entry: the state, the depth, and the ply where utilities depend on it."""
    is_ply_scored = isinstance(state, GameState) and state.scale.by_distance
    return state.text(), depth, state.ply if is_ply_scored else 0


def minimax(study: Study, state: State, depth: float) -> Number:
    """Minimax: each state is searched once."""
    return search(study, state, depth, Table(), prunes=False)


def alphabeta(study: Study, state: State, depth: float) -> Number:
    """Alpha-beta: the table answers where its interval suffices for the window."""
    return search(study, state, depth, Table(), prunes=True)


def search(
    study: Study,
    state: State,
    depth: float,
    table: Table,
    prunes: bool,
    move: int | None = None,
    alpha: float = -INF,
    beta: float = INF,
) -> Number:
    """Returns the value of a state as `flat.alphabeta` does, from the table where possible."""
    visit = study.enter(state, move, state.kind, alpha, beta)
    if study.stops(state, depth):
        return visit.stop(single_utility(study.leaf_value(state)))
    known = table.probe(state, depth)
    if known is not None and (answer := known.answer(alpha, beta)) is not None:
        return visit.recall(answer, known.low, known.high, known.line)
    values: list[Number] = []
    moves = study.moves(state, depth)
    for count, move in enumerate(moves, 1):
        window = study.window_below(state.kind, alpha, beta)
        value = search(study, state.play(move), depth - 1, table, prunes, move, *window)
        visit.returned()
        if is_better(state.kind, value, values):
            visit.prefer()
        values.append(value)
        if prunes and state.kind == "max":
            alpha = max(alpha, value)
        elif prunes and state.kind == "min":
            beta = min(beta, value)
        visit.narrow(alpha, beta)
        if alpha >= beta and state.kind != "mean":
            visit.cut(moves[count:], depth)
            break
    value = combine(state.kind, values)
    low, high = (visit.low, visit.high) if prunes else (value, value)
    table.store(state, depth, Entry(low, high, visit.line))
    return visit.leave(value)
