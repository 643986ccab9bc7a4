"""Move ordering, by name. It decides how much alpha-beta saves, but never the value.

game            the order of the rules
reversed        that order, reversed
best, worst     the best (worst) move first, by the value of a search that is one ply shallower
given:A,B       the named moves first, in this order, then the others in the order of the rules
"""

from collections.abc import Sequence

from engine.teach import flat
from engine.teach.errors import UnknownName
from engine.teach.state import State
from engine.teach.study import Order, Study
from engine.teach.trace import Number

#: The orders, as messages and the help list them.
ORDERS = ("game", "reversed", "best", "worst", "given:MOVE,MOVE")


def order_of(text: str) -> Order:
    """Returns the order with that name; raises UnknownName, which lists them."""
    name, _, names = text.partition(":")
    if given_names(text):
        return given(given_names(text))
    orders: dict[str, Order] = {
        "game": rules_order,
        "reversed": reversed_order,
        "best": best_first,
        "worst": worst_first,
    }
    if names or name not in orders:
        raise UnknownName(f"there is no order {text[:40]!r}; there are {', '.join(ORDERS)}")
    return orders[name]


def given_names(text: str) -> tuple[str, ...]:
    """Returns the moves that an order names."""
    name, _, names = text.partition(":")
    return tuple(part.strip() for part in names.split(",")) if name == "given" and names else ()


def rules_order(study: Study, state: State, moves: Sequence[int], depth: float) -> Sequence[int]:
    """Returns the moves in the order of the rules."""
    return moves


def reversed_order(study: Study, state: State, moves: Sequence[int], depth: float) -> Sequence[int]:
    """Returns the moves in the reversed order of the rules."""
    return moves[::-1]


def best_first(study: Study, state: State, moves: Sequence[int], depth: float) -> Sequence[int]:
    """Sorts the moves from best to worst for the side to move; equal ones keep their order.

    At a chance node the order of the rules stays.
    """
    if state.kind == "mean" or len(moves) < 2:
        return moves
    values = {move: _preference(study, state, move, depth) for move in moves}
    return sorted(moves, key=lambda move: -values[move])


def worst_first(study: Study, state: State, moves: Sequence[int], depth: float) -> Sequence[int]:
    """Sorts the moves from worst to best for the side to move; equal ones keep their order.

    At a chance node the order of the rules stays.
    """
    if state.kind == "mean" or len(moves) < 2:
        return moves
    values = {move: _preference(study, state, move, depth) for move in moves}
    return sorted(moves, key=lambda move: values[move])


def given(names: Sequence[str]) -> Order:
    """Returns an order that puts the named moves first."""
    places = {name: place for place, name in enumerate(names)}

    def order(study: Study, state: State, moves: Sequence[int], depth: float) -> Sequence[int]:
        return sorted(moves, key=lambda move: places.get(state.name(move), len(places)))

    return order


def _preference(study: Study, state: State, move: int, depth: float) -> Number:
    """The value of a move for the side to move, by a plain search one ply shallower."""
    nodes_before = study.visited + study.ordering
    shallow = Study(
        study.evaluate,
        rules_order,
        study.cut_off,
        max_nodes=study.max_nodes,
        nodes_before=nodes_before,
    )
    after = state.play(move)
    plies = max(depth - 2, 0)
    if state.players > 1:
        value = flat.maxn(shallow, after, plies)[flat.player(state.kind)]
    else:
        value = flat.minimax(shallow, after, plies) * flat.sign(state.kind)
    study.ordering += shallow.visited
    return value
