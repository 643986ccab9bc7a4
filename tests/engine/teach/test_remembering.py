"""A search asks the rules for the moves of a state once, and not at all where it only counts."""

from collections import Counter

from engine.game import Game, Position, State
from engine.rules.registry import load_game
from engine.teach.algorithms.explain import Plan, prepare
from engine.teach.states.state import GameState, Scale


class CountingGame(Game):
    """A game that counts the requests for the result and the moves of each state."""

    __slots__ = ("asked",)

    def __init__(self, game: Game) -> None:
        super().__init__(game.module, game.digest)
        self.asked: Counter[State] = Counter()

    def result_and_moves(self, state: State) -> tuple[int, list[int]]:
        """Returns the result and the moves."""
        self.asked[state] += 1
        return super().result_and_moves(state)


def root_of(game: Game) -> GameState:
    """Returns the state of a search from the start of a game."""
    start = game.start()
    return GameState.at_root(Position(game, start.options, start.state), Scale())


def test_a_search_asks_for_the_moves_of_each_state_once() -> None:
    """A state that several lines lead to is asked for once, by search and count together."""
    game = CountingGame(load_game("tic-tac-toe"))
    search = prepare(root_of(game), Plan("minimax", 4))
    search.run()
    size = search.size()
    assert size is not None
    assert size.nodes == 1 + 9 + 9 * 8 + 9 * 8 * 7 + 9 * 8 * 7 * 6
    assert set(game.asked.values()) == {1}


def test_counting_needs_no_moves_at_the_depth_limit() -> None:
    """The size of a tree of two plies needs the moves of the root and of its children only."""
    game = CountingGame(load_game("chess"))
    search = prepare(root_of(game), Plan("minimax", 2))
    size = search.size()
    assert size is not None
    assert (size.nodes, size.leaves) == (1 + 20 + 400, 400)
    assert len(game.asked) == 1 + 20
