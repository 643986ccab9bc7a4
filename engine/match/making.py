"""Makes players from descriptions."""

from functools import cache

from engine.game import Game
from engine.match.checkout_player import CheckoutPlayer
from engine.match.description import EXTERNAL, Description, DescriptionError, ponders
from engine.match.gtp import GtpPlayer
from engine.match.play import Player
from engine.match.players import (
    REPEATABLE,
    FixedDepthPlayer,
    LevelPlayer,
    PersonaPlayer,
    SearchPlayer,
    StrategyPlayer,
    evaluator_name,
)
from engine.match.uci import UciPlayer
from engine.match.xboard import XboardPlayer
from engine.search.driver import Searcher
from engine.search.levels import level_of
from engine.view import Grid


@cache
def searcher_for(game: Game) -> Searcher:
    """The searcher of a game in this process; players share it because they take turns."""
    return Searcher(game)


def is_deterministic(description: Description, game: Game) -> bool:
    """Whether the player's moves depend on neither time nor seed."""
    if description.kind == "level":
        level = level_of(game, int(description.value))
        return level.repeatable and not level.margin and not level.slip
    if description.kind == "strategy":
        evaluator = evaluator_name(description, game)
        return description.value in REPEATABLE and evaluator.partition(":")[0] != "random"
    if (
        description.kind != "search"
        or description.clock is not None
        or description.limit.time_ms is not None
    ):
        return False
    return description.number("threads", 1) == 1 and not description.number(
        "margin", 0
    ) + description.number("slip", 0)


def make_player(description: Description, game: Game, options: dict[str, str]) -> Player:
    """A player of a game; DescriptionError if the game has no such player.

    An external program starts with its first game.
    """
    kind = description.kind
    if kind in EXTERNAL and kind != "gtp" and game.id != "chess":
        raise DescriptionError(f"{kind} programs play chess, not {game.id}")
    match kind:
        case "uci":
            return UciPlayer(description)
        case "xboard":
            return XboardPlayer(description)
        case "gtp":
            board = game.board(options).board
            if not isinstance(board, Grid):
                raise DescriptionError(f"gtp programs play on square boards, not {game.id}")
            return GtpPlayer(description, board.cols)
        case "checkout":
            return CheckoutPlayer(description, game, options)
        case "persona":
            return PersonaPlayer(description, searcher_for(game))
        case "strategy":
            return StrategyPlayer(description, game, options)
        case "level":
            return LevelPlayer(description, searcher_for(game))
        case "greedy":
            return FixedDepthPlayer(searcher_for(game), 1)
        case "two-ply":
            return FixedDepthPlayer(searcher_for(game), 2)
        case _:
            return SearchPlayer(
                description, Searcher(game) if ponders(description) else searcher_for(game)
            )
