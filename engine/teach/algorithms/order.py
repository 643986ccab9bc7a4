"""Move ordering, by name. It decides how much alpha-beta skips, but never changes the value.

game            the order of the rules
reversed        that order, reversed
best, worst     the best (worst) move first, by the value of a search that is one ply shallower
given:A,B       the named moves first, in this order, then the others in the order of the rules
"""

from collections.abc import Sequence

from engine.teach.algorithms import flat
from engine.teach.algorithms.study import Order, Study
from engine.teach.algorithms.table import Table, search
from engine.teach.errors import UnknownName
from engine.teach.states.state import State
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
        "best": best_first(),
        "worst": best_first(-1),
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


def best_first(sign: int = 1) -> Order:
    """Returns an order that sorts the moves from best to worst for the side to move.

    Equal moves keep their order, and chance nodes the order of the rules. The searches that find
    the order remember states. With the sign -1 the worst move comes first.
    """
    table = Table()

    def order(study: Study, state: State, moves: Sequence[int], depth: float) -> Sequence[int]:
        if state.kind == "mean" or len(moves) < 2:
            return moves
        values = {move: _preference(study, state, move, depth, table) for move in moves}
        return sorted(moves, key=lambda move: -sign * values[move])

    return order


def given(names: Sequence[str]) -> Order:
    """Returns an order that puts the named moves first."""
    places = {name: place for place, name in enumerate(names)}

    def order(study: Study, state: State, moves: Sequence[int], depth: float) -> Sequence[int]:
        return sorted(moves, key=lambda move: places.get(state.name(move), len(places)))

    return order


def _preference(study: Study, state: State, move: int, depth: float, table: Table) -> Number:
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
        value = search(shallow, after, plies, table, prunes=False) * flat.sign(state.kind)
    study.ordering += shallow.visited
    return value
