"""What the value at the root means: 1, 0 or -1."""

from collections.abc import Mapping
from functools import cache

from engine.rules.registry import load_game
from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import AtPosition, Lesson, Run
from engine.teach.states.state import GameState, Scale

WON = AtPosition("tic-tac-toe", "XX.OO....")
DRAWN = AtPosition("tic-tac-toe", "X...O....")
LOST = AtPosition("tic-tac-toe", "O.OX..X..")
PLAN = Plan("alphabeta", evaluator="zero")
#: Finished games: X has three in a row, and the scholar's mate.
ENDS = {
    "ttt": ("tic-tac-toe", "XOO.X...X"),
    "mate": ("chess", "r1bqkb1r/pppp1Qpp/2n2n2/4p3/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq - 0 4"),
}


@cache
def final_utilities() -> Mapping[str, object]:
    """Returns the utilities of the finished games for either side."""
    return {
        f"{name}_{seat}": GameState(load_game(game).position(text), seat, Scale()).utility()
        for name, (game, text) in ENDS.items()
        for seat in (0, 1)
    }


LESSON = Lesson(
    title="What 1, 0 and -1 mean",
    page="""The end of a game has a utility for each player. With XOO/.X./..X on the board
X has won: U(X) = {ttt_0}, U(O) = {ttt_1}. After the scholar's mate U(White) = {mate_0} and
U(Black) = {mate_1}. A search that goes to the end carries such a number up to the root,
where it is a promise to the side to move: 1, a win is guaranteed, whatever the opponent
does; 0, no win, but a draw is sure; -1, lost against perfect play.""",
    look_for=(
        "In the first search {won.value}: X plays {won.plays} and has three in a row. In the "
        "second {drawn.value}: nobody can force more. In the third {lost.value}: every move "
        "loses, if O plays well.",
        "O may err, though: minimax assumes the best opponent. See the lesson average.",
        "A search that stops before the end gives an estimate: nothing is promised.",
    ),
    runs=(
        Run("XX./OO./... with X to move", WON, PLAN, "won", "none"),
        Run("X../.O./... with X to move", DRAWN, PLAN, "drawn", "none"),
        Run("O.O/X../X.. with X to move", LOST, PLAN, "lost", "none"),
    ),
    facts=final_utilities,
)
