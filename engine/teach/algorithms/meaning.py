"""What the value at the root means, in words."""

from engine.teach.algorithms.study import Study
from engine.teach.states.state import GameState, State, Status
from engine.teach.trace import Value

#: The meaning of a value that is a win.
GUARANTEED_WIN = "a win is guaranteed, whatever the opponent plays"
#: The meaning of an exact value other than a win, a draw or a loss.
EXACT = "MAX can force at least this value, and MIN can hold MAX to it"
#: The meaning of the values of algorithms without a perfect opponent.
OTHER_MEANINGS = {
    "average": "what to expect if the opponent plays every move equally often",
    "greedy": "the best evaluation one move ahead; the opponent's reply is not searched",
    "optimistic": "the best that can be reached if the opponent helps; against an opponent who"
    " does not, it promises nothing",
    "max-n": "what each player gets if every player wants the most for themselves",
}


def meaning_of(root: State, study: Study, algorithm: str, value: Value | None) -> str:
    """Returns what the value of a search means to the player whose value it is."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return OTHER_MEANINGS["max-n"] if algorithm != "average" else OTHER_MEANINGS["average"]
    if algorithm in OTHER_MEANINGS:
        return OTHER_MEANINGS[algorithm]
    if isinstance(root, GameState):
        return _of_game(root, study)
    if study.stopped:
        return "an estimate: the search stopped before the end, so neither side is sure of it"
    return EXACT


def _of_game(root: GameState, study: Study) -> str:
    """The meaning of a game's value for MAX, by the end of the best line."""
    end: State = root
    for move in study.line:
        end = end.play(move)
    if isinstance(end, GameState) and end.points() is not None and not study.stopped:
        return EXACT
    match end.status():
        case Status.WON:
            return GUARANTEED_WIN
        case Status.LOST:
            return "lost against perfect play"
        case Status.DRAWN if not study.stopped:
            return "no win, but a draw is guaranteed: neither side can force more"
        case _:
            return "an estimate: the search stopped before the end, and nothing is decided"
