"""Move order, by name: what alpha-beta saves depends on it, what minimax finds does not.

game            as the rules give the moves
reversed        the other way round
best, worst     by the value that a search one ply less deep gives them, for whoever chooses
given:A,B       those named first, in this order, then the others as the rules give them
"""

from collections.abc import Sequence

from engine.teach import flat
from engine.teach.errors import UnknownName
from engine.teach.state import State
from engine.teach.study import Order, Study
from engine.teach.trace import Number

ORDERS = ("game", "reversed", "best", "worst", "given:MOVE,MOVE")


def order_of(text: str) -> Order:
    """The order of that name; UnknownName lists them."""
    name, _, names = text.partition(":")
    if given_names(text):
        return given(given_names(text))
    plain: dict[str, Order] = {
        "game": as_given,
        "reversed": backwards,
        "best": best_first,
        "worst": worst_first,
    }
    if names or name not in plain:
        raise UnknownName(f"there is no order {text[:40]!r}; there are {', '.join(ORDERS)}")
    return plain[name]


def given_names(text: str) -> tuple[str, ...]:
    """The moves that an order names."""
    name, _, names = text.partition(":")
    return tuple(part.strip() for part in names.split(",")) if name == "given" and names else ()


def as_given(study: Study, state: State, moves: Sequence[int], depth: float) -> Sequence[int]:
    """The rules' own order."""
    return moves


def backwards(study: Study, state: State, moves: Sequence[int], depth: float) -> Sequence[int]:
    return moves[::-1]


def best_first(study: Study, state: State, moves: Sequence[int], depth: float) -> Sequence[int]:
    """The moves that look best for whoever chooses come first; equal ones stay as they are."""
    if state.kind == "mean" or len(moves) < 2:
        return moves
    values = {move: _preference(study, state, move, depth) for move in moves}
    return sorted(moves, key=lambda move: -values[move])


def worst_first(study: Study, state: State, moves: Sequence[int], depth: float) -> Sequence[int]:
    if state.kind == "mean" or len(moves) < 2:
        return moves
    values = {move: _preference(study, state, move, depth) for move in moves}
    return sorted(moves, key=lambda move: values[move])


def given(names: Sequence[str]) -> Order:
    """The named moves first."""
    places = {name: place for place, name in enumerate(names)}

    def order(study: Study, state: State, moves: Sequence[int], depth: float) -> Sequence[int]:
        return sorted(moves, key=lambda move: places.get(state.name(move), len(places)))

    return order


def _preference(study: Study, state: State, move: int, depth: float) -> Number:
    """How much whoever chooses likes a move, by a plain search that looks one ply less deep."""
    spent = study.visited + study.ordering
    shallow = Study(study.evaluate, as_given, study.cut_off, max_nodes=study.max_nodes, spent=spent)
    after = state.play(move)
    plies = max(depth - 2, 0)
    if state.players > 1:
        value = flat.maxn(shallow, after, plies)[flat.player(state.kind)]
    else:
        value = flat.minimax(shallow, after, plies) * flat.sign(state.kind)
    study.ordering += shallow.visited
    return value
