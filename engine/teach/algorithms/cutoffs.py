"""Cut-off rules, by name: where a search stops before the game ends.

depth       when no plies are left
quiet       the same, but not before a capture; at most four plies further
never       only at the end of the game
"""

from engine.teach.algorithms.study import CutOff, at_depth
from engine.teach.errors import UnknownName
from engine.teach.states.state import State

#: The cut-off rules, as messages and the help list them.
CUT_OFFS = ("depth", "quiet", "never")
#: How many plies beyond its depth a search with the rule `quiet` may go.
EXTRA_PLIES = 4


def cut_off_of(name: str) -> CutOff:
    """Returns the cut-off rule with that name; raises UnknownName, which lists them."""
    rules: dict[str, CutOff] = {"depth": at_depth, "quiet": when_quiet, "never": never}
    if name not in rules:
        raise UnknownName(f"there is no cut-off {name[:40]!r}; there are {', '.join(CUT_OFFS)}")
    return rules[name]


def never(state: State, depth: float) -> bool:
    """Never stops the search before the end of the game."""
    return False


def when_quiet(state: State, depth: float) -> bool:
    """Stops the search when no plies are left and no move captures a piece."""
    return depth <= -EXTRA_PLIES or (depth <= 0 and not has_capture(state))


def has_capture(state: State) -> bool:
    """Returns whether a move takes a piece from the side that is not to move."""
    before = _opponents_pieces(state, state.kind)
    return before > 0 and any(
        _opponents_pieces(state.play(move), state.kind) < before for move in state.moves()
    )


def _opponents_pieces(state: State, kind: str) -> int:
    """The number of pieces of the opponent of MAX or of MIN."""
    pieces = state.pieces()
    return 0 if pieces is None else sum(pieces[kind == "max"].values())
